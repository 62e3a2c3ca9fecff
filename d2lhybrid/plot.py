"""The pictures of the course, each drawn from the object that it shows.

Every function makes a figure and returns its matplotlib Axes. A picture has a white ground of
its own, so that it reads in a dark notebook as well, and takes its colours from Okabe and
Ito's set, which colour-blind readers can tell apart.
"""

from math import ceil, floor, log, log10
from statistics import fmean, median

import matplotlib.pyplot as plt
import networkx
from matplotlib.ticker import LogLocator, NullLocator

from .dataflow import data_flow
from .tables import unit_for

BLUE, ORANGE, RED, GREY = "#0072B2", "#E69F00", "#D55E00", "#767676"
PALE_BLUE, PALE_ORANGE = "#D6E8F5", "#FBE7BE"
GREEN, PURPLE, SKY, BLACK = "#009E73", "#CC79A7", "#56B4E9", "black"  # the set's others
COLOUR_OF = {"faster": BLUE, "slower": RED, "no clear difference": GREY}
SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "neg": "-"}  # of a Graph's operations
RATIOS = (1.02, 1.05, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)  # and 1 / these


def new_axes(width, height):
    """The Axes of a new figure of so many inches; sharp in a notebook."""
    try:
        from matplotlib_inline.backend_inline import set_matplotlib_formats

        set_matplotlib_formats("retina")  # PNG at twice the density
    except (ImportError, AttributeError):
        pass  # no notebook, or no shell to tell: nothing is shown inline
    size = (width, height)
    return plt.subplots(figsize=size, dpi=72, facecolor="white", layout="constrained")[1]


def plot_data_flow(programs):
    """Draw who feeds whom in a program; several programs side by side, on one scale.

    Time runs downwards. Inputs are round, operations square, each with the name that the
    program gives to its value. `programs` is a function or a program's text, which `data_flow`
    reads, a `Graph`, or a graph in the form in which `data_flow` returns it; or a dict from titles
    to them.
    """
    if not isinstance(programs, dict):
        programs = {"": programs}
    flows = {title: _flow_of(program) for title, program in programs.items()}
    places = [_places(flow) for flow in flows.values()]
    widths = [max(x for x, _ in place.values()) + 2 for place in places]
    depth = max(-y for place in places for _, y in place.values())
    ax = new_axes(0.85 * sum(widths), 0.85 * (depth + 1.2))
    left = 0
    for (title, flow), place, width in zip(flows.items(), places, widths):
        _draw_flow(ax, flow, {node: (left + x, y) for node, (x, y) in place.items()})
        ax.text(left + width / 2 - 1, 0.6, title, fontsize=13, fontweight="bold", ha="center")
        left += width
    ax.set_xlim(-0.7, left - 0.9)
    ax.set_ylim(-depth - 0.5, 1 if any(flows) else 0.5)
    ax.axis("off")
    return ax


def _flow_of(program):
    if isinstance(program, networkx.DiGraph):
        return program
    return graph_flow(program) if hasattr(program, "kernels") else data_flow(program)


def graph_flow(graph):
    """The data flow of a `Graph`, without its parameters. What is fused stands in one box."""
    flow, place = networkx.DiGraph(), {}
    for node in (*graph.inputs, *graph.nodes):
        if node.op == "constant" or node in graph.inputs:
            place[node] = len(flow)
            label = node.name or (repr(node.value) if node.shape is None else node.type)
            flow.add_node(len(flow), label=label, kind="input", name="")
    for kernel in graph.kernels:
        label = ", ".join(SIGNS.get(node.op, node.op) for node in kernel)
        here = len(flow)
        place.update(dict.fromkeys(kernel, here))
        flow.add_node(here, label=label, kind="operation", name=graph.names[kernel[-1]])
        sources = [place[source] for node in kernel for source in node.inputs if source in place]
        flow.add_edges_from((source, here) for source in sources if source != here)
    return flow


def _places(flow):
    """Where each node of a data flow goes: below all that feeds it, and between them."""
    place = {}
    for depth, layer in enumerate(networkx.topological_generations(flow)):
        wish = {}
        for node in layer:
            sources = [place[source][0] for source in flow.predecessors(node)]
            wish[node] = sum(sources) / len(sources) if sources else len(wish)
        leftmost = 0
        for node in sorted(layer, key=lambda node: (wish[node], node)):
            place[node] = (max(wish[node], leftmost), -depth)
            leftmost = place[node][0] + 1
    return place


