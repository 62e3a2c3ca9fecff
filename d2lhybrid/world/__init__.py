"""Processes as devices: they run functions of a notebook, and share nothing. See 23 to 26.

world          starts the processes, asks them, ends them
rank           the other side: what runs in a process
comm           how a process speaks with the others: messages from rank to rank
collectives    the sum over all ranks: a ring and its rivals
serialization  values and functions as bytes
"""
