"""Processes as devices: they run functions of a notebook, and share nothing. See 23 to 26.

world        starts the processes, asks them, ends them
comm         how a process speaks with the others: messages from rank to rank
collectives  the sum over all ranks: a ring and its rivals
sources      a function with all that it calls, so that it can travel
rank         the other side: what runs in a process
packing      tensors and other values as bytes
"""