def _draw_flow(ax, flow, place):
    for source, target in flow.edges:
        _arrow(ax, place[source], place[target], shrinkA=15, shrinkB=15)
    for node, data in flow.nodes(data=True):
        if data["kind"] == "input":
            look = dict(boxstyle="circle,pad=0.35", facecolor=PALE_ORANGE, edgecolor=ORANGE)
        else:
            look = dict(boxstyle="round,pad=0.4", facecolor=PALE_BLUE, edgecolor=BLUE)
        ax.text(*place[node], data["label"], ha="center", va="center", fontsize=13, bbox=look)
        ax.annotate(
            data["name"],
            xy=place[node],
            xytext=(16 + 4 * len(data["label"]), 0),  # to the right of the box
            textcoords="offset points",
            va="center",
            fontsize=13,
            fontstyle="italic",
            color=BLUE,
        )


def _arrow(ax, start, end, **looks):
    looks = dict(arrowstyle="-|>", color=GREY, linewidth=1.5, mutation_scale=14) | looks
    ax.annotate("", xy=end, xytext=start, arrowprops=looks)


def plot_stages(stages):
    """Draw texts side by side, an arrow from each to the next.

    `stages` maps a title to a text, in order: what one thing becomes on its way.
    """
    lines = {title: text.splitlines() for title, text in stages.items()}
    widths = [max(map(len, [title, *text])) + 3 for title, text in lines.items()]
    gap = 7  # all lengths along x are in characters, along y in lines
    width = sum(widths) + gap * (len(widths) - 1)
    height = max(map(len, lines.values()))
    ax = new_axes(0.094 * (width + 3), 0.2 * (height + 4))
    left = 0
    for (title, text), width in zip(lines.items(), widths):
        if left:
            _arrow(ax, (left - gap, -0.5), (left, -0.5))
        ax.text(left, 1.7, title, fontsize=13, fontweight="bold")
        ax.text(
            left + 1,
            0,
            "\n".join(text),
            family="monospace",
            fontsize=11,
            va="top",
            bbox=dict(boxstyle="round,pad=0.6", facecolor=PALE_BLUE, edgecolor=BLUE),
        )
        left += width + gap
    ax.set_xlim(-1, left - gap + 1)
    ax.set_ylim(-height - 0.8, 3)
    ax.axis("off")
    return ax


def plot_times(times, title=""):
    """Draw times as bars, longest possible bar the longest time. `times` maps labels to seconds."""
    ax = new_axes(8, 0.9 + 0.45 * len(times))
    labels = list(times)
    longest = max(times.values())
    unit, factor = unit_for(longest)
    ax.barh(labels, [times[label] * factor for label in labels], color=BLUE, height=0.6)
    ax.invert_yaxis()
    ax.set_xlabel(f"time in {unit}", fontsize=12)
    _plain(ax, title)
    return ax


def plot_shares(shares, limit=None, limit_label="limit"):
    """Draw what each time is made of as a bar in pieces, and a line for the least possible time.

    `shares` maps a label to a dict from parts to seconds; all have the same parts, in one order.
    """
    ax = new_axes(9, 1.5 + 0.5 * len(shares))
    labels = list(shares)
    unit, factor = unit_for(max(sum(parts.values()) for parts in shares.values()))
    left = [0.0] * len(labels)
    for part, colour in zip(next(iter(shares.values())), [BLUE, ORANGE, SKY, GREEN, PURPLE]):
        pieces = [shares[label][part] * factor for label in labels]
        ax.barh(labels, pieces, left=left, color=colour, height=0.6, label=part)
        left = [a + b for a, b in zip(left, pieces)]
    if limit is not None:
        ax.axvline(limit * factor, color=RED, linewidth=2, linestyle="--", label=limit_label)
    ax.invert_yaxis()
    ax.set_xlabel(f"{unit} a call", fontsize=12)
    ax.legend(fontsize=12, frameon=False, loc="lower right")
    _plain(ax, "")
    return ax


