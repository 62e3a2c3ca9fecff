"""Programs that do several things at once, on several threads. See notebooks 18 and 19.

events      a gate that proves an order without a clock, a log of what happened, an emulated link
scheduling  a graph run on several threads, each node as soon as its inputs are there; and who
            would do what, and when, with pretended times and the order of a list
"""
