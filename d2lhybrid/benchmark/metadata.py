"""What the reader of a measurement must know about where it was made. See notebook 06."""

import gc
import os
import platform
import re
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .. import __version__, frameworks
from ..frameworks import WAITING

# The most seconds that any comparison measures. A check of notebooks sets it: nobody looks at the
# figures that it measures.
TIME_LIMIT = "D2LHYBRID_TIME_LIMIT"


def describe_machine(*args: Any) -> dict[str, Any]:
    """A dict for JSON: date, system, processor, cores, threads, device, gradients, versions.

    `args` are the arguments of the call that is measured; those with a `.device` are listed.
    Frameworks are mentioned if they are loaded; this function loads none. `compare` adds
    `gradients_needed`: whether a result needs them, or None if that is not known; and
    `by_processor`: whether times are the processor's, see comparison.py.
    """
    state = frameworks.state()
    devices = sorted({str(arg.device) for arg in args if hasattr(arg, "device")})
    versions = {"Python": platform.python_version(), "d2lhybrid": __version__}
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": available_cores(),
        "threads": state.get("threads"),
        "waiting": " ".join(f"{k}={os.environ[k]}" for k in WAITING if k in os.environ) or None,
        "time_limit": os.environ.get(TIME_LIMIT),
        "device": ", ".join(map(frameworks.name_of, devices)) or "cpu",
        "gradients": state.get("gradients"),
        "versions": versions | frameworks.versions(),
    }


def merge_metadata(descriptions: list[dict[str, Any]]) -> dict[str, Any]:
    """Merge what `describe_machine` returned in several processes of one machine into one dict.

    Values that differ are joined, `2.13.0 and 2.11.0`; of the dates the first counts. None is for
    what no process knows.
    """
    found = {}
    for name in dict.fromkeys(name for each in descriptions for name in each):
        values = [each[name] for each in descriptions if each.get(name) is not None]
        if name == "versions":
            found[name] = merge_metadata(values)
        else:
            values = list(dict.fromkeys(values))
            is_one = len(values) == 1 or name == "date"
            found[name] = values[0] if is_one else " and ".join(map(str, values)) or None
    return found


def load_average() -> float | None:
    """Return the load average of the last minute: how many threads ran or waited for a core.

    None on Windows.
    """
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def peak_memory() -> int | None:
    """Return the most memory that this process has had so far, in bytes; None if nobody says it."""
    if peak := bytes_in("/proc/self/status", "VmHWM"):  # Linux's getrusage has the parent's peak
        return peak
    with suppress(ImportError):  # as on Windows
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS
    return None


def page_faults() -> int:
    """Return how many pages of memory this process was handed so far; 0 where nobody says it."""
    with suppress(ImportError):  # as on Windows
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    return 0


def bytes_in(file: str, name: str) -> int:
    """Return what one of Linux's files says in a line such as "VmHWM:  5 kB"; 0 if it does not."""
    with suppress(OSError, TypeError):
        text = Path(file).read_text(encoding="ascii", errors="replace")
        return 1024 * int(re.search(rf"(?m)^{name}:\s*(\d+) kB", text)[1])
    return 0


def format_metadata(machine: dict[str, Any]) -> list[str]:
    """Two lines for a reader: the machine and the date; the state and the versions."""
    here = [machine["processor"]]
    for thing in ("core", "thread"):
        if (count := machine[f"{thing}s"]) is not None:
            here += [f"{count} {thing}" + "s" * (count != 1)]
    here += [machine["device"], machine["date"][:10]]
    here += ["in CPU time"] * machine.get("by_processor", False)
    used = [f"{name} {version}" for name, version in machine["versions"].items()]
    if machine["gradients"] is not None:
        unused = machine["gradients"] and machine.get("gradients_needed") is False
        mode = "on" if machine["gradients"] else "off"
        used.insert(0, f"gradients {mode}" + ", but no result needs them" * unused)
    return [f"measured on: {', '.join(here)}", f"with: {', '.join(used)}"]


