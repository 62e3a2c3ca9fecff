"""The teaching compiler. Data flows one way, a module for each arrow's end:

function -> Graph -> Graph -> source text -> callable
  recorder    passes    codegen      toolchain, compiler
"""
