"""The four verdicts, in words, and the rule that chooses one from an interval.

>>> judge(low=0.372, high=0.438, min_effect=0.01, noise_floor=0.002)
'faster'
"""

from math import log1p

FASTER, SLOWER, EQUIVALENT = "faster", "slower", "equivalent"
INCONCLUSIVE = "inconclusive"


def judge(low: float, high: float, min_effect: float, noise_floor: float) -> str:
    """Return the verdict for the interval of a log speed-up, from `low` to `high`.

    `min_effect` and `noise_floor` are shares: 0.01 is 1%. A candidate is faster, or slower, if its
    whole interval lies beyond the noise floor, and the smallest effect worth a word on top of it.
    If the interval lies within the smallest effect, the two are equivalent: the answer of an
    equivalence test, as that two things were not seen to differ does not show that they are equal.
    Otherwise the run is inconclusive.
    """
    smallest = log1p(min_effect)
    margin = smallest + log1p(noise_floor)
    if low > margin:
        return FASTER
    if high < -margin:
        return SLOWER
    return EQUIVALENT if -smallest <= low and high <= smallest else INCONCLUSIVE
