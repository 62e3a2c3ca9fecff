"""One comparison for each of several sizes: from which size on is a candidate faster?

Used in notebooks 11 and 13.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import exp, log
from typing import Any

from ..tables import Column, seconds
from .candidates import Build
from .comparison import compare, progress_line, show_after
from .processes import Program, ProgramRunner
from .results import Answers, Comparison, pictures, ratio
from .timing import InnerLoops
from .verdict import FASTER, SLOWER


@dataclass(frozen=True)
class Crossing:
    """Between two sizes a candidate becomes faster than the baseline, or slower."""

    label: str
    below: float  # the last size with the old verdict
    above: float  # the first size with the new one
    at: float  # about where the speed-up is 1, on straight lines in logarithms
    verdict: str  # what it becomes: 'faster' or 'slower'

    @property
    def about(self) -> str:
        """The size where the speed-up crosses 1, in three digits, no exponent: '22.6' or '1960'."""
        return f"{float(f'{self.at:.3g}'):.15g}"

    def __str__(self):
        between = f"(between {self.below} and {self.above})"
        return f"{self.label} {self.verdict} from about {self.about} {between}"


@dataclass(frozen=True, repr=False)
class Sweep(Answers):
    """The answer of `sweep`: a mapping from sizes to a `Comparison` each.

    Shows itself as a `Comparison` does: printed, in a notebook, by `plot()`, `to_markdown()`;
    `to_dict()` holds all that was measured, ready for JSON.
    """

    answers: dict[float, Comparison]  # by size, in the order of measuring
    complete: bool = True  # False where it was interrupted

    @property
    def baseline(self) -> str:
        """The label that the others are compared with."""
        return next(iter(self.values())).baseline

    @property
    def labels(self) -> list[str]:
        """The candidates without the baseline, and without those that failed at some size."""
        others = [label for label in next(iter(self.values())) if label != self.baseline]
        return [label for label in others if all(label in at_size for at_size in self.values())]

    def crossings(self) -> list[Crossing]:
        """Where verdicts change from faster to slower or back, candidate by candidate.

        Sizes with neither verdict may lie between: a crossing takes two clear verdicts, and is
        where the drawn line between them meets a speed-up of 1 for the last time.
        """
        found = []
        for label in self.labels:
            line = [(n, self[n][label]) for n in sorted(self.answers)]
            clear = [i for i, (_, r) in enumerate(line) if r.verdict in (FASTER, SLOWER)]
            for i, j in pairwise(clear):
                (below, before), (above, after) = line[i], line[j]
                if before.verdict != after.verdict:
                    points = [(log(n), log(result.speedup)) for n, result in line[i : j + 1]]
                    at = exp(_last_zero(points))
                    found.append(Crossing(label, below, above, at, after.verdict))
        return found

    def _columns(self):
        others = [Column(label, 8) for label in self.labels]
        return [Column("size"), Column(self.baseline, 9), *others]

    def _rows(self):
        for size, comparison in self.items():
            cells = [f"{size}", seconds(comparison[self.baseline].median)]
            for result in map(comparison.get, self.labels):
                mark = " " if result.verdict in (FASTER, SLOWER) else "~"
                cells.append(f"{ratio(result.speedup) if result.is_known else '?'}{mark}")
            yield cells

    def _notes(self):
        found = "; ".join(map(str, self.crossings())) or "none"
        return [
            "first the baseline's time per call, then speed-ups; ~ not clearly faster or slower",
            f"crossings: {found}" + "; interrupted" * (not self.complete),
            *self.measured_on().splitlines(),
        ]

    def measured_on(self) -> str:
        """Where, when and with what the first size was measured, in two lines."""
        return next(iter(self.values())).measured_on()

    def plot(self):
        """Draw speed-up over size, a line and a band for each; returns matplotlib Axes."""
        sizes = sorted(self)
        speedups = {label: [self[n][label].drawn for n in sizes] for label in self.labels}
        crossings = [(c.label, c.at, c.about) for c in self.crossings()]
        return pictures().plot_speedups_by_size(sizes, speedups, self.baseline, crossings)

    def to_dict(self) -> dict[str, Any]:
        """All that was measured, of types that JSON has."""
        pairs = [[size, comparison.to_dict()] for size, comparison in self.answers.items()]
        return {"comparisons": pairs, "complete": self.complete}


def sweep(
    candidates: dict[str, Callable | Build | InnerLoops | Program | ProgramRunner],
    make_args: Callable[[float], Any],
    sizes: Iterable[float],
    progress: Callable[[str], None] | None = None,
    **options: Any,
) -> Sweep:
    """Compare candidates at several sizes.

        sweep({"eager": net, "TorchScript": scripted}, lambda n: torch.randn(n, 512), [1, 8, 64])

    An interrupt ends the sweep, and what has been measured by then is returned.

    Args:
        candidates, progress, options: As for `compare`. A `build` is built again for each size,
            and a program is started again, unless `start_workers` has started it.
        make_args: Returns the argument for a size, or a tuple of arguments.
        sizes: Numbers above 0.

    Raises:
        TypeError, ValueError, CandidateError: as `compare`.
    """
    sizes = list(dict.fromkeys(sizes))
    if not sizes:
        raise ValueError("sweep needs at least one size")
    show = progress_line(progress)
    done = {}
    try:
        for i, n in enumerate(sizes):
            args = make_args(n)
            args = args if isinstance(args, tuple) else (args,)
            show_here = partial(show_after, show, f"size {n}, {i + 1} of {len(sizes)}: ")
            done[n] = compare(candidates, *args, progress=show_here, **options)
            if not done[n].complete:
                break
            candidates = {label: candidates[label] for label in done[n]}  # without what failed
    except KeyboardInterrupt:
        if not done:
            raise  # nothing was measured yet
    finally:
        show("")
    return Sweep(done, complete=len(done) == len(sizes) and done[n].complete)


def _last_zero(points):
    """Return the last x where the line through the points (x, y) crosses 0."""
    changes = [(p, q) for p, q in pairwise(points) if (p[1] < 0) != (q[1] < 0)]
    (x, y), (x_after, y_after) = changes[-1]
    return x + (x_after - x) * y / (y - y_after)
