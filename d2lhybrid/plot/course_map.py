"""A map of the course: the line of your compiler, that of all others, and where they meet.

course.toml has what is on it. A notebook's `line` is "yours", "theirs" or "both". Its station has
the name of its title, unless `stations` says otherwise; `like` names the stations of your line that
a compiler of the other line has, too.
"""

from ..course_data import course_data, notebooks_of
from .drawing import HIGH, TITLE, Drawing, pale
from .style import BLUE, GRAY, ORANGE, joined

X = {"yours": 0, "theirs": 160}  # pixels: where the lines run
COLORS = {"yours": BLUE, "theirs": ORANGE}
ROW, DOT = 40, 7  # from station to station, and the radius of one


def plot_course_map(language: str = "en") -> Drawing:
    """Draw the course as two lines from top to bottom, in the words of a language of course.toml.

    A station is a disk, or a ring where its notebook is optional; a notebook about both lines is a
    box across them. None stands above an earlier notebook's.
    """
    data, picture = course_data(), Drawing("Map of the course")
    entries = [entry for entry in notebooks_of(data) if "line" in entry]
    named = [entry["stations"] for entry in entries if "stations" in entry]
    names = {k: v for one in named for k, v in zip(one["en"], one[language], strict=True)}
    ends, said, y = {}, {line: [] for line in X}, 0  # ends: how far each line is drawn
    for entry in entries:
        lines = [line for line in X if entry["line"] in (line, "both")]
        title = {language: [entry["title"][language]]}
        for name in entry.get("stations", title)[language]:
            y = max([y, *(ends[line] + ROW for line in lines if line in ends)])
            label, half = f"{entry['name'][:2]} {name}", HIGH / 2 if lines[1:] else DOT
            for line in lines:
                if line in ends:
                    points = (X[line], ends[line] + DOT), (X[line], y - half)
                    picture.line(*points, stroke=COLORS[line], stroke_width=4)
                ends[line] = y + half - DOT
                said[line].append(label)
            if lines[1:]:
                width = X["theirs"] + 2 * HIGH
                picture.rect(-HIGH, y - half, width, HIGH, rx=half, **pale(GRAY))
                picture.text(X["theirs"] / 2, y, label, anchor="middle")
                continue
            x, color = X[lines[0]], COLORS[lines[0]]
            look = dict(fill="none" if "optional" in entry else color, stroke=color, stroke_width=3)
            picture.rect(x - DOT, y - DOT, 2 * DOT, 2 * DOT, rx=DOT, ry=DOT, **look)
            picture.text(x + 2.5 * DOT, y, label)
            like = " \u2192 ".join(names[one] for one in entry.get("like", []))
            picture.text(x + 2.5 * DOT, y + 15, like, 11)
    for line, x in X.items():
        picture.text(x - DOT, -4 * DOT, data["map"][line][language], **TITLE)
    lines = [f"{data['map'][line][language]}: {joined(said[line])}." for line in X]
    return picture.show(f"Map of the course, two lines that meet. {' '.join(lines)}")
