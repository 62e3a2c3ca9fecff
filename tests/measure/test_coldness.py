"""Whether process and caches were cold when something was built."""

import sys
from types import SimpleNamespace

from d2lhybrid import compare, recipe
from d2lhybrid.measure import timing
from d2lhybrid.measure.coldness import Coldness


def test_whether_the_process_was_cold(clock, monkeypatch):
    monkeypatch.setattr(timing, "THIS_PROCESS", Coldness())

    class Compiled:
        def __call__(self):
            clock.now += 1e-3

    candidates = {"a": clock.work(1e-3), "b": recipe(Compiled), "c": recipe(Compiled)}
    candidates["d"] = recipe(lambda: clock.work(1e-3))
    candidates["e"] = recipe(lambda: lambda: candidates["a"]())  # another function
    result = compare(candidates, clock=clock)
    said = [r.built_in for r in result.values()]
    assert said == ["", "cold process", "warm process", "cold process", "cold process"]
    assert compare(candidates, clock=clock)["d"].built_in == "warm process"


def test_whether_the_compilers_cache_was_cold(clock, monkeypatch):
    stats, inductor = {"unique_graphs": 2}, {"fxgraph_cache_hit": 3, "fxgraph_cache_miss": 5}
    dynamo = SimpleNamespace(counters={"stats": stats, "inductor": inductor})
    monkeypatch.setitem(sys.modules, "torch._dynamo.utils", dynamo)
    monkeypatch.setattr(timing, "THIS_PROCESS", Coldness())

    def compiling(counter):
        def build():
            stats["unique_graphs"] += 1
            inductor[counter] += 1
            return clock.work(1e-3)

        return recipe(build)

    candidates = {"a": clock.work(1e-3), "b": compiling("fxgraph_cache_miss")}
    candidates["c"] = compiling("fxgraph_cache_hit")
    said = [r.built_in for r in compare(candidates, clock=clock).values()]
    assert said == ["", "cold process, cold cache", "warm process, warm cache"]
