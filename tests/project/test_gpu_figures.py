"""COMPARE's table of a GPU has the figures of results/gpu/."""

import re

import pytest

from tools import site, site_gpu, site_results

ROWS = [  # what the table shows, in this order
    "the course's network, float32, size 1",
    "wide transformer block, float32, size 1",
    "wide transformer block, bfloat16, size 1",
    "convolution block, float32, size 1024",
    "convolution block, bfloat16, size 1024",
    "wide transformer block, float32, size 4096",
    "wide transformer block, bfloat16, size 4096",
]


@pytest.mark.parametrize("name", ["COMPARE.md", "COMPARE.zh.md"])
def test_table_is_what_was_measured(name):
    text, (first, second) = (site.ROOT / name).read_text("utf-8"), site_gpu.stored()
    rows = re.findall(r"(?m)^\| .*\| `(b?float\d+)` \| (\S+\s[µm]s) \| (.+) \|$", text)
    for title, (dtype, time, shown) in zip(ROWS, rows, strict=True):
        ways, again = (one["results"][title]["compared"] for one in (first, second))
        assert dtype == title.split(", ")[1]
        assert time.split() == site_results.seconds(ways["eager"]["median"]).split()
        found = [run[way] for run in (ways, again) for way in site_gpu.WAYS.values()]
        figures = re.findall(r"[\d.]+\??", shown)
        for figure, one in zip(figures, found, strict=True):
            unclear = "?" * (one["verdict"] == "inconclusive")
            assert figure == f"{site_results.digits(one['speedup'])}{unclear}"
