"""Scales of axes: how far they reach, where their marks are, and how these read."""

from collections.abc import Callable, Iterable, Sequence
from math import ceil, floor, log, log2, log10, sqrt

from matplotlib.axis import Axis
from matplotlib.ticker import EngFormatter, NullLocator

from .words import decimal

BYTES = ("bytes", "KiB", "MiB", "GiB", "TiB")
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
RATIOS = (1.001, 1.002, 1.005, 1.01, 1.02, 1.05, 1.1, 1.25, 1.5)
RATIOS += (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)  # and 1 / each of them
in_seconds = EngFormatter("s")  # a mark of an axis of times: 100 µs


def plain(number: float) -> str:
    """A mark of an axis without an exponent: 1,000 or 0.1. Very small ones have one: 10⁻⁸."""
    if 0 < number < 5e-4:
        digit, power = f"{number:.0e}".split("e")
        digit = "" if digit == "1" else f"{digit}·"
        return f"{digit}10{str(int(power)).translate(SUPERSCRIPTS)}"
    return decimal(number)


def in_bytes(size: float) -> str:
    """A number of bytes in a fitting unit: 48 KiB."""
    power = floor(log2(size) / 10)
    return f"{size / 1024**power:g} {BYTES[power]}"


def two_digits(number: float) -> str:
    """A number in two digits, or in all those before the point."""
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


def set_log_scale(
    axis: Axis, low: float, high: float, ticks: Sequence[float] = (), text_of: Callable = plain
) -> None:
    """Make an axis logarithmic, from `low` to `high`, with marks at `ticks` or at round numbers."""
    ticks = ticks or round_numbers(low, high)
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_ticks(ticks, [text_of(tick) for tick in ticks])
    axis.set_minor_locator(NullLocator())
    axis.axes.set(**{f"{axis.axis_name}lim": (low, high)})


def set_ratio_scale(axis: Axis, low: float, high: float) -> None:
    """Make an axis that has 1 on it logarithmic, with its marks as far apart below 1 as above."""
    up, down = [1], [1]
    for ticks, end in ((up, high), (down, 1 / low)):
        for tick in RATIOS:  # outwards, leaving out what would run into the one before
            if tick < end and log(tick / ticks[-1]) > 0.1 * log(high / low):
                ticks.append(tick)
    set_log_scale(axis, low, high, [1 / tick for tick in down[:0:-1]] + up, _three_digits)


def around(values: Iterable[float]) -> tuple[float, float]:
    """Where a logarithmic axis begins and ends that shows all values and two marks or more."""
    low, high = min(values), max(values)
    middle, reach = sqrt(low * high), max(high / low, 3) ** 0.55  # beyond the first and the last
    return middle / reach, middle * reach


def powers_of_ten(low: float, high: float) -> list[float]:
    """Those from `low` to `high`, with the one before and the one after."""
    return [10.0**power for power in range(floor(log10(low)), ceil(log10(high)) + 1)]


def round_numbers(low: float, high: float) -> list[float]:
    """Two round numbers or more from `low` to `high`."""
    for digits in ((1,), (1, 3), (1, 2, 5), range(1, 10)):  # the first that gives three marks
        ticks = [digit * power for power in powers_of_ten(low, high) for digit in digits]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) >= 3:
            break
    return ticks[:: ceil(len(ticks) / 5)]


def _three_digits(tick):
    """A mark of an axis, in two digits below 1 unless these would make it 1."""
    return f"{tick:.2g}" if tick < 0.985 else f"{tick:.4g}" if tick > 1 else f"{tick:.3g}"
