"""How cold a process was when something was built in it: the first of its kind takes longest."""

import gc
from typing import Any, NamedTuple

from ..frameworks import compilations


class Snapshot(NamedTuple):
    """What there was before something was built."""

    kinds: set  # the kinds of everything built so far, and the types of all living objects
    compilations: tuple[int, int, int]  # compiled, found in a compiler's cache, not found there


class Coldness:
    """Remembers what kinds of things were built.

        before = coldness.before()
        built = build()
        coldness.of(built, before)  # 'cold process, warm cache'

    Two things are of a kind if they have the same type; or, if they are functions, whose type
    says nothing, the same source; or if torch.compile had a hand in both.
    """

    def __init__(self):
        self._built = set()

    def before(self) -> Snapshot:
        """The state to pass to `of` after building."""
        return Snapshot(self._built | {type(thing) for thing in gc.get_objects()}, compilations())

    def of(self, built: Any, before: Snapshot) -> str:
        """Whether it was the first of its kind, and what a compiler's cache gave, in words."""
        counts = zip(compilations(), before.compilations, strict=True)
        graphs, hits, misses = (now - then for now, then in counts)
        kind = "a compiled graph" if graphs else getattr(built, "__code__", type(built))
        process = "warm process" if kind in before.kinds else "cold process"
        self._built.add(kind)
        return process + (", cold cache" if misses else ", warm cache" if hits else "")


THIS_PROCESS = Coldness()  # what was built in this process
