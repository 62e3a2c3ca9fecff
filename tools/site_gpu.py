"""What was measured on a GPU, for the pages: results/gpu/ has the same measurement twice."""

import datetime
import functools
import json
import re

from . import manifest
from .files import ROOT
from .site_chart import chart, seconds

FILES = "h100_first", "h100_second"
WAYS = {"plain": "torch.compile", "graphs": "with CUDA graphs"}
LIMITS = {  # name in a text -> that in the files, the unit, whether it is time per work
    "launch": ("one operation", 1e-6, True),
    "in_graph": ("CUDA graph of 100", 1e-6, True),
    "copy": ("copy", 1e12, False),
    "float32": ("float32 product", 1e12, False),
    "bfloat16": ("bfloat16 product", 1e12, False),
}
QUOTED = {  # name in a text -> what was measured
    "small": "the course's network, float32, size 1",
    "token": "wide transformer block, float32, size 1",
    "images": "convolution block, float32, size 1024",
    "tokens": "wide transformer block, float32, size 4096",
    "half": "wide transformer block, bfloat16, size 4096",
}
TOKENS, WIDTH = 4096, 1024
FLOP = 2 * TOKENS * WIDTH * (12 * WIDTH + 2 * TOKENS)  # of `tokens`: linear layers and attention


@functools.cache
def stored():
    """What the two files hold; nobody changes it."""
    return [json.loads((ROOT / f"results/gpu/{one}.json").read_text("utf-8")) for one in FILES]


def facts(said):
    """What texts say of it: name -> a figure, those of both runs, or way -> its time."""
    both = stored()
    date = datetime.date.fromisoformat(both[0]["machine"]["date"][:10])
    name = re.sub(r" \d+GB.*", "", both[0]["device"])  # without its memory
    found = {"name": name, "date": said["results"]["day"].format(date)}
    for key, (name, unit, is_time) in LIMITS.items():
        times = [time_of(one["limits"][name]) for one in both]
        found[key] = [f"{(time if is_time else 1 / time) / unit:.3g}" for time in times]
    least = FLOP * time_of(both[0]["limits"]["float32 product"])
    found |= {"needs": round(FLOP / 1e9), "least": seconds(least, 2)}
    for key, title in QUOTED.items():
        ways = both[0]["results"][title]["compared"]
        found[key] = {way: seconds(ways[WAYS[way]]["median"]) for way in WAYS}
        found[key]["eager"] = seconds(ways["eager"]["median"])
    compared = [[ways["compared"] for ways in one["results"].values()] for one in both]
    verdicts = {}
    for key, way in WAYS.items():
        verdicts[key] = [[ways[way]["verdict"] for ways in one] for one in compared]
        found[key] = [one.count("faster") for one in verdicts[key]]
    pairs = [pair for one in verdicts.values() for pair in zip(*one, strict=True)]
    found["programs"], found["count"] = len(compared[0]), len(pairs)
    found["same"] = sum(first == second for first, second in pairs)
    found["opposite"] = sum({*pair} == {"faster", "slower"} for pair in pairs)
    versions = both[0]["machine"]["versions"]
    found["versions"] = ", ".join(f"{key} {value}" for key, value in versions.items())
    address = f"https://github.com/{manifest.repository()}/blob/main/results/gpu/"
    return found | {"files": ", ".join(f"[{one}.json]({address}{one}.json)" for one in FILES)}


def time_of(limit):
    """Seconds per piece of work."""
    return limit["queued"][1] / limit["work"]


def section(said, row):
    """The section about the GPU on the page of results: its parts, and the rows of its charts.

    `row` is that of site_results.
    """
    words, both, found = said["gpu"], stored(), facts(said)
    where, charts = words["where"].format(**found), {}
    for title in both[0]["results"]:
        network, dtype, size = re.fullmatch("(.+), (.+), size (.+)", title).groups()
        data = {"machine": where, "rows": size}
        for way in WAYS.values():
            one, again = (row(way, run["results"][title]["compared"], data, said) for run in both)
            name = f"{way.removeprefix('with ')}, {dtype}, {size}"
            one = one._replace(name=name, more=(one.more[0], again.more[0]))
            charts.setdefault(network, []).append(one)
    parts = [f"(results-gpu)=\n## {where}", words["about"].strip().format(**found)]
    for network, rows in charts.items():
        parts += [
            f"### {words['networks'][network]}",
            chart(words["columns"], rows, two=False, in_order=True),
        ]
    return parts, [row for rows in charts.values() for row in rows]
