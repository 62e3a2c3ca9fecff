"""What the figures with steps show, made by the package's own functions.

Each function takes its words and returns groups of steps, by name: pairs of a step's HTML and of
what it says in words. A figure without a choice has one group. The package is imported inside,
where pages/steps.py lets it do without torch.
"""

import difflib
import random
import re
from html import escape
from statistics import fmean

from tools import site_landing, site_results
from tools.site_chart import seconds


def code(lines):
    return f'<pre class="notranslate" lang="en">{chr(10).join(lines)}</pre>'


def drawn(drawing):
    """A drawing of the package as a part of the page; those of two steps may be alike, so no id."""
    svg = re.sub("(?s) role=.*?(?=\nwidth)|<title>.*</desc>", "", drawing.svg)
    svg = svg.replace("<svg", '<svg aria-hidden="true"', 1)
    return f'<div class="drawn" role="img" aria-label="{escape(drawing.alt)}" lang="en">{svg}</div>'


def lanes(rows, high, low=0, ticks=(), line=None, look=""):
    """Rows of bars. A row is a label and its bars: (start, end, class, text), in units of the axis.

    What is higher than `high` is cut off. `line` is where an upright line is.
    """

    def at(value):
        return f"{100 * (value - low) / (high - low):.2f}%"

    def bar(start, end, look, text=""):
        wide = at(min(end, high) - start + low)
        look += " over" * (end > high)
        return f'<i class="{look}" style="left:{at(start)};width:{wide}">{text}</i>'

    mark = "" if line is None else f'<i class="line" style="left:{at(line)}"></i>'
    parts = []
    for label, bars in rows:
        track = "".join(bar(*one) for one in bars if one[0] < high)
        parts.append(f"<span>{label}</span><div>{track}{mark}</div>")
    if ticks:
        axis = "".join(f'<b style="left:{at(tick)}">{tick:g}</b>' for tick in ticks)
        parts.append(f'<span></span><div class="axis" aria-hidden="true">{axis}</div>')
    return f'<div class="lanes {look}">{"".join(parts)}</div>'


CALL = "LOAD_GLOBAL add,LOAD_FAST {},LOAD_FAST {},PRECALL,CALL 2,STORE_FAST {}"
LINES = {  # as Python 3.11 compiles them, which stored the notebook's outputs
    "fancy_func": {
        "def fancy_func(a, b, c, d):": "RESUME",
        "    e = add(a, b)": CALL.format(*"abe"),
        "    f = add(c, d)": CALL.format(*"cdf"),
        "    g = add(e, f)": CALL.format(*"efg"),
        "    return g": "LOAD_FAST g,RETURN_VALUE",
    },
    "add": {
        "def add(a, b):": "RESUME",
        "    return a + b": "LOAD_FAST a,LOAD_FAST b,BINARY_OP +,RETURN_VALUE",
    },
}
TAKES = {"STORE_FAST": 1, "RETURN_VALUE": 1, "BINARY_OP": 2, "CALL": 3}  # off the stack


def interpreter(words):
    """Notebook 01: what `interpret` does, instruction by instruction."""
    steps, additions = [], 0

    def begin(name, **variables):
        rest = ((line, one) for line, all_of in LINES[name].items() for one in all_of.split(","))
        return name, variables, [], rest

    calls = [(words["caller"], {}, [], ()), begin("fancy_func", a=1, b=2, c=3, d=4)]
    while calls[1:]:
        name, variables, stack, rest = calls[-1]
        line, instruction = next(rest)
        operation, _, what = instruction.partition(" ")
        taken = [stack.pop() for _ in range(TAKES.get(operation, 0))]
        match operation:
            case "LOAD_GLOBAL":
                stack.append(what)
            case "LOAD_FAST":
                stack.append(variables[what])
            case "STORE_FAST":
                variables[what] = taken[0]
            case "BINARY_OP":
                additions += 1
                stack.append(sum(taken))
            case "CALL":
                calls.append(begin("add", a=taken[1], b=taken[0]))
            case "RETURN_VALUE":
                calls.pop()
                calls[-1][2].append(taken[0])
        said = words["count"].format(len(steps) + 1, additions)
        top = calls[-1][2][-1:]  # what has just been pushed
        said += f" {instruction}: {words[operation].format(what, *taken, *top)}"
        source = [f"<mark>{one}</mark>" if one == line else one for one in LINES[name]]
        listed = LINES[name][line].split(",")
        listed = [f"<mark>{one}</mark>" if one == instruction else one for one in listed]
        html = f'<div class="sources">{code(source)}{code(listed)}</div><div class="piles">'
        for called, held, pile, _ in calls:
            values = "".join(f"<b>{one}</b>" for one in reversed(pile))
            names = " ".join(f"<span>{key} = {value}</span>" for key, value in held.items())
            html += f"<div><p>{called}</p><div>{values}</div><p>{names}</p></div>"
        steps.append((f"{html}</div>", said))
    return {"": steps}


