"""The picture that a link to the pages shows elsewhere: the question, and README's times.

    .venv/bin/python -m pages.card

writes static/card.png, 1200 by 630 pixels, which is stored; run it when README's table changes.
"""

import re
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.patheffects import withStroke
from matplotlib.ticker import NullLocator

from tools import site, site_landing, site_results

FILE = Path(__file__).parent / "static" / "card.png"
COVER = Path(__file__).with_name("cover.css").read_text("utf-8")
COLORS = dict(re.findall(r"--pst-color-([\w-]+): (#\w+)", COVER))
INK, MUTED = COLORS["text-base"], COLORS["text-muted"]
ABOUT = "Write the compiler yourself, and measure. A call of a small network, one CPU thread:"
NUMPY, NAMES = "NumPy, three products", site.words()["en"]["landing"]["names"]
ROWS = [way for way in site_landing.WAYS if way != NUMPY]


def card():
    """The figure: for each row, the time of a call in µs, and that of a compiled one."""
    found = site_results.stored()[site_landing.CHART]["sizes"]["1"]
    micros = {name: one["median"] * 1e6 for name, one in found.items()}
    figure, ax = plt.subplots(figsize=(12, 6.3), dpi=100, facecolor="white")
    figure.subplots_adjust(left=0.27, right=0.965, top=0.66, bottom=0.07)
    figure.text(0.035, 0.87, "Does compiling help?", fontsize=50, weight="bold", color=INK)
    figure.text(0.036, 0.785, ABOUT, fontsize=19, color=MUTED)
    for y, name in enumerate(ROWS):
        before, after = micros[found[name]["over"]], micros[name]
        colors = {"faster": COLORS["success"], "slower": COLORS["danger"]}
        color = colors.get(found[name]["verdict"], INK)
        ax.plot([before, after], [y, y], color=color, linewidth=5)
        for at, fill in ((before, "white"), (after, color)):
            ax.plot(at, y, "o", markersize=13, color=color, markerfacecolor=fill, mew=3)
        side = 14 if after > before else -14
        options = dict(color=color, fontsize=17, weight="bold", va="center")
        options["path_effects"] = [withStroke(linewidth=5, foreground="white")]
        options |= dict(ha="left" if side > 0 else "right", textcoords="offset points")
        ax.annotate(f"{after:.3g}", (after, y), (side, 0), **options)
    numpy = micros[NUMPY]
    ax.axvline(numpy, color=MUTED, linestyle="--", linewidth=2, zorder=0)
    ax.text(numpy, -0.9, f"NumPy, {numpy:.3g}", ha="center", fontsize=16, color=MUTED)
    for fill, label in (("white", "uncompiled"), (INK, "compiled")):
        ax.plot([], [], "o", color=INK, markersize=12, markerfacecolor=fill, mew=2.5, label=label)
    place = dict(loc="lower left", bbox_to_anchor=(0.42, 0.98), ncols=2, handletextpad=0.1)
    ax.legend(**place, frameon=False, fontsize=17)
    ax.set(xscale="log", xlim=(4.2, 520), ylim=(len(ROWS) - 0.4, -0.6))
    ax.set_yticks(range(len(ROWS)), [NAMES.get(way, way) for way in ROWS], fontsize=18)
    ticks = (5, 10, 20, 50, 100, 200, 500)
    ax.set_xticks(ticks, [*ticks[:-1], "500 µs"], fontsize=16)
    ax.xaxis.set_minor_locator(NullLocator())
    ax.tick_params(axis="y", length=0, pad=12)
    ax.spines[["top", "right", "left"]].set_visible(False)
    return figure


if __name__ == "__main__":
    card().savefig(FILE, metadata={"Software": None})
