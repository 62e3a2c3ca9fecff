"""The verdict that follows from an interval: faster, slower, or no clear difference.

Explained in notebook 05; statistics calls the smallest effect an equivalence margin.
"""

from math import log1p

FASTER, SLOWER, UNCLEAR = "faster", "slower", "no clear difference"


def judge(low: float, high: float, min_effect: float, noise_floor: float) -> tuple[str, bool]:
    """A verdict from the interval of a log speed-up, and whether more rounds might change it.

    A candidate is faster, or slower, if its whole interval lies beyond the grey zone: the noise
    floor, and the smallest effect worth a word on top of it. If the interval lies within the
    smallest effect, the two are as good as equal, and that is sure. Otherwise it is open.
    """
    smallest = log1p(min_effect)
    grey = smallest + log1p(noise_floor)
    if low > grey:
        return FASTER, False
    if high < -grey:
        return SLOWER, False
    return UNCLEAR, low < -smallest or high > smallest
