"""The table, and the page that a student gets back."""

import html
import string

from ..files import write

LONGEST = 20_000  # characters of an answer that are shown
WORDS = {
    "en": {
        "marks": "Marks: {}",
        "right": "Right: {} of {}.",
        "verdict": {},
        "answer": "What you handed in",
        "unchanged": "The cells are as the course has them, or were deleted.",
        "printed": "What it printed",
        "solution": "A solution",
    },
    "zh": {
        "marks": "成绩：{}",
        "right": "{1}道练习，答对了{0}道。",
        "verdict": {
            "right": "right（答对了）",
            "not right": "not right（没有答对）",
            "not yet": "not yet（还没有作答）",
            "error": "error（出错）",
            "time": "time（超时）",
            "not judged": "not judged（没有评判）",
        },
        "answer": "你提交的答案",
        "unchanged": "这些单元格没有改动，或者已被删除。",
        "printed": "输出",
        "solution": "一种解答",
    },
}

PAGE = string.Template("""<!DOCTYPE html>
<html lang="$language"><head><meta charset="utf-8"><title>$title</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<style>
:root { color-scheme: light dark; --good: #0b6e2d; --bad: #a12020; --soft: #eee; }
@media (prefers-color-scheme: dark) { :root { --good: #7ddf9b; --bad: #ff9d94; --soft: #2a2a2a; } }
body { font: 1rem/1.5 sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
pre { background: var(--soft); padding: .5rem; overflow-x: auto; white-space: pre-wrap; }
p { overflow-wrap: anywhere; }
table { border-spacing: 0; display: block; overflow: auto; max-height: 90vh; }
td, th { border: solid #888; border-width: 0 1px 1px 0; padding: .1rem .4rem; }
td, th { text-align: left; white-space: nowrap; }
th, td:first-child { position: sticky; background: Canvas; } th { top: 0; }
th:first-child, td:first-child { left: 0; } th:first-child { z-index: 1; }
td a { color: inherit; }
.right { color: var(--good); } .not-right, .error, .time { color: var(--bad); }
</style></head><body><h1>$title</h1>
$body
</body></html>
""")


def save(path, page):
    write(path, page.encode("utf-8", "replace"))  # a notebook may hold half a character


def escaped(text):
    shown = (one if one.isprintable() or one in "\n\t" else "\ufffd" for one in str(text))
    return html.escape("".join(shown))


def not_a_formula(text):
    """A text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def folded(title, text):
    return (
        f"<details><summary>{title}</summary><pre>{escaped(text)}</pre></details>" if text else ""
    )


def verdict_line(result, words):
    """A verdict, and what the check said beside it."""
    verdict, said = result["verdict"], result["said"]
    shown = words["verdict"].get(verdict, verdict)
    line = f'<p><strong class="{verdict.replace(" ", "-")}">{shown}</strong></p>'
    return line if said == verdict else f"{line}<pre>{escaped(said)}</pre>"


def answer_of(work, number):
    """The student's cells of an exercise that are not as the course has them."""
    cells = [one.strip() for one in work.cells.get(number, ())]
    text = "\n\n\n".join(one for one in cells if one not in work.lesson.texts)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n[...]"


def table_page(rows, students, columns, results, left_out):
    """The table, and below it what was handed in, and what each answer printed."""
    head = "".join(f"<th>{escaped(one)}</th>" for one in rows[0][:-1])
    body, below = [f"<table><tr>{head}</tr>"], [f"<p>{escaped(line)}</p>" for line in left_out]
    for place, (name, right, *verdicts, notes) in enumerate(rows[1:]):
        body.append(f'<tr><td><a href="#s{place}">{escaped(name)}</a></td><td>{right}</td>')
        for (lesson, number), one in zip(columns, verdicts, strict=True):
            link = f'<a href="#s{place}-{lesson.number}.{number}">{one}</a>'
            body.append(f'<td class="{one.replace(" ", "-")}">{link}</td>')
        below.append(f'<h2 id="s{place}">{escaped(name)}</h2><p>{escaped(notes)}</p>')
        for lesson, number in columns:
            if result := results.get((name, lesson.name, number)):
                title = f"{lesson.number}.{number}"
                below.append(f'<h3 id="s{place}-{title}">{title}</h3>')
                below.append(verdict_line(result, WORDS["en"]))
                below.append(folded("answer", answer_of(students[name][lesson.name], number)))
                below.append(folded("printed", result.get("printed", "").strip()))
    counts = [verdicts.count("right") for verdicts in list(zip(*rows[1:], strict=True))[2:-1]]
    body.append(f"<tr><td>right</td><td></td>{''.join(f'<td>{one}</td>' for one in counts)}</tr>")
    body = "\n".join([*body, "</table>", *below])
    return PAGE.substitute(language="en", title="Marks", body=body)


def page_for(name, its, columns, results):
    """What one student gets back."""
    language = next((work.language for work in its.values() if not work.damage), "en")
    words = WORDS.get(language, WORDS["en"])
    verdicts = [own["verdict"] for (whose, *_), own in results.items() if whose == name]
    body = [f"<p>{words['right'].format(verdicts.count('right'), len(verdicts))}</p>"]
    title = words["marks"].format(name)
    for lesson, number in columns:
        if not (result := results.get((name, lesson.name, number))):
            continue
        work, exercise = its[lesson.name], lesson.exercises[number]
        if number == min(lesson.exercises):
            body.append(
                f"<h2>{escaped(lesson.titles.get(work.language, lesson.titles['en']))}</h2>"
            )
        body.append(f"<h3>{escaped(exercise.titles[work.language])}</h3>")
        body.append(verdict_line(result, words))
        answer = answer_of(work, number)
        body.append(f"<p>{words['answer']}</p><pre>{escaped(answer)}</pre>" if answer else "")
        body.append("" if answer else f"<p>{words['unchanged']}</p>")
        body.append(folded(words["printed"], result.get("printed", "").strip()))
        body.append(folded(words["solution"], "\n\n\n".join(exercise.solution)))
    return PAGE.substitute(language=language, title=escaped(title), body="\n".join(body))
