"""COMPARE's table of a GPU has the figures of results/gpu/."""

import re

import pytest

from tools import site, site_gpu, site_results

ROWS = {  # how a row begins, in both languages -> what was measured
    "the course's network|课程的网络": ("the course's network", 1),
    "transformer block, width 1,024, one|Transformer块，宽度1024，1": ("wide transformer block", 1),
    "convolution block|卷积块": ("convolution block", 1024),
    "transformer block, width 1,024, 4|Transformer块，宽度1024，4": (
        "wide transformer block",
        4096,
    ),
}


@pytest.mark.parametrize("name", ["COMPARE.md", "COMPARE.zh.md"])
def test_table_is_what_was_measured(name):
    text, (first, second) = (site.ROOT / name).read_text("utf-8"), site_gpu.stored()
    for begins, (network, size) in ROWS.items():
        title = f"{network}, float32, size {size}"
        cells = re.search(rf"(?m)^\| (?:{begins}).* \| (\S+\s[µm]s) \| (.+) \|$", text)
        ways, again = (one["results"][title]["compared"] for one in (first, second))
        assert cells[1].split() == site_results.seconds(ways["eager"]["median"]).split()
        found = [run[way] for run in (ways, again) for way in site_gpu.WAYS.values()]
        shown = re.findall(r"\*?[\d.]+\*?", cells[2])
        for figure, one in zip(shown, found, strict=True):
            unclear = "*" * (one["verdict"] == "inconclusive")
            assert figure == f"{unclear}{site_results.digits(one['speedup'])}{unclear}"
