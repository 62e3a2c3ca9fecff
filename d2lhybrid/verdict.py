"""What follows from paired times: a ratio, its interval, a verdict, a price.

Where two candidates are the same and the order within each round is random, either is the
faster one in half of the rounds, like a coin, however restless the machine. From that alone
follows the interval of the median ratio: by the order statistics of the paired ratios, without
a word about how times are distributed (the sign test; W. J. Conover, Practical Nonparametric
Statistics, chapter 3).

Who looks several times, and stops when the answer pleases, errs more often than once in twenty.
`compare` looks at four moments fixed beforehand. So each interval is made wide enough to err
once in eighty only; then all four together hold the truth 95 times in 100 (Bonferroni's
inequality), whenever it stops, and the interval that is shown is an honest 95 % interval, for
each candidate by itself.
"""

from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from math import ceil, exp, inf, log, log1p
from statistics import median

from .machine import machine_line
from .tables import Shown, seconds

LOOKS = (1 / 8, 1 / 4, 1 / 2, 1)  # when to look whether the answer is open: shares of the limit
ERROR = 0.05 / len(LOOKS)  # how often the interval of one look may miss the truth

FASTER, SLOWER, UNCLEAR = "faster", "slower", "no clear difference"


# What was measured --------------------------------------------------------------------------


@dataclass(frozen=True)
class Timing:
    """What was measured of one candidate; all times in seconds."""

    first: tuple  # one call's time, for each round
    second: tuple  # the same once more: two blocks in every round
    calls: int  # so many calls made a block
    warmup: tuple  # the times of the calls before the first round
    build: float | None = None  # what a recipe took to build
    built_in: str = ""  # whether process and caches were cold then