def available_cores() -> int:
    """Return how many cores this process may use at the same time.

    On Linux, its affinity or a limit of its container can restrict it to some of them. What a
    virtual machine calls a core may be one of two hyper-threads that share a core.
    """
    affinity = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))  # Linux's
    cores = len(affinity(0))
    return max(1, min([cores, *map(int, _cgroup_cpu_quotas())]))


def available_memory(root: Path = Path("/")) -> float:
    """How many bytes of memory are left for this process and those that it starts; inf if unknown.

    On Linux its container may limit it. What files have in memory is given up when programs need
    it, so it is left, too.
    """
    left = [bytes_in(root / "proc/meminfo", "MemAvailable") or float("inf")]
    versions = {"": "max current stat", "memory": "limit_in_bytes usage_in_bytes stat"}
    for kind, names in versions.items():  # of cgroups: the second and the first
        for folder in _cgroups(root, kind):
            with suppress(OSError, ValueError):  # "max" is no limit
                most, used, stat = ((folder / f"memory.{n}").read_text() for n in names.split())
                files = re.findall(r"(?m)^(?:in)?active_file (\d+)", stat)
                left.append(int(most) - int(used) + sum(map(int, files)))
    return min(left)


def _cgroup_cpu_quotas(root=Path("/")):
    """Yield each CPU quota of this process's cgroups (v2), in cores: 1.5 is 150 ms in each 100 ms.

    Python's `os.cpu_count` doesn't ask, see github.com/python/cpython/issues/80235.
    """
    for folder in _cgroups(root):
        with suppress(OSError, ValueError):  # "max" is no limit
            quota, period = (folder / "cpu.max").read_text(encoding="ascii").split()
            yield int(quota) / int(period)


def _cgroups(root, kind=""):
    """Yield the folders of this process's cgroups of a kind: its own and those around it."""
    top = root / "sys/fs/cgroup" / kind
    yield top  # in a container, its own group is usually mounted here
    with suppress(OSError, TypeError):
        text = (root / "proc/self/cgroup").read_text(encoding="ascii")
        group = re.search(rf"(?m)^\d+:{kind}:/(.*)", text)[1]
        yield from (up for up in (top / group / "_").parents if top in up.parents)


def _processor():
    """Return the name of the processor's model, or what `platform` knows of it."""
    try:
        with open("/proc/cpuinfo") as file:  # Linux, where `platform` does not know
            return next(line.split(":")[1].strip() for line in file if line[:10] == "model name")
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


# How cold a process is ----------------------------------------------------------------------

_built = set()  # the kinds of all that was built in this process


def kinds_so_far() -> tuple[set, tuple[int, int, int, int]]:
    """Return (kinds, compilations) for `build_state`, taken before building.

    `kinds` has the kinds that were built here, and the types of all objects that are alive: they
    tell what was compiled before `compare` came. In notebook 06 that is what makes the process
    warm. What a framework defines for itself and has not used yet tells nothing. `compilations` are
    the counts of `frameworks.compilations`.
    """
    things = gc.get_objects()
    kinds = {type(thing) for thing in things} - frameworks.unused_kinds(things)
    return _built | kinds, frameworks.compilations()


def build_state(built: Any, kinds: set, compilations: tuple[int, int, int, int]) -> str:
    """Return how cold the process and the cache were for `built`: 'cold process, warm cache'.

    The process was cold if this was the first build of its kind, which takes longest. Two things
    are of a kind if they have the same type; or, if they are functions, whose type says nothing,
    the same code; or if torch.compile had a hand in both. The cache is mentioned only if a compiler
    asked it. `kinds` and `compilations` are what `kinds_so_far` returned before the build.
    """
    counts = zip(frameworks.compilations(), compilations, strict=True)
    _, graphs, hits, misses = (now - then for now, then in counts)
    kind = "a compiled graph" if graphs else getattr(built, "__code__", type(built))
    _built.add(kind)
    process = "warm process" if kind in kinds else "cold process"
    return process + (", cold cache" if misses else ", warm cache" if hits else "")
