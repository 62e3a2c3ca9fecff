"""The pages of what was measured: the results of each machine, and the answer, with its figures."""

import datetime
import json
import re

from . import manifest, site_gpu
from .files import ROOT
from .site_chart import Row, chart, seconds

RESULTS = ROOT / "results"
LIMITS = "epyc_avx2_2_cores_limits.txt"
OURS = "our compiler"
FRAMEWORKS = {"eager": "PyTorch", "TorchScript": "PyTorch", "torch.compile": "PyTorch"}
FRAMEWORKS |= {"with CUDA graphs": "PyTorch"}
FRAMEWORKS |= {"hybridize": OURS, "the same C": OURS, "limit: read the weights": OURS}


def stored():
    """Name of a file -> what it holds."""
    found = sorted(RESULTS.glob("*.json"), reverse=True)  # frameworks before batches
    return {path.stem: json.loads(path.read_text("utf-8")) for path in found}


def on(one, name, said):
    """The machine, with what its file's name says of it, and the day."""
    machine, special = one["machine"], re.search("avx512|avx2|amx", name)
    processor = re.sub(r"\(R\)| Processor", "", machine["processor"])
    if special:
        processor += f" ({special[0].upper().replace('AVX5', 'AVX-5')})"
    cores = re.search(r"(\d+)_cores", name)
    date = datetime.date.fromisoformat(machine["date"][:10])
    cores = cores[1] if cores else machine["cores"]  # a process has one of them
    return said["results"]["on"].format(processor=processor, cores=cores, date=day(date, said))


def day(date, said):
    return said["results"]["day"].format(date)


def results(folder, language, said):
    """What results/ holds: a chart for each machine and size, the newest machine first."""
    words, machines = said["results"], {}
    for name, one in stored().items():
        machines.setdefault(re.match(r"(.*_cores|.*)", name)[0], {})[name] = one

    def newest(machine):
        return max(one["machine"]["date"] for one in machines[machine].values())

    parts, rows = [], []
    for machine in sorted(machines, key=newest, reverse=True):
        where = on(next(iter(machines[machine].values())), machine, said)
        parts.append(f"({machine})=\n## {where}")
        for name, one in machines[machine].items():
            kind = "frameworks" if name.endswith("frameworks") else "batches"
            address = f"https://github.com/{manifest.repository()}/blob/main/results/{name}.json"
            facts = one["machine"] | {
                "processes": one["processes"],
                "file": f"[{name}.json]({address})",
            }
            facts["versions"] = ", ".join(map(" ".join, one["machine"]["versions"].items()))
            title, about = words[kind]
            parts += [f"({name})=\n### {title}", about.strip().format(**facts)]
            for size, ways in one["sizes"].items():
                data, first = {"machine": where, "rows": size}, next(iter(one["sizes"].values()))
                built = {w for w in first if ways is not first and is_built(first[w])}
                rows += (found := [row(way, ways, data, said, way in built) for way in ways])
                parts += [f"#### {words['size'].format(size)}"] * (len(one["sizes"]) > 1)
                parts.append(chart(words["columns"], found, two=False))
    on_gpu, more = site_gpu.section(said, row)
    head = [f"# {said['after']['results'][0]}", words["cpu"], words["about"].strip()]
    return "\n\n".join([*head, filters(rows + more, words), *parts, *on_gpu, ""])


def is_built(one):
    """Whether a program was built here: what takes less than 5 ms is its first call."""
    return (one["build_cost"] or 0) > 0.005


