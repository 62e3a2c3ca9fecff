"""Programs that do several things at once, on several threads or in several processes.

Whatever waits for others gives up after some time and says what it has waited for. No thread is
left behind, except where work of yours never ends: a thread can't be stopped from outside. A
process can, and none is left.

Explained in notebooks 15 and 16:

    gate       holds an order back until it is opened, so that order is proved without a clock
    log        what threads did, in the order in which they did it, with the time
    scheduler  runs a graph on several threads, each node as soon as its inputs are there
    schedule   who would do what, and when, with pretended times and the order of a list
    link       a wire between two machines, pretended by a thread that sleeps

and in 18 and 19:

    world           processes that run functions of a notebook, as if each were a device
    comm            how a process speaks with the others: messages from rank to rank
    collectives     the sum over all ranks: a ring and its rivals
    sources         a function with all that it calls, so that it can travel
    rank            the other side: what runs in a process
    packing         values as bytes
    answers         what a process says to its world
    two_hosts       a program that torchrun starts, on one machine or on many
    emulated_hosts  two hosts and the link between them, on one machine
"""
