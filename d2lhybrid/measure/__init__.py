"""Is it faster, and is that sure? Notebook 06 builds a small version of what is here.

Of the spine, in this order:

timing        taking times: of building, of the first calls, of blocks, round by round
statistics    the interval of a median ratio
comparison    `compare`

The rest:

launch        all candidates started together, and the line that shows how far it is
results       what follows from the times: a `Result` for each candidate, together a `Comparison`
show          a `Comparison` as tables, in text and in a notebook
sweeps        `sweep`: the same for several sizes, and where the faster one changes
candidates    what is compared: a function, a recipe for one, many calls in one, a program
agreement     do two candidates compute the same?
measured_on   where it was measured
processes     candidates in processes of their own: starts, asks and ends them through `children`
worker        the other side: what runs in such a process
"""
