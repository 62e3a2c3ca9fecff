"""Python processes that this package starts: they answer requests until they are ended.

parent   a `Child`: start it, ask it, say how it ended, end it
inside   the other side: a `Responder`, which has a method for each request
values   what the two say to each other: plain values as bytes, and never code
arrays   arrays of any framework as bytes, in NumPy's format
"""
