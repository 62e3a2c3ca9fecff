"""results/: what `bench --json` measured on some machines, each in a few kilobytes.

`python -m benchmarks.results FILE NAME` makes results/NAME.json of a file that
`python -m d2lhybrid bench --frameworks --processes 11 --json FILE`, or `--batch 1 64`, has written.
`gpu` writes its results itself.
"""

import json
import sys
from math import isfinite
from pathlib import Path

from d2lhybrid.benchmark.results import Comparison

RESULTS = Path(__file__).resolve().parents[1] / "results"
FIELDS = ["speedup", "low", "high", "verdict", "median", "build_cost", "break_even"]


def summary(data):
    """Return the part of `data`, a dict that `bench --json` wrote, that is kept in results/.

    {"machine": {...}, "processes": 11, "sizes": {"1": {way: {"over": its baseline, "speedup": ...,
    "low": ..., "high": ..., "verdict": ..., "median": seconds, "build_cost": seconds, "break_even":
    calls}}}}. Each way is compared with the eager one of its framework, or with the baseline.
    """
    one_size = [(1, data["comparison"])] if "comparison" in data else []
    sizes = one_size or data["sweep"]["comparisons"]
    found = {str(size): ways(Comparison.from_dict(one)) for size, one in sizes}
    first = sizes[0][1]
    machine = {k: v for k, v in first["machine"].items() if k not in ("load", "notes")}
    return {"machine": machine, "processes": len(first["processes"]), "sizes": found}


def ways(comparison):
    """Return, for a Comparison, label -> the figures that `summary` shows for a way.

    Floats are rounded to five digits; what is unknown or infinite is None.
    """
    found = {}
    for label in comparison:
        own_eager = f"{label.partition(', ')[0]}, eager"
        has_own = own_eager in comparison and label != own_eager
        base = own_eager if has_own else comparison.baseline
        result = comparison[label] if label == base else comparison.select([base, label])[label]
        values = {name: getattr(result, name) for name in FIELDS}
        numbers = {k: v for k, v in values.items() if isinstance(v, float)}
        values |= {k: float(f"{v:.5g}") if isfinite(v) else None for k, v in numbers.items()}
        found[label] = {"over": base} | values
    return found


def store(file, name):
    """Make results/NAME.json of a file that `bench --json` has written."""
    data = json.loads(Path(file).read_text("utf-8"))
    text = json.dumps(summary(data), indent=1)
    (RESULTS / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    store(*sys.argv[1:])