def plot_roads(roads, apart=()):
    """Draw a few figures of each row as dots, each figure on a logarithmic axis of its own.

    On all axes the same distance is the same factor. `roads` maps a label to a dict from the names
    of the figures to positive numbers; all have the same figures, in one order. The labels in
    `apart` have another colour and shape. Returns the Axes, from left to right.
    """
    labels = list(roads)
    names = list(next(iter(roads.values())))
    first = new_axes(9.5, 0.9 + 0.4 * len(labels))
    panels = first.figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    first.remove()
    columns = {name: [figures[name] for figures in roads.values()] for name in names}
    span = max(max(values) / min(values) for values in columns.values())
    span *= 6 * span**0.35  # with room for the figure beside the last dot
    for ax, (name, values) in zip(panels, columns.items()):
        for row, (label, value) in enumerate(zip(labels, values)):
            look = dict(color=BLUE, marker="o") if label in apart else dict(color=RED, marker="s")
            ax.plot(value, row, markersize=8, **look)
            ax.annotate(
                f"{value:,.0f}" if value >= 10 else f"{value:.2g}",
                xy=(value, row),
                xytext=(7, 0),
                textcoords="offset points",
                va="center",
                fontsize=11,
                color=look["color"],
            )
        ax.set_xscale("log")
        decades = range(floor(log10(min(values))), ceil(log10(max(values))) + 1)
        ticks = [10.0**k for k in decades[:: 1 + ceil(log10(span)) // 4]]
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set_xlim(min(values) / 2, min(values) / 2 * span)
        ax.grid(axis="y", color="#DDDDDD")
        ax.set_axisbelow(True)
        _plain(ax, name)
    panels[0].set_yticks(range(len(labels)), labels)
    panels[0].set_ylim(len(labels) - 0.5, -0.5)
    return list(panels)


def plot_ratios(ratios, title=""):
    """Draw ratios of two times as dots, a row for each label; a line marks where both are equal.

    `ratios` maps a label to numbers: the second time divided by the first. Above 1 the second
    was slower. The axis is logarithmic: twice as fast lies as far out as twice as slow.
    """
    ax = new_axes(8, 1.1 + 0.55 * len(ratios))
    labels = list(ratios)
    ax.axvline(1, color=GREY, linewidth=1.5)
    for row, label in enumerate(labels):
        values = list(ratios[label])
        colour = [BLUE, RED][row % 2]
        ax.plot(values, [row] * len(values), "o", color=colour, markersize=9, alpha=0.55)
    _ratio_axis(ax, ax.xaxis, _farthest([value for values in ratios.values() for value in values]))
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.set_xlabel(
        "\u2190 second faster      second time / first time      second slower \u2192", fontsize=12
    )
    _plain(ax, title)
    return ax


def _plain(ax, title, sides=("bottom",)):
    """Keep of the frame what is needed: the sides that have a scale."""
    ax.set_title(title, fontsize=13)
    for side, spine in ax.spines.items():
        spine.set_visible(side in sides)
    ax.tick_params(labelsize=12)
    if "left" not in sides:
        ax.tick_params(axis="y", length=0)


def plot_verdicts(table, gap_before=None):
    """Draw a table of verdicts as coloured cells, a row for each label.

    `table` maps a label to a dict from columns to 'right', 'silently wrong' or 'error'; all rows
    have the same columns, in one order. A gap is left above the row with the label `gap_before`.
    """
    looks = {
        "right": (PALE_BLUE, BLACK),
        "silently wrong": (RED, "white"),
        "error": ("white", GREY),
    }
    columns = list(next(iter(table.values())))
    place, rows = 0.0, []
    for label in table:
        place += 0.5 * (label == gap_before)
        rows.append(place)
        place += 1
    ax = new_axes(9, 0.5 + 0.35 * place)
    for row, verdicts in zip(rows, table.values()):
        for column, verdict in enumerate(verdicts.values()):
            ground, ink = looks[verdict]
            ax.barh(row, 0.97, left=column - 0.485, height=0.9, color=ground)
            ax.text(column, row, verdict, color=ink, ha="center", va="center", fontsize=12)
    ax.set_xticks(range(len(columns)), columns, fontweight="bold")
    ax.set_yticks(rows, list(table))
    ax.set_ylim(place - 0.5, -0.5)
    _plain(ax, "", sides=())
    ax.tick_params(length=0, labeltop=True, labelbottom=False)
    return ax


def plot_over_time(watched):
    """Draw each block's time over the moment at which it began, in a colour for each part.

    `watched` maps a label to (moments, times), both in seconds, in the order of measuring.
    """
    ax = new_axes(9, 3.5)
    start = min(moments[0] for moments, _ in watched.values())
    unit, factor = unit_for(median(time for _, times in watched.values() for time in times))
    for (label, (moments, times)), colour in zip(watched.items(), [BLUE, RED, BLUE] * 9):
        seconds = [moment - start for moment in moments]
        values = [time * factor for time in times]
        ax.plot(seconds, values, ".", color=colour, markersize=3, alpha=0.5)
        middle = (seconds[0] + seconds[-1]) / 2
        ax.text(middle, 1.01, label, transform=ax.get_xaxis_transform(), ha="center", fontsize=12)
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter("{x:g}")
    ax.set_xlabel("seconds since the start", fontsize=12)
    ax.set_ylabel(f"{unit} a call", fontsize=12)
    _plain(ax, "", sides=("left", "bottom"))
    return ax


def plot_distribution(times):
    """Draw how often which time, in seconds, was measured, with the median and the mean.

    The longest one per cent is left out of the picture, not of the mean.
    """
    ax = new_axes(8, 3)
    unit, factor = unit_for(median(times))
    values = sorted(time * factor for time in times)
    ax.hist(values[: ceil(0.99 * len(values))], bins=60, color=BLUE)
    for name, number, colour, look in (
        ("median", median(values), "black", "-"),
        ("mean", fmean(values), RED, "--"),
    ):
        ax.axvline(number, color=colour, linestyle=look, linewidth=2, label=name)
    ax.legend(fontsize=12, frameon=False)
    ax.set_xlabel(f"{unit} a call", fontsize=12)
    ax.set_ylabel("blocks", fontsize=12)
    _plain(ax, "", sides=("left", "bottom"))
    return ax


def plot_pairs(ratios, low, high):
    """Draw the ratio of each round as a dot, and the interval of their median as a band."""
    ax = new_axes(9, 3)
    ax.axhline(1, color=GREY, linewidth=1.5)
    ax.plot(range(1, len(ratios) + 1), ratios, ".", color=BLUE, markersize=4, alpha=0.6)
    ax.axhspan(low, high, color=ORANGE, alpha=0.7, label="95 % interval of the median")
    ordered = sorted(ratios)
    far = len(ordered) // 20  # the farthest five per cent on each side would hide the rest
    ax.set_ylim(min(ordered[far], low, 1) / 1.01, max(ordered[-1 - far], high, 1) * 1.01)
    ax.legend(fontsize=12, frameon=False, loc="lower right", bbox_to_anchor=(1, 1))
    ax.set_xlabel("round", fontsize=12)
    ax.set_ylabel("ratio of its two times", fontsize=12)
    _plain(ax, "", sides=("left", "bottom"))
    return ax


def plot_break_even(costs):
    """Draw the total time over the number of calls.

    `costs` maps a label to (price, time of a call), in seconds; the first is the one that the
    others must overtake. The picture reaches to twice the last crossing, or, where there is
    none, to where the first has cost twice the highest price.
    """
    ax = new_axes(8, 3.5)
    (_, base), *others = costs.values()
    crossings = [price / (base - each) for price, each in others if each < base]
    highest = max(price for price, _ in others)
    calls = 2 * max(crossings, default=highest / base)
    end = max(price + each * calls for price, each in costs.values())
    unit, factor = unit_for(end)
    colours = [BLACK] + [BLUE, RED, ORANGE, GREEN, PURPLE, SKY] * 9
    for (label, (price, each)), colour in zip(costs.items(), colours):
        line = [price * factor, (price + each * calls) * factor]
        ax.plot([0, calls], line, color=colour, linewidth=2, label=label)
    for (price, each), colour in zip(others, colours[1:]):
        if each < base:
            at = price / (base - each)
            ax.plot(at, at * base * factor, "o", color=colour, markersize=9)
    ax.set_xlim(0, calls)
    ax.set_ylim(0)
    ax.legend(fontsize=12, frameon=False)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.set_xlabel("calls", fontsize=12)
    ax.set_ylabel(f"total time in {unit}", fontsize=12)
    _plain(ax, "", sides=("left", "bottom"))
    return ax


def plot_comparison(comparison):
    """Draw each candidate's speed-up with its 95 % interval, the baseline's time being 1.

    The grey band is what no verdict rests on: the noise floor and the smallest effect. An
    interval that touches the band is no clear difference. The axis is logarithmic: twice as
    fast lies as far out as twice as slow.
    """
    results = [r for r in comparison if r.label != comparison.baseline]
    ax = new_axes(8, 1.2 + 0.55 * len(results))
    farthest = _farthest(
        [r.speedup for r in results], [b for r in results for b in (r.low, r.high)]
    )
    edge = min(comparison.grey_zone, 1e6)  # no bounds at all where rounds are too few
    ax.axvspan(1 / edge, edge, color="#EEEEEE", linewidth=0)
    ax.axvline(1, color=GREY, linewidth=1.5)
    for row, r in enumerate(results):
        low, high = max(r.low, 1 / farthest), min(r.high, farthest)
        colour = COLOUR_OF[r.verdict]
        ax.plot([low, high], [row, row], color=colour, linewidth=3, solid_capstyle="butt")
        ax.plot(r.speedup, row, "o", color=colour, markersize=9)
        ax.annotate(
            f"{r.speedup:.2f}  {r.verdict}",
            xy=(1, row),
            xycoords=("axes fraction", "data"),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            fontsize=12,
            color=colour,
        )
    _ratio_axis(ax, ax.xaxis, farthest)
    ax.set_yticks(range(len(results)), [r.label for r in results])
    ax.set_ylim(len(results) - 0.5, -0.5)
    label = f"\u2190 slower      speed-up over {comparison.baseline}      faster \u2192"
    ax.set_xlabel(label, fontsize=12)
    _plain(ax, "")
    return ax


def plot_sweep(sweep):
    """Draw each candidate's speed-up over the size, with its interval as a band.

    Dots are filled where the verdict is clear. A dotted line marks where a candidate becomes
    faster than the baseline, or slower.
    """
    ax = new_axes(8, 4.5)
    sizes = sorted(sweep.comparisons)
    results = {label: [sweep[n][label] for n in sizes] for label in sweep.labels}
    everything = [r for column in results.values() for r in column]
    farthest = _farthest(
        [r.speedup for r in everything], [b for r in everything for b in (r.low, r.high)]
    )
    ax.axhline(1, color=GREY, linewidth=1.5)
    ax.set_xscale("log", base=2)
    colours = dict(zip(results, [BLUE, ORANGE, GREEN, RED, PURPLE, SKY, BLACK] * 9))
    for label, column in results.items():
        low = [max(r.low, 1 / farthest) for r in column]
        high = [min(r.high, farthest) for r in column]
        speedup = [r.speedup for r in column]
        filled = [r.verdict != "no clear difference" for r in column]
        faces = [colours[label] if clear else "white" for clear in filled]
        ax.fill_between(sizes, low, high, color=colours[label], alpha=0.25, linewidth=0)
        ax.plot(sizes, speedup, color=colours[label], linewidth=2, label=label)
        ax.scatter(sizes, speedup, s=45, c=faces, edgecolors=colours[label], zorder=3)
    for crossing in sweep.crossings():
        colour = colours[crossing.label]
        ax.axvline(crossing.at, color=colour, linewidth=1.5, linestyle=":")
        ax.annotate(
            crossing.about,
            xy=(crossing.at, 0),
            xycoords=("data", "axes fraction"),
            xytext=(4, 4),
            textcoords="offset points",
            fontsize=12,
            color=colour,
        )
    _ratio_axis(ax, ax.yaxis, farthest)
    ax.set_xticks(sizes, [f"{n:.15g}" for n in sizes])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("size", fontsize=12)
    ax.set_ylabel(f"speed-up over {next(iter(sweep)).baseline}", fontsize=12)
    ax.legend(fontsize=12, frameon=False)
    _plain(ax, "")
    return ax


def _farthest(ratios, bounds=()):
    """How far out, as a ratio, the axis must reach to show what is finite."""
    shown = [*ratios, *[bound for bound in bounds if 0 < bound < float("inf")]]
    return 1.1 * max(1.1, *shown, *[1 / value for value in shown])


def _ratio_axis(ax, axis, farthest):
    """A logarithmic axis for ratios, as far to the one side of 1 as to the other."""
    ticks = [1]
    for ratio in RATIOS:  # outwards, leaving out what would run into the one before
        if ratio < farthest and log(ratio / ticks[-1]) > 0.2 * log(farthest):
            ticks.append(ratio)
    ticks = [1 / tick for tick in ticks[:0:-1]] + ticks
    name = axis.axis_name
    ax.set(**{f"{name}scale": "log", f"{name}lim": (1 / farthest, farthest)})
    axis.set_ticks(ticks, [f"{tick:.2g}" if tick < 1 else f"{tick:g}" for tick in ticks])
    axis.set_minor_locator(NullLocator())