def rewriting(words):
    """Notebook 02: each rewriting of the program, line by line, with its data flow."""
    from d2lhybrid.plot.graphs import plot_data_flow
    from d2lhybrid.text import program as text

    written = text.evoke_().strip().replace("\n\n", "\n")
    add, fancy, last = text.straight_line(written)
    inliner = text.Inliner({"fancy_func": fancy})
    last = inliner.visit(last)
    called = text.as_text([add, *inliner.lines, last])
    freed = text.free_after_last_use(inlined := text.inline(written))
    stages = [(written, "written"), (called, "called"), (inlined, "inlined"), (freed, "freed")]
    lines = freed.splitlines()
    for at, line in enumerate(lines, 1):  # fold, downwards
        folded = text.fold_constants_text("\n".join(lines[:at])).splitlines()
        if folded[-1] != line:
            stages.append(("\n".join([*folded, *lines[at:]]), "folded"))
    left = stages[-1][0].splitlines()
    kept = text.drop_unused_text("\n".join(left)).splitlines()
    gone = [line for line in left if line not in kept]
    for stage in ("dropped", "deleted"):  # drop, upwards, and then what is left without a name
        for line in gone[::-1]:
            if line.startswith("del ") == (stage == "deleted"):
                left.remove(line)
                stages.append(("\n".join(left), stage))
    stages.append((stages[-1][0], "end"))
    steps, before = [], written.splitlines()
    for now, stage in stages:
        lines = [line for line in now.splitlines() if line]
        html, was, new = [], [""], [""]
        for kind, i, j, k, m in difflib.SequenceMatcher(None, before, lines).get_opcodes():
            if kind == "equal":
                html += before[i:j]
            else:
                was, new = before[i:j] or was, lines[k:m] or new
                html += [f"<del>{line}</del>" for line in before[i:j]]
                html += [f"<ins>{line}</ins>" for line in lines[k:m]]
        said = words[stage].format(was[-1], new[-1], was[-1].partition(" ")[0])
        flow = plot_data_flow(re.sub("(?m)^del .*", "", now))  # a name may be gone before its `del`
        steps.append((code(html) + drawn(flow), said))
        before = lines
    return {"": steps}


PASSES = ["recorded", "fold_constants", "share_common", "drop_unused", "fuse", "plan_memory"]


def passes(words):
    """Notebook 04: three graphs after each pass, and the memory of the one that needs some."""
    from d2lhybrid.hybrid import passes as made
    from d2lhybrid.hybrid.graph import Graph, Node

    def fancy(name, inputs, a, b, c, d):
        nodes = [Node("add", (a, b)), Node("add", (c, d))]
        nodes.append(Node("add", tuple(nodes)))
        return Graph(name, inputs, tuple(nodes), (nodes[2],))

    def network():
        x = value = Node("input", name="input", shape=("n", 64), dtype="float32")
        nodes = []
        for i in range(0, 8, 2):
            sizes = {"weight": (64, 64), "bias": (64,)}
            held = [Node("parameter", (), [], f"{i}.{name}", size) for name, size in sizes.items()]
            nodes += [*held, Node("linear", (value, *held), shape=x.shape)]
            nodes.append(value := Node("relu", (nodes[-1],), shape=x.shape))
        return Graph("Sequential", (x,), tuple(nodes), (value,))

    inputs, groups = tuple(Node("input", name=name) for name in "abcd"), {}
    bound = fancy("fancy_func", inputs, *inputs).bind(a=1, b=2)
    graphs = bound, fancy("twice", inputs[:2], *inputs[:2] * 2), network()
    for title, graph in zip(words["graphs"], graphs, strict=True):
        steps = groups[title] = []
        for name in PASSES:
            graph = getattr(made, name, lambda same: same)(graph)
            html = drawn(graph.plot())
            numbers = sum(node.is_operation for node in graph.nodes), len(graph.kernels)
            counts = words["counts"].format(*numbers)
            if rows := memory(graph, words):
                counts += words["memory"].format(len(rows), graph.memory_bytes())
                html += lanes(rows, len(graph.kernels))
            same = steps and steps[-1][0] == html
            said = words["nothing"].format(name) if same else words[name]
            steps.append((html, said + counts))
    return groups


