"""One comparison for each of several sizes: from which size on is a candidate faster?"""

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import exp, log

from .comparison import compare, teller
from .tables import Shown, seconds
from .verdict import UNCLEAR, Comparison


@dataclass(frozen=True)
class Crossing:
    """Between two sizes a candidate becomes faster than the baseline, or slower."""

    label: str
    below: float  # the last size with the old verdict
    above: float  # the first size with the new one
    at: float  # about where: the speed-up is 1, on a straight line between them in logarithms
    verdict: str  # what it becomes: 'faster' or 'slower'

    @property
    def about(self):
        """Where, in three digits and without an exponent: '22.6' or '1960'."""
        return f"{float(f'{self.at:.3g}'):.15g}"


@dataclass(frozen=True, repr=False)
class Sweep(Shown):
    """The answer of `sweep`. `sweep[size]` is a `Comparison`.

    Shows itself as a `Comparison` does: printed, in a notebook, by `plot()`, `to_markdown()`;
    `to_dict()` holds all that was measured, ready for JSON.
    """

    comparisons: dict  # size -> Comparison, in the order of measuring
    complete: bool = True  # False where it was interrupted

    def __getitem__(self, size):
        return self.comparisons[size]

    def __iter__(self):
        return iter(self.comparisons.values())

    def __len__(self):
        return len(self.comparisons)

    @property
    def labels(self):
        """The candidates without the baseline."""
        first = next(iter(self))
        return [label for label in first.timings if label != first.baseline]

    def crossings(self):
        """Where verdicts change from faster to slower or back, candidate by candidate.

        Sizes without a clear difference may lie between: a crossing takes two clear verdicts.
        """
        found = []
        for label in self.labels:
            clear = [(n, self[n][label]) for n in sorted(self.comparisons)]
            clear = [(n, result) for n, result in clear if result.verdict != UNCLEAR]
            for (n, before), (m, after) in pairwise(clear):
                if before.verdict != after.verdict:
                    y, z = log(before.speedup), log(after.speedup)
                    at = exp(log(n) + (log(m) - log(n)) * y / (y - z))
                    found.append(Crossing(label, n, m, at, after.verdict))
        return found

    def _table(self):
        baseline = next(iter(self)).baseline
        header = ["size", baseline.rjust(9), *[label.rjust(8) for label in self.labels]]
        rows = []
        for size, comparison in self.comparisons.items():
            results = [comparison[label] for label in self.labels]
            marks = ["~" if result.verdict == UNCLEAR else " " for result in results]
            rows.append(
                [f"{size}", seconds(comparison[baseline].median)]
                + [f"{result.speedup:.3f}{mark}" for result, mark in zip(results, marks)]
            )
        return header, rows

    def _notes(self):
        crossings = [
            f"{c.label} {c.verdict} from about {c.about} (between {c.below} and {c.above})"
            for c in self.crossings()
        ]
        found = f"crossings: {'; '.join(crossings) or 'none'}"
        return [
            "first the baseline's time a call, then speed-ups; ~ no clear difference",
            found if self.complete else f"{found}; interrupted",
            next(iter(self)).measured_on(),
        ]

    def plot(self):
        """Draw speed-up over size, a line and a band for each; returns matplotlib Axes."""
        from .plot import plot_sweep

        return plot_sweep(self)

    def to_dict(self):
        """All that was measured, of the types that JSON knows."""
        pairs = [[size, comparison.to_dict()] for size, comparison in self.comparisons.items()]
        return {"comparisons": pairs, "complete": self.complete}

    @classmethod
    def from_dict(cls, data):
        """The sweep that `to_dict` wrote, perhaps through JSON."""
        pairs = data["comparisons"]
        comparisons = {size: Comparison.from_dict(comparison) for size, comparison in pairs}
        return cls(comparisons, data["complete"])


def sweep(candidates, make_args, sizes, progress=None, **options):
    """Compare at several sizes. Returns a `Sweep`.

        sweep({"eager": net, "TorchScript": scripted}, lambda n: torch.randn(n, 512), [1, 8, 64])

    `make_args(n)` returns the argument for size `n`, or a tuple of arguments; sizes are numbers
    above 0. `candidates` and `options` are those of `compare`; a recipe is built anew for each
    size. An interrupt ends the sweep, and what was measured is returned.
    """
    if not callable(make_args):
        raise TypeError(f"make_args must be a function from a size to arguments, not {make_args!r}")
    sizes = [n.item() if hasattr(n, "item") else n for n in sizes]  # JSON takes Python's alone
    sizes = list(dict.fromkeys(sizes))
    if not sizes or not all(isinstance(n, (int, float)) and n > 0 for n in sizes):
        raise ValueError(f"sizes must be numbers above 0, one at least, not {sizes!r}")
    tell = teller(progress)
    done = {}
    try:
        for i, n in enumerate(sizes):
            args = make_args(n)
            args = args if isinstance(args, tuple) else (args,)
            say = partial(_tell_for, tell, f"size {n}, {i + 1} of {len(sizes)}: ")
            done[n] = compare(candidates, *args, progress=say, **options)
            if not done[n].complete:
                break
    except KeyboardInterrupt:
        if not done:
            raise  # nothing to give
    finally:
        tell("")
    return Sweep(done, complete=len(done) == len(sizes) and done[n].complete)


def _tell_for(tell, prefix, text):
    tell(text and prefix + text)
