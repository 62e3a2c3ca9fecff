"""Why a program of PyTorch takes as long as it does, and how much a compiler could save.

`counting` counts what a call asks for, `ceilings` measures what the machine can do, and `limits`
puts both together: a roofline model, with the overhead that the roofline leaves out.
"""
