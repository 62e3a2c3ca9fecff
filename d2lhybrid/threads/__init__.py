"""Programs that do several things at once, on several threads. See notebooks 19 and 20.

events      a gate that proves an order without a clock, a log, an emulated link
scheduling  a graph run on several threads, and schedules with simulated times
"""
