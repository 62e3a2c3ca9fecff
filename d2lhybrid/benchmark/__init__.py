"""Is it faster, and how sure is that? Notebook 06 builds a small version of this.

From times to a verdict, in this order; `comparison` gives the reasons for the design:

comparison    `compare`: processes of all candidates, and what is checked first
timing        taking times: of building, of the first calls, of blocks, round by round
statistics    log speed-ups, and the confidence interval of their median
verdict       the four verdicts, and the rule that chooses one
results       a `Result` for each candidate, together a `Comparison`, and its tables

The rest:

candidates    what is compared: a function, one to build, many calls in one, a program
processes     programs in processes of their own: the proxy here, and what runs there
agreement     do two candidates compute the same?
sweeps        `sweep`: the same for several sizes, and where the faster one changes
metadata      where it was measured
"""
