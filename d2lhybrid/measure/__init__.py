"""Is it faster, and is that sure? Notebook 05 builds a small version of what is here.

candidates    what is compared: a function, a recipe for one, many calls in one, a program
timing        taking times: of building, of the first calls, of blocks, round by round
processes     programs in processes of their own: starting, asking and ending them
worker        the other side: what runs in such a process
messages      values as JSON, for the way between the two
interval      the interval of a median ratio
verdict       faster, slower, as good as equal, or no clear difference
totals        what all calls together take
results       what follows from the times: a `Result` for each, together a `Comparison`
launch        all candidates started together
comparison    `compare`
sweeps        `sweep`: the same for several sizes, and where the faster one changes
agreement     do two programs compute the same?
coldness      what was compiled before in this process
machine       where it was measured
progress      the line that shows how far it is
selftest      questions with known answers, for `compare` itself
simulation    the statistics put to the test with a simulated clock, where the truth is known
"""
