"""The words of a verdict, and when each of them is said.

    >>> from math import log
    >>> judge(log(1.45), log(1.55), min_effect=0.01, noise_floor=0.002)
    'faster'

"As good as equal" is the answer of what statistics calls an equivalence test: that two things were
not seen to differ does not show that they are equal.
"""

from math import log1p

FASTER, SLOWER, EQUAL = "faster", "slower", "as good as equal"
UNCLEAR = "no clear difference"


def judge(low: float, high: float, min_effect: float, noise_floor: float) -> str:
    """A verdict from the interval of a speed-up's natural logarithm, and two shares: 0.01 is 1 %.

    A candidate is faster, or slower, if its whole interval lies beyond the grey zone: the noise
    floor, and the smallest effect worth a word on top of it. If the interval lies within the
    smallest effect, the two are as good as equal. Otherwise this run cannot tell.
    """
    smallest = log1p(min_effect)
    grey = smallest + log1p(noise_floor)
    if low > grey:
        return FASTER
    if high < -grey:
        return SLOWER
    return EQUAL if -smallest <= low and high <= smallest else UNCLEAR
