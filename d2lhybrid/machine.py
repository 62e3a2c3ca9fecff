"""What the reader of a measurement must know about where it was made."""

import os
import platform
import sys
from datetime import UTC, datetime

FRAMEWORKS = (
    "torch",
    "numpy",
    "mxnet",
    "tensorflow",
    "paddle",
    "jax",
    "onnxruntime",
)


def describe_machine(*args):
    """A dict, ready for JSON: date, processor, threads, device, gradients, versions.

    `args` are the arguments of the call that is measured: what has a device says which.
    Frameworks are mentioned when they are loaded; none is loaded for the purpose.
    """
    torch = sys.modules.get("torch")
    devices = {str(arg.device) for arg in args if hasattr(arg, "device")}
    versions = {"Python": platform.python_version()}
    for name in FRAMEWORKS:
        if hasattr(sys.modules.get(name), "__version__"):
            versions[name] = str(sys.modules[name].__version__)
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads() if torch else None,
        "device": ", ".join(_named(device, torch) for device in sorted(devices)) or "cpu",
        "gradients": torch.is_grad_enabled() if torch else None,
        "versions": versions,
    }


def machine_line(machine):
    """What `describe_machine` returns, in one line."""
    parts = [machine["processor"], f"{machine['cores']} cores"]
    if machine["threads"] is not None:
        parts += [f"{machine['threads']} threads"]
    parts += [machine["device"]]
    if machine["gradients"] is not None:
        parts += ["gradients " + ("on" if machine["gradients"] else "off")]
    versions = [f"{name} {version}" for name, version in machine["versions"].items()]
    return ", ".join(parts + versions + [machine["date"][:10]])


def _processor():
    try:
        with open("/proc/cpuinfo") as file:  # Linux, where `platform` does not know
            return next(line.split(":")[1].strip() for line in file if line[:10] == "model name")
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _named(device, torch):
    """`cuda:0` with the name of the GPU behind it."""
    if torch and torch.cuda.is_available() and device.startswith("cuda"):
        return f"{device} ({torch.cuda.get_device_name(device)})"
    return device
