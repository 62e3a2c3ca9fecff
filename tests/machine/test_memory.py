"""A model of a cache, and a hop through memory."""

import pytest

from d2lhybrid import toolchain
from d2lhybrid.machine import memory
from d2lhybrid.machine.memory import in_c, misses, nanoseconds_a_hop


@pytest.fixture(params=["no compiler", "one that fails"])
def without_a_compiler(request, monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "CHASE", memory.CHASE + f"/* not compiled yet: {tmp_path} */\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CC", "")
    monkeypatch.setattr(toolchain, "find_spec", lambda name: None)  # nor one from pip
    if request.param == "one that fails":  # such as a clang that does not know an option
        (tmp_path / "cc").write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / "cc").chmod(0o755)


def test_without_a_compiler_that_works_there_is_no_function(without_a_compiler):
    assert in_c(memory.CHASE, "hop", 1, 2) is None


def test_without_a_compiler_that_works_a_hop_has_no_time(without_a_compiler):
    assert nanoseconds_a_hop(64 * 6) is None


def test_a_hop_takes_time():
    assert 0 < nanoseconds_a_hop(64 * 48, hops=1000) < 1e6


@pytest.mark.parametrize(
    ("places", "size", "expected"),
    [
        (range(32), {}, 2),  # 16 numbers to a line
        ([0, 16, 0, 16], {"sets": 1, "ways": 2}, 2),
        ([0, 16, 32, 0], {"sets": 1, "ways": 2}, 4),  # the one used longest ago goes
        ([0, 16, 0, 32, 0], {"sets": 1, "ways": 2}, 3),
        ([0, 16, 0], {"sets": 2, "ways": 1}, 2),
        ([0, 32, 0], {"sets": 2, "ways": 1}, 3),  # the same set
    ],
)
def test_misses_of_a_cache(places, size, expected):
    assert misses(places, **size) == expected
