"""The verdict that follows from an interval."""

from math import log

import pytest

from d2lhybrid.measure.verdict import FASTER, SLOWER, UNCLEAR, judge

# speed-up from, to, smallest effect, noise floor, verdict, open
JUDGEMENTS = [
    (1.02, 1.04, 0.01, 0.0, FASTER, False),
    (0.95, 0.98, 0.01, 0.0, SLOWER, False),
    (0.999, 1.001, 0.01, 0.0, UNCLEAR, False),
    (1.005, 1.02, 0.01, 0.0, UNCLEAR, True),  # reaches into the smallest effect
    (1.001, 1.008, 0.01, 0.0, UNCLEAR, False),  # surely different, and not worth a word
    (1.02, 1.04, 0.01, 0.02, UNCLEAR, True),  # the control itself was off by 2 %
    (1.04, 1.05, 0.01, 0.02, FASTER, False),
    (1.02, 1.04, 0.05, 0.0, UNCLEAR, False),
    (0.9, 1.1, 0.01, 0.0, UNCLEAR, True),
    (1.0, 1.0, 0.0, 0.0, UNCLEAR, False),  # no difference at all is none, however small one counts
    (1.001, 1.002, 0.0, 0.0, FASTER, False),
]


@pytest.mark.parametrize(("low", "high", "effect", "floor", "verdict", "is_open"), JUDGEMENTS)
def test_judge(low, high, effect, floor, verdict, is_open):
    assert judge(log(low), log(high), effect, floor) == (verdict, is_open)
    mirrored = {FASTER: SLOWER, SLOWER: FASTER}.get(verdict, verdict)
    assert judge(-log(high), -log(low), effect, floor) == (mirrored, is_open)
