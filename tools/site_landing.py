"""The first screen of the pages: the question, a chart, a button and three doors, above README."""

import re

from . import site_gpu
from .site_chart import Row, chart
from .site_results import on, stored

CHART = "epyc_avx512_4_cores_frameworks"  # README's own table is of it, too
WAYS = ["our compiler, hybridize", "NumPy, three products", "PyTorch, TorchScript", "JAX, jit"]
WAYS += ["PyTorch, torch.compile", "MXNet, static", "Paddle, from source"]
WAYS += ["TensorFlow, tf.function"]


def with_first_screen(readme, said):
    """README with the first screen before it, and with what to read before what it is about."""
    words, (about, *parts) = said["landing"], re.split(r"\n(?=## )", readme)
    title, _, about = about.partition("\n")
    parts.sort(key=lambda part: "img/course_map" not in part)  # the map comes first
    text = "\n".join([parts[0], f"## {words['about']}\n{about}", *parts[1:]])
    text = with_names(text, said)
    text = re.sub(r"(?m)^- .*\(index\.md\).*$", lambda _: words["here"], text)
    first = "notebooks/01_imperative_programs.html?run"
    start = f'<p><a class="start" href="{first}">{words["run"]}</a>'
    doors = [f"[**{name}**]({link}) {what}" for name, link, what in words["doors"]]
    found = stored()[CHART]
    about = words["note"].format(on=on(found, CHART, said), file=f"results/{CHART}.json")
    about += " " + said["gpu"]["landing"].format(**site_gpu.facts(said))
    parts = [title, words["sentence"], f"{start} <small>{words['price']}</small></p>"]
    parts += [times(found, said), about, "::::{container} doors", *doors, "::::", text]
    return "\n\n".join(parts)


def with_names(text, said):
    """A text whose links to files show the names of their pages."""
    names = {name: texts[0] for name, texts in {**said["before"], **said["after"]}.items()}
    return re.sub(r"\[(\w+)\.md\]", lambda m: f"[{names.get(m[1], m[1] + '.md')}]", text)


def times(found, said):
    """The chart: each framework before and after its compiler, by the time after it."""
    words, ways = said["landing"], found["sizes"]["1"]
    rows = []
    for way in WAYS:
        one, name = ways[way], words["names"].get(way, way)
        times = one["median"], ways[one["over"]]["median"]
        if way.startswith("NumPy"):  # compiles nothing
            rows.append(Row(name, None, one["median"]))
        else:
            rows.append(Row(name, *times, one["verdict"]))
    return chart(words["columns"], rows)
