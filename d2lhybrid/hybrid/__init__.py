"""The teaching compiler: function -> Graph -> Graph -> source text -> callable.

    module      what it does                                                       notebook
    operations  OPERATIONS: what each operation computes, in Python and in C       04, 12
    graph       Node, Graph: a program as a graph, and all facts about it          04
    names       names for generated text                                           12
    recorder    trace: function -> Graph                                           04
    layers      layers that are several operations, or have options
    witness     which modules a recording used, and where they keep their tensors  12
    passes      Graph -> Graph: fold, share, drop, fuse, plan memory               04
    codegen     Graph -> source text, in Python and in C                           04, 12, 21
    inputs      which inputs a compiled program can read                           12
    guard       questions before each call, asked by guard.c                       12
    compiler    hybridize: all of these together                                   12
    export      a compiled network as a folder of C                                08, 12
    backend     the compiler as a backend of torch.compile                         12
    torch_or_none  torch, or its stand-in where programs of numbers are all

A new operation is one entry in `operations.OPERATIONS`. If C has no function for it, write one in
codegen/prelude.c; if torch has other names for the operation, add them to `recorder.SYNONYMS`. A
graph keeps no options: an operation that has some, such as the `dim` of softmax, gets a function in
`layers`, and so does a layer that is made of several operations. A new pass is a
function in `passes`, and is called by `optimise`.
"""
