"""Is it faster, and is that sure? Notebook 06 builds a small version of what is here.

From times to a verdict, in this order; `comparison` says what was decided, and why:

comparison    `compare`: processes of all candidates, and what is checked before
timing        taking times: of building, of the first calls, of blocks, round by round
statistics    log speed-ups, the interval of their median, the verdict
results       a `Result` for each candidate, together a `Comparison`, and its tables

The rest:

candidates    what is compared: a function, one to build, many calls in one, a program
processes     programs in processes of their own: the proxy here, and what runs there
agreement     do two candidates compute the same?
sweeps        `sweep`: the same for several sizes, and where the faster one changes
metadata      where it was measured
"""
