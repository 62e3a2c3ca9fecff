"""What the reader of a measurement must know about where it was made. See notebook 05."""

import os
import platform
from datetime import UTC, datetime
from typing import Any

from .. import __version__, frameworks


def describe_machine(*args: Any) -> dict[str, Any]:
    """A dict for JSON: date, system, processor, cores, threads, device, gradients, versions.

    `args` are the arguments of the call that is measured; those with a `.device` are listed.
    Frameworks are mentioned if they are loaded; this function loads none.
    """
    state = frameworks.state()
    devices = sorted({str(arg.device) for arg in args if hasattr(arg, "device")})
    versions = {"Python": platform.python_version(), "d2lhybrid": __version__}
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": state.get("threads"),
        "device": ", ".join(map(frameworks.name_of, devices)) or "cpu",
        "gradients": state.get("gradients"),
        "versions": versions | frameworks.versions(),
    }


def together(descriptions: list[dict[str, Any]]) -> dict[str, Any]:
    """What several processes on one machine say of it, as one dict: `2.13.0 and 2.11.0`."""

    def joined(values):
        different = list(dict.fromkeys(value for value in values if value is not None))
        return different[0] if len(different) == 1 else " and ".join(map(str, different)) or None

    def all_of(dicts):
        names = dict.fromkeys(name for each in dicts for name in each)
        return {name: joined([each.get(name) for each in dicts]) for name in names}

    versions = all_of([each["versions"] for each in descriptions])
    settings = [{k: v for k, v in each.items() if k != "versions"} for each in descriptions]
    return all_of(settings) | {"date": descriptions[0]["date"], "versions": versions}


def machine_line(machine: dict[str, Any]) -> str:
    """Of what `describe_machine` returns the machine and the date, in one line."""
    parts = [machine["processor"], f"{machine['cores']} cores"]
    if machine["threads"] is not None:
        parts += ["1 thread" if machine["threads"] == 1 else f"{machine['threads']} threads"]
    return ", ".join([*parts, machine["device"], machine["date"][:10]])


def software_line(machine: dict[str, Any]) -> str:
    """Of what `describe_machine` returns the state and the versions, in one line."""
    parts = [f"{name} {version}" for name, version in machine["versions"].items()]
    if machine["gradients"] is not None:
        parts.insert(0, "gradients " + ("on" if machine["gradients"] else "off"))
    return ", ".join(parts)


def _processor():
    try:
        with open("/proc/cpuinfo") as file:  # Linux, where `platform` does not know
            return next(line.split(":")[1].strip() for line in file if line[:10] == "model name")
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
