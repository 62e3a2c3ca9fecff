"""Pictures of cells in a row: places in memory, or the lanes of a register."""

from collections.abc import Sequence
from itertools import groupby

from .drawing import Drawing, pale, width_of
from .style import BLUE, GRAY, ORANGE, PURPLE, SKY, colors_of, joined

WIDTH, ROW, HIGH = 640, 32, 24  # pixels: of a row with its title, from row to row, of a cell


def plot_cells(rows: dict[str, Sequence[str]]) -> Drawing:
    """Draw rows of cells that share a width of 640 pixels; `rows` maps a title to labels.

    Cells whose labels begin with the same letter have the same color. A label is written if it has
    room; if neighboring cells of one color have no room for theirs, they are drawn as one, with
    their letter as the label.
    """
    letters = {label[0]: None for cells in rows.values() for label in cells}
    colors = colors_of(letters, (BLUE, ORANGE, PURPLE, SKY, GRAY))
    picture, left, alt = Drawing("Cells"), max(width_of(title, 12) for title in rows) + 8, []
    for row, (title, cells) in enumerate(rows.items()):
        runs = [list(run) for _, run in groupby(cells, lambda label: label[0])]
        alt.append(f"{title}: {len(cells)} cells in {len(runs)} runs")
        wide = (WIDTH - left) / len(cells)
        if wide >= max(width_of(label, 12) for label in cells) + 6:
            runs = [[label] for label in cells]
        x, y = left, row * ROW
        picture.text(left - 8, y, title, 12, "end")
        for run in runs:
            label, width = run[0] if len(run) == 1 else run[0][0], wide * len(run)
            has_room = width >= width_of(label, 12) + 6
            look = pale(colors[label[0]]) if has_room else dict(fill=colors[label[0]])
            picture.rect(x, y - HIGH / 2, width, HIGH, **look)
            if has_room:
                picture.text(x + width / 2, y, label, 12, "middle")
            x += width
    return picture.show(f"Rows of cells, colored by {joined(letters)}. {joined(alt)}.")
