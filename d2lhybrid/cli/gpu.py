"""`python -m d2lhybrid bench --gpu`: what the notebooks ask of a GPU.

Planned for less than ten minutes, and not yet run on a GPU.

gpu_parts.py has what is measured, and cuda.py what only CUDA can do, with a stand-in on the CPU: so
all of it can be tried without a GPU. The file that is written says which of the two it was:

    {"format": 1, "kind": "gpu", "device": "cpu (dry run)", "machine": {...},
     "left_out": ["networks: CandidateError ...", ...],
     "parts": {"launches": {...}, "queue": {...}, "copies": {...}, "two_gpus": null, ...}}
"""

import json
import sys
from pathlib import Path
from time import perf_counter

from ..exercises import muted
from ..measure.agreement import allowed_for
from ..measure.measured_on import describe_machine, load_average
from ..measure.show import progress_line
from .cuda import DryRun, Gpu
from .gpu_parts import PARTS, Plan

FORMAT = 1  # of the file; a new number for what older readers cannot read
TINY = Plan(0.01, 7, 20, (1, 10), 16, 3, 16, (2**12,), (2,), (1, 4))  # of a dry run
NO_GPU = "This machine has no GPU that torch.cuda can use; --dry-run tries the program on the CPU."
DRY_RUN = "This is a dry run on the CPU: its figures say nothing about a GPU."


def run(options):
    """Measure, print, and write after each part. Exit status 2 where there is no GPU."""
    if options.frameworks or options.plot or options.launches or options.batch != [1]:
        options.error("with --gpu, only --json, --threads and --dry-run have a meaning")
    kind, plan = (DryRun, TINY) if options.dry_run else (Gpu, Plan())
    if not kind.count():
        print(NO_GPU, file=sys.stderr)
        raise SystemExit(2)
    one, show = kind(1), progress_line(None)
    data = start(one)
    print(DRY_RUN if options.dry_run else f"measured on: {one.name}", end="\n\n")
    for measure in PARTS:
        name = measure.__name__
        if name == "two_gpus" and kind.count() < 2:
            continue
        gpu = kind(2) if name == "two_gpus" else one
        show(name)
        try:
            with muted():
                found, lines = measure(gpu, plan, settings(gpu, plan, show, name, data["left_out"]))
            data["parts"][name] = found
        except Exception as error:  # the other parts may still run
            data["left_out"].append(about(name, error))
            lines = []
        show("")
        print(*lines, "", sep="\n")
        if options.json:
            Path(options.json).write_text(json.dumps(data, indent=1), encoding="utf-8")
    for line in data["left_out"]:
        print(f"left out: {line}")
    if not any(data["parts"].values()):
        raise SystemExit(1)


def start(one):
    """The file before anything is measured on one GPU."""
    here = describe_machine() | {"device": one.name, "load": load_average()} | one.describe()
    parts = {measure.__name__: None for measure in PARTS}
    head = {"format": FORMAT, "kind": "gpu", "device": one.name, "machine": here}
    return head | {"left_out": [], "parts": parts}


def settings(gpu, plan, show, name, left_out):
    """The options of `compare` for a part."""

    def clock():
        gpu.synchronize()
        return perf_counter()

    return {
        "time_limit": plan.time_limit,
        # PyTorch lets a GPU's convolutions round as coarsely as that (TF32)
        "tolerance": allowed_for("float16"),
        "clock": clock,
        "progress": show,
        "on_error": lambda error: left_out.append(about(name, error)),
    }


def about(name, error):
    """What failed in a part, in a line."""
    return f"{name}: {(str(error) or type(error).__name__).splitlines()[0]}"
