"""Programs that do several things at once: what happened when, on which lane, and in what order.

Explained in notebooks 15 and 16. Nothing here leaves a thread behind, and whatever waits gives up
after some seconds and says what it has waited for.

    gate       holds an order back until it is opened, so that order is proved without a clock
    log        what threads did, in the order in which they did it, with the time
    scheduler  runs a graph on several threads, each node as soon as its inputs are there
    schedule   the same with pretended times: who would do what, and when
    link       a wire between two machines, pretended by a thread that sleeps
"""
