"""What was measured on a GPU, for the pages: results/gpu/ has the same measurement twice."""

import datetime
import json
import re

from . import manifest
from .files import ROOT
from .site_chart import chart, seconds

FILES = "h100_first", "h100_second"  # two machines of the same kind
WAYS = "torch.compile", "with CUDA graphs"
LIMITS = {  # name in a text -> that in the files, the unit, whether it is time per work
    "launch": ("one operation", 1e-6, True),
    "in_graph": ("CUDA graph of 100", 1e-6, True),
    "copy": ("copy", 1e12, False),
    "float32": ("float32 product", 1e12, False),
    "bfloat16": ("bfloat16 product", 1e12, False),
}
TOKENS, WIDTH = 4096, 1024
WIDE = 2 * TOKENS * WIDTH * (12 * WIDTH + 2 * TOKENS)  # FLOP: four linear layers, and attention
QUOTED = {  # name in a text -> what was measured, and the way of which a text tells
    "small": ("the course's network, float32, size 1", "torch.compile"),
    "rows": ("the course's network, float32, size 4096", "torch.compile"),
    "overhead": ("transformer block, float32, size 64", "with CUDA graphs"),
    "memory": ("convolution block, float32, size 1024", "torch.compile"),
    "arithmetic": ("wide transformer block, float32, size 4096", "torch.compile"),
}


def stored():
    """What the two files hold."""
    return [json.loads((ROOT / f"results/gpu/{one}.json").read_text("utf-8")) for one in FILES]


def facts(said):
    """What texts say of it: name -> a figure, or a dict of figures."""
    first, second = stored()
    date = datetime.date.fromisoformat(first["machine"]["date"][:10])
    name = re.sub(r" \d+GB.*", "", first["device"])  # without its memory
    found = {"name": name, "date": said["results"]["day"].format(date)}
    for key, (name, unit, is_time) in LIMITS.items():
        limit = first["limits"][name]
        time = limit["queued"][1] / limit["work"]
        found[key] = f"{(time if is_time else 1 / time) / unit:.3g}"
        if key == "float32":
            found["needs"], found["least"] = round(WIDE / 1e9), seconds(WIDE * time, 2)
    for key, (title, way) in QUOTED.items():
        ways, again = (one["results"][title]["compared"] for one in (first, second))
        found[key] = {"before": seconds(ways["eager"]["median"])}
        found[key] |= {"time": seconds(ways[way]["median"])}
        found[key] |= {"speed": f"{ways[way]['speedup']:.2f}", "way": way}
        found[key] |= {"again": f"{again[way]['speedup']:.2f}"}
    return found


def section(said, row):
    """The section about the GPU on the page of results: its parts, and the rows of its charts.

    `row` is that of site_results.
    """
    words, (first, second), found = said["gpu"], stored(), facts(said)
    where, charts, verdicts = f"{found['name']}, {found['date']}", {}, []
    for title in first["results"]:
        network, dtype, size = re.fullmatch("(.+), (.+), size (.+)", title).groups()
        data = {"machine": where, "rows": size}
        for way in WAYS:
            both = [one["results"][title]["compared"] for one in (first, second)]
            verdicts.append([ways[way]["verdict"] for ways in both])
            one, again = (row(way, ways, data, said) for ways in both)
            name = f"{way.removeprefix('with ')}, {dtype}, {size}"
            one = one._replace(name=name, more=(one.more[0], again.more[0]))
            charts.setdefault(network, []).append(one)
    found["count"], found["same"] = len(verdicts), sum(a == b for a, b in verdicts)
    found["opposite"] = sum({a, b} == {"faster", "slower"} for a, b in verdicts)
    versions = first["machine"]["versions"]
    found["versions"] = ", ".join(f"{key} {value}" for key, value in versions.items())
    address = f"https://github.com/{manifest.repository()}/blob/main/results/gpu/"
    found["files"] = ", ".join(f"[{one}.json]({address}{one}.json)" for one in FILES)
    parts = [f"(results-gpu)=\n## {where}", words["about"].strip().format(**found)]
    for network, rows in charts.items():
        parts += [f"### {words['networks'][network]}", chart(words["columns"], rows, two=False)]
    return parts, [row for rows in charts.values() for row in rows]