def memory(graph, words):
    """A row for each slot of a graph, with its values from the kernel that stores each to the last
    that reads it."""
    rows, stored, read = {}, {}, {}
    for at, kernel in enumerate(graph.kernels):
        stored[kernel[-1]] = at
        read |= dict.fromkeys([source for node in kernel for source in node.inputs], at + 1)
    for node, slot in graph.slots.items():
        rows.setdefault(slot, []).append((stored[node], read[node], "calls", graph.names[node]))
    slots = [words["slot"].format(slot) if isinstance(slot, int) else "" for slot in rows]
    return list(zip(slots, rows.values(), strict=True))


def intervals(words, seeds=range(3, 23), center=0.1, spread=0.05):
    """Notebook 06: twenty intervals while rounds are added; the first is the notebook's own."""
    from math import exp

    from d2lhybrid.benchmark.statistics import rank

    draws = [random.Random(seed) for seed in seeds]
    ratios = [[draw.lognormvariate(center, spread) for _ in range(300)] for draw in draws]
    steps, truth = [], exp(center)
    for n in (6, 8, 10, 15, 20, 30, 40, 60, 80, 100, 150, 200, 300):
        first, rows, wide, missed = rank(n, 0.05), [], [], 0
        for one in ratios:
            low, *_, high = sorted(one[:n])[first - 1 : n - first + 1]
            misses = not low <= truth <= high
            rows.append(("✗" * misses, [(low, high, "miss" if misses else "calls")]))
            wide.append((high - low) / truth)
            missed += misses
        said = words["said"].format(n, first, n - first + 1, f"{fmean(wide):.1%}", missed)
        said += words["end"] * (n == 300)
        look = dict(low=0.97, ticks=(1, 1.05, 1.1, 1.15, 1.2), line=truth, look="thin")
        steps.append((lanes(rows, 1.25, **look), said))
    return {"": steps}


def break_even(words):
    """Notebook 06: the time of all calls, with the wait before the first, from results/."""
    ways, steps = site_results.stored()[site_landing.CHART]["sizes"]["1"], []
    for calls in [digit * 10**power for power in range(2, 6) for digit in (1, 2, 5)] + [10**6]:
        rows, totals = [], {}
        for way, name in words["names"].items():
            build, total = ways[way]["build_cost"], calls * ways[way]["median"]
            totals[name] = total = total + build
            bars = [(0, build, "build"), (build, total, "calls")]
            rows.append((f"{name} <small>{seconds(total)}</small>", bars))
        best, eager = min(totals, key=totals.get), next(iter(totals.values()))
        said = words["said"].format(calls, best, seconds(totals[best]))
        steps.append((lanes(rows, 2.5 * eager, line=eager, look="named"), said))
    return {"": steps}


def schedule(words):
    """Notebook 20: Graham's three schedules, from one start or end of a task to the next."""
    from d2lhybrid.threads.scheduling import list_schedule, makespan

    tasks = {"1": (3, []), "2": (2, []), "3": (2, []), "4": (2, [])}
    tasks |= {name: (4, ["4"]) for name in "5678"} | {"9": (9, ["1"])}
    shorter = {name: (time - 1, after) for name, (time, after) in tasks.items()}
    cases = [(tasks, 3), (shorter, 3), (tasks, 4)]
    groups = {}
    for title, (todo, workers) in zip(words["cases"], cases, strict=True):
        spans = list_schedule(todo, workers)
        ends, steps = {span.label: span.end for span in spans}, []
        groups[title] = steps
        for now in sorted({time for span in spans for time in (span.start, span.end)}):
            begun = {span.label: span for span in spans if span.start <= now}
            others = [name for name in todo if name not in begun]
            waits = [one for one in others if any(ends[name] > now for name in todo[one][1])]
            ready = [one for one in others if one not in waits]
            starts = [one for one, span in begun.items() if span.start == now]
            lists = [words["comma"].join(one) or words["none"] for one in (starts, ready, waits)]
            said = words["done" if now == makespan(spans) else "said"].format(now, *lists)
            rows = {f"worker {i}": [] for i in range(1, workers + 1)}
            for one in begun.values():
                look = "calls" if one.end <= now else "build"
                rows[one.lane].append((one.start, one.end, look, one.label))
            rows = [(words["worker"].format(lane[7:]), bars) for lane, bars in rows.items()]
            steps.append((lanes(rows, 15.3, ticks=range(0, 16, 3), line=now), said))
    return groups
