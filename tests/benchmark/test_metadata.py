"""What a measurement says about where it was made."""

import json
import math
import os
from types import SimpleNamespace

import pytest
import torch

import d2lhybrid
from d2lhybrid import available_cores, compare
from d2lhybrid.benchmark import metadata as module
from d2lhybrid.benchmark.metadata import describe_machine, format_metadata, load_average


def test_machine_is_described():
    with torch.no_grad():
        machine = describe_machine(torch.zeros(1))
    assert machine["gradients"] is False
    assert describe_machine()["gradients"] is True
    assert machine["device"] == "cpu"
    assert machine["threads"] == torch.get_num_threads()
    assert machine["versions"]["torch"] == torch.__version__
    assert machine["versions"]["d2lhybrid"] == d2lhybrid.__version__
    assert json.loads(json.dumps(machine)) == machine
    here, used = format_metadata(machine)
    threads = "1 thread" if machine["threads"] == 1 else f"{machine['threads']} threads"
    for part in (machine["processor"], machine["date"][:10], threads):
        assert part in here
    for part in ("gradients off", f"torch {torch.__version__}"):
        assert part in used


def test_devices_of_the_arguments_are_listed():
    there = SimpleNamespace(device="mps:0")
    assert describe_machine(3, there, there)["device"] == "mps:0"
    assert describe_machine(3)["device"] == "cpu"


GROUPS = [
    # /proc/self/cgroup, the files below /sys/fs/cgroup, the limits that they set
    ("0::/\n", {}, []),
    ("0::/\n", {"cpu.max": "max 100000"}, []),
    ("0::/\n", {"cpu.max": "150000 100000"}, [1.5]),
    ("0::/a/b\n", {"a/b/cpu.max": "400000 100000", "a/cpu.max": "200000 100000"}, [2, 4]),
]


@pytest.fixture
def linux(tmp_path):
    """A function that writes a system's files: /proc/self/cgroup, and those of the cgroups."""

    def write(own, files, **others):
        files = {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
        for name, text in {**files, "proc/self/cgroup": own, **others}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        return tmp_path

    return write


@pytest.mark.parametrize(("own", "files", "limits"), GROUPS)
def test_cgroup_quotas(own, files, limits, linux):
    assert sorted(module._cgroup_cpu_quotas(linux(own, files))) == limits


@pytest.mark.parametrize(
    ("limits", "cores"), [([], 4), ([9.0], 4), ([3.9], 3), ([2.0, 1.5], 1), ([0.2], 1)]
)
def test_available_cores(limits, cores, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {1, 3, 5, 7}, raising=False)
    monkeypatch.setattr(module, "_cgroup_cpu_quotas", lambda: limits)
    assert available_cores() == cores == describe_machine()["cores"]


V1 = {"memory/a/memory.limit_in_bytes": "700", "memory/a/memory.usage_in_bytes": "500"}
V2 = {"memory.max": "max", "a/memory.max": "900", "a/memory.current": "400"}
FILES = "file 90\nactive_file 30\ninactive_file 20\n"
MEMORY = [
    # /proc/self/cgroup, the files below /sys/fs/cgroup, the bytes that are left of 2 KiB
    ("0::/\n", {}, 2048),
    ("0::/a\n", V2 | {"a/memory.stat": FILES}, 550),
    ("4:memory:/a\n0::/\n", V1 | {"memory/a/memory.stat": FILES}, 250),
]


@pytest.mark.parametrize(("own", "files", "left"), MEMORY)
def test_available_memory(own, files, left, linux):
    assert module.available_memory(linux(own, files)) == (left if files else math.inf)
    free = {"proc/meminfo": "MemTotal:  9 kB\nMemAvailable:     2 kB\n"}
    assert module.available_memory(linux(own, files, **free)) == left


def test_load_average_is_part_of_the_answer(monkeypatch, clock):
    comparison = compare({"a": clock.work(1e-3), "b": clock.work(1e-3)}, clock=clock)
    assert comparison.machine["load"] == [0.5, 0.5]
    monkeypatch.delattr(os, "getloadavg")
    assert load_average() is None  # as on Windows
