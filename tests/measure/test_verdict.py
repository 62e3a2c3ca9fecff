"""The verdict that follows from an interval."""

from math import log

import pytest

from d2lhybrid.measure.verdict import EQUAL, FASTER, SLOWER, UNCLEAR, judge

# speed-up from, to, smallest effect, noise floor, verdict
JUDGEMENTS = [
    (1.02, 1.04, 0.01, 0.0, FASTER),
    (0.95, 0.98, 0.01, 0.0, SLOWER),
    (0.999, 1.001, 0.01, 0.0, EQUAL),
    (1.005, 1.02, 0.01, 0.0, UNCLEAR),  # reaches into the smallest effect
    (1.001, 1.008, 0.01, 0.0, EQUAL),  # surely different, and not worth a word
    (0.999, 1.001, 0.01, 0.5, EQUAL),  # the control was off, and the interval is narrow
    (1.02, 1.04, 0.01, 0.02, UNCLEAR),  # the control itself was off by 2 %
    (1.04, 1.05, 0.01, 0.02, FASTER),
    (1.02, 1.04, 0.05, 0.0, EQUAL),
    (0.9, 1.1, 0.01, 0.0, UNCLEAR),
    (1.0, 1.0, 0.0, 0.0, EQUAL),  # no difference at all
    (1.001, 1.002, 0.0, 0.0, FASTER),
]


@pytest.mark.parametrize(("low", "high", "effect", "floor", "verdict"), JUDGEMENTS)
def test_judge(low, high, effect, floor, verdict):
    assert judge(log(low), log(high), effect, floor) == verdict
    mirrored = {FASTER: SLOWER, SLOWER: FASTER}.get(verdict, verdict)
    assert judge(-log(high), -log(low), effect, floor) == mirrored