def row(way, ways, data, said, built=False):
    """A row of a chart of results: a way to run the network, and how it did.

    What is no program, but a limit, has no verdict. `built` says that it had been built before, for
    another batch size.
    """
    one, words = ways[way], said["results"]
    head = re.split(", | on | with ", way)[0]
    data = data | {"framework": FRAMEWORKS.get(head, head)}
    if one["over"] == way:
        return Row(way, one["median"], more=((words["baseline"], ""), ("", "")), data=data)
    before = ways[one["over"]]["median"]
    note = f"○ {seconds(before)}: {one['over']}"
    ratio = words["ratio"].format(digits(one["speedup"]))
    ends = digits(one["low"]), digits(one["high"])
    if re.search(r"\blimit: ", way):
        more = (ratio, said["answer"]["interval"].format(*ends)), ("", "")
        return Row(way, one["median"], None, "limit", note, more, data)
    verdict = said.get("verdicts", {}).get(one["verdict"], one["verdict"])
    cost = seconds(one["build_cost"]) if one["build_cost"] else ""
    calls = one["break_even"] and float(f"{one['break_even']:.2g}")
    pays = words["pays"].format(round(calls)) if calls else ""
    if built and not is_built(one):
        cost, pays = words["built"], ""
    more = (ratio, words["interval"].format(*ends, verdict)), (cost, pays)
    return Row(way, one["median"], before, one["verdict"], note, more, data)


def digits(number):
    """A ratio as README writes it: 12.9, 3.84 or 0.60."""
    return f"{number:.{2 if number < 10 else 1}f}"


def filters(rows, words):
    """The form by which pages/static/results.js chooses rows; without that it stays hidden."""
    fields = []
    for key, label in words["filters"].items():
        values = dict.fromkeys(row.data[key] for row in rows)
        values = sorted(values, key=int) if key == "rows" else values
        options = "".join(f"<option>{one}</option>" for one in values)
        options = f'<option value="">{words["all"]}</option>{options}'
        fields.append(f'<label>{label} <select name="{key}">{options}</select></label>')
    fields.append(f'<output data-words="{words["shown"]}" data-none="{words["none"]}"></output>')
    lines = ['<form class="filters" autocomplete="off" hidden>', *fields, "</form>"]
    return "\n".join([*lines, '<script src="_static/results.js"></script>'])


def limits():
    """What `limits` predicted, and then was measured: name of a program -> a dict; and the machine.

    The time when compiled is that before, by the speed-up.
    """
    text, found = (RESULTS / LIMITS).read_text("utf-8"), {}
    figures = r"([\d.]+) ([µm]s) +[\d.]+ +[\d.]+ +([\d.]+) \(([\d.]+) to ([\d.]+)\)$"
    for line in re.findall(rf"(?m)^(.+?)  +\d+  +(\w+)  .*[µm]s +{figures}", text):
        name, limit, number, unit, *speed = line
        before = float(number) * {"µs": 1e-6, "ms": 1e-3}[unit]
        found[name] = {"limit": limit, "before": before, "time": before / float(speed[0])}
        found[name]["speed"] = speed
    machine = re.search(
        r"measured on: (?P<processor>.+), (?P<cores>\d) cores.* (?P<date>\S+)$", text, re.MULTILINE
    )
    return found, machine.groupdict()


def answer(folder, language, said):
    """The answer on half a page, with a chart of some programs, and figures of results/."""
    words, (programs, machine) = said["answer"], limits()
    rows, told = [], []
    for name, shown in words["programs"].items():
        one = programs[name]
        ratio, low, high = one["speed"]
        verdict = "faster" if float(low) > 1 else "slower" if float(high) < 1 else ""
        speed = said["results"]["ratio"].format(ratio), words["interval"].format(low, high)
        limit = words["limits"][one["limit"]]
        rows.append(Row(shown, one["time"], one["before"], verdict, limit, (speed,)))
        told.append({key: seconds(one[key]) for key in ("before", "time")})
    date = day(datetime.date.fromisoformat(machine.pop("date")), said)
    facts = {"on": said["results"]["on"].format(**machine, date=date), "p": told}
    facts["file"] = f"https://github.com/{manifest.repository()}/blob/main/results/{LIMITS}"
    facts["count"] = len(programs)
    parts = [f"# {said['before']['answer'][0]}", said["results"]["cpu"]]
    parts += [words["text"].strip().format(**facts), chart(words["columns"], rows)]
    parts += [words["note"].format(**facts), said["gpu"]["answer"].format(**site_gpu.facts(said))]
    parts += [words["rest"].strip(), ""]
    return "\n\n".join(parts)
