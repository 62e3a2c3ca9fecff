"""Why a PyTorch program takes as long as it does, and how much a compiler could save.

`counting` counts what a call asks for, `ceilings` measures what the machine can do, and `limits`
puts the two together: a roofline model, plus the overhead that the roofline leaves out.
"""