@dataclass(frozen=True)
class Result:
    """What follows for one candidate; times in seconds."""

    label: str
    median: float  # one call
    speedup: float  # the baseline's time divided by this one's: above 1 is faster
    low: float  # the speed-up's 95 % interval
    high: float
    verdict: str  # 'faster', 'slower' or 'no clear difference'
    open: bool  # True where more rounds might change 'no clear difference'
    price: float | None  # building, and what the first calls cost more than a later one
    break_even: int | None  # after so many calls the price is paid; None for never
    built_in: str


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """The answer of `compare`. `comparison[label]` is a `Result`; iterating gives them all.

    `print` shows a table, a notebook an HTML table, `plot()` a picture, `to_markdown()` a table
    for a page; `to_dict()` returns all that was measured, ready for JSON.
    """

    baseline: str
    timings: dict  # label -> Timing
    min_effect: float
    took: float  # seconds of measuring
    complete: bool  # False where it was interrupted
    machine: dict  # as `describe_machine` returns it

    @property
    def rounds(self):
        """How many rounds were measured."""
        return len(self.timings[self.baseline].first)

    @cached_property
    def noise_floor(self):
        """How far the baseline may seem to differ from itself: 0.01 for one per cent."""
        base = self.timings[self.baseline]
        low, _, high = interval(log(a / b) for a, b in zip(base.first, base.second))
        return exp(max(-low, high)) - 1

    @property
    def grey_zone(self):
        """The ratio that a verdict must exceed: the smallest effect, on top of the noise floor."""
        return (1 + self.min_effect) * (1 + self.noise_floor)

    @property
    def open(self):
        """Whether more rounds might change a verdict."""
        return any(result.open for result in self)

    @cached_property
    def results(self):
        """All results, in the order of the candidates: label -> Result."""
        return {label: self._judge(label) for label in self.timings}

    def _judge(self, label):
        own, base = self.timings[label], self.timings[self.baseline]
        steady = median(own.first + own.second)
        low, middle, high = interval(log_speedups(own, base))
        verdict, is_open = judge(low, high, self.min_effect, self.noise_floor)
        price = break_even = None
        if own.build is not None:
            price = max(0.0, own.build + sum(time - steady for time in own.warmup))
            if verdict == FASTER:
                saved_a_call = steady * (exp(middle) - 1)
                break_even = ceil(price / saved_a_call)
        return Result(
            label=label,
            median=steady,
            speedup=exp(middle),
            low=exp(low),
            high=exp(high),
            verdict=verdict,
            open=is_open,
            price=price,
            break_even=break_even,
            built_in=own.built_in,
        )

    def __getitem__(self, label):
        try:
            return self.results[label]
        except KeyError:
            raise KeyError(f"{label!r} is none of {quoted(self.results)}") from None

    def __iter__(self):
        return iter(self.results.values())

    def __len__(self):
        return len(self.results)

    # How it is shown

    def _table(self):
        header = [
            "",
            "time a call",
            "speed-up",
            "   95 % interval",
            "            verdict",
        ]
        rows = []
        priced = any(timing.build is not None for timing in self.timings.values())
        for r in self:
            row = [r.label, seconds(r.median)]
            if r.label == self.baseline:
                row += ["", "", "baseline"]
            else:
                row += [f"{r.speedup:.3f}", f"{r.low:.3f} to {r.high:.3f}", r.verdict]
            if priced:
                pays = "" if r.price is None else "never"
                row += [
                    seconds(r.price),
                    pays if r.break_even is None else f"{r.break_even} calls",
                ]
            rows.append(row)
        return header + ["    price", "   pays after"] * priced, rows

    def _notes(self):
        # One line for each, whatever was measured: a reader's output has as many lines as ours.
        rounds = f"{self.rounds} rounds in {self.took:.2f} s"
        spread = f"noise floor {self.noise_floor:.1%}, {rounds}"
        if not self.complete:
            spread += ", interrupted"
        elif unsure := [r.label for r in self if r.open]:
            spread += f"; still open, a longer time_limit may tell: {', '.join(unsure)}"
        built = [f"{r.label} in a {r.built_in}" for r in self if r.built_in]
        prices = [f"built: {'; '.join(built)}"] if built else []
        return [spread, *prices, self.measured_on()]

    def measured_on(self):
        """The machine, the number of threads, the versions and the date, in one line."""
        return f"measured on: {machine_line(self.machine)}"

    def plot(self):
        """Draw speed-ups with their intervals; returns matplotlib Axes."""
        from .plot import plot_comparison

        return plot_comparison(self)

    def to_dict(self):
        """All that was measured, of the types that JSON knows."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data):
        """The comparison that `to_dict` wrote, perhaps through JSON."""
        timings = {}
        for label, timing in data["timings"].items():
            sequences = {name: tuple(timing[name]) for name in ("first", "second", "warmup")}
            timings[label] = Timing(**(timing | sequences))
        return cls(**(data | {"timings": timings}))


# What follows from it -----------------------------------------------------------------------


def log_speedups(own, base):
    """The logarithm of the baseline's time divided by the candidate's, for each round.

    Of each the geometric mean of its two times, so that twice as fast and twice as slow are
    equally far from 0.
    """
    rounds = zip(base.first, base.second, own.first, own.second)
    return [log(a / c * b / d) / 2 for a, b, c, d in rounds]


@lru_cache
def rank(n, error=ERROR):
    """The r for which the r-th smallest and the r-th largest of n values enclose the median.

    The largest r with 2 P(Bin(n, 1/2) < r) <= error; 0 where n is too small for any.
    """
    ways, tail = 1, 0  # to draw exactly r of n, and fewer than r
    for r in range(n + 1):
        tail += ways
        if 2 * tail / 2**n > error:
            return r
        ways = ways * (n - r) // (r + 1)
    return 0


def interval(values):
    """The median of values and the interval around it: (low, median, high)."""
    ordered = sorted(values)
    r = rank(len(ordered))
    if r == 0:
        return -inf, median(ordered), inf
    return ordered[r - 1], median(ordered), ordered[-r]


def judge(low, high, min_effect, noise_floor):
    """A verdict from the interval of a log speed-up, and whether more rounds might change it.

    Faster, or slower, is what lies with its whole interval beyond the grey zone: the noise
    floor, and the smallest effect worth a word on top of it. What lies within the smallest
    effect is as good as equal, and that is sure; what lies in neither is open.
    """
    smallest = log1p(min_effect)
    grey = smallest + log1p(noise_floor)
    if low > grey:
        return FASTER, False
    if high < -grey:
        return SLOWER, False
    return UNCLEAR, low < -smallest or high > smallest


def quoted(labels):
    """Labels as an error message names them."""
    return ", ".join(map(repr, labels)) or "none"
