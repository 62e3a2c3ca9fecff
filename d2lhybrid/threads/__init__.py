"""Programs that do several things at once, on several threads. See notebooks 18 and 19.

gate       holds an order back until it is opened, so that order is proved without a clock
log        what threads did, in the order in which they did it, with the time
run_graph  runs a graph on several threads, each node as soon as its inputs are there
plan       who would do what, and when, with pretended times and the order of a list
link       a wire between two machines, pretended by a thread that sleeps
"""
