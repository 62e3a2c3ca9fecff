"""What results/ holds, and the figures that README takes from there."""

import json
import re

import pytest
from notebook_rules import ROOT

from benchmarks import results
from benchmarks.results import FIELDS, RESULTS
from d2lhybrid.benchmark.timing import Measurement

FILES = sorted(RESULTS.glob("*.json"))
README = (ROOT / "README.md").read_text("utf-8")
VERDICTS = {"faster", "slower", "equivalent", "inconclusive"}
ROWS = {  # README's words -> the way in the results
    "JAX, `jit`, with `jax.nn.relu`": "JAX, jit",
    "the compiler that you write in notebook 13": "our compiler, hybridize",
    "PyTorch, TorchScript": "PyTorch, TorchScript",
    "PyTorch, `torch.compile`": "PyTorch, torch.compile",
    "PaddlePaddle, `to_static`": "Paddle, from source",
}


def load(name):
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))


def in_digits(number):
    return f"{number:.3g}" if number >= 1 else f"{number:.2f}"


def test_readmes_figures_are_those_of_a_stored_result():
    stored = load("epyc_avx512_4_cores_frameworks")
    for words, way in ROWS.items():
        one = stored["sizes"]["1"][way]
        speedup, low, high = map(in_digits, (one["speedup"], one["low"], one["high"]))
        assert f"| {words} | {speedup} | {low} to {high} |" in README
    assert stored["machine"]["date"].startswith("2026-11-23")
    assert "23 November 2026" in README
    assert stored["machine"]["processor"] in README
    assert stored["processes"] == 11
    second = load("intel_amx_2_cores_frameworks")
    ways = {**ROWS, "JAX, `jit`, with `jax.nn.relu`": "JAX with nn.relu, jit"}.values()
    *first, last = [in_digits(second["sizes"]["1"][way]["speedup"]) for way in ways]
    assert f"the same: {', '.join(first)} and {last} times as fast" in README
    assert (second["machine"]["date"][:10], second["processes"]) == ("2026-11-25", 11)
    assert "On an Intel Xeon with AMX, on 25 November 2026" in README
    many = load("epyc_avx512_4_cores_batches")["sizes"]["1024"]
    assert {many[way]["verdict"] for way in ("TorchScript", "torch.compile")} == {"inconclusive"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_result_says_where_it_was_made_and_is_whole(path):
    stored = json.loads(path.read_text("utf-8"))
    assert {"date", "system", "processor", "threads", "versions"} <= {*stored["machine"]}
    assert path.stat().st_size < 30_000
    for ways in stored["sizes"].values():
        for one in ways.values():
            assert {*one} == {"over", *FIELDS}
            assert one["over"] in ways
            assert one["verdict"] in VERDICTS
            assert one["median"] > 0
            assert one["low"] <= one["speedup"] <= one["high"]


def test_a_summary_compares_with_the_eager_way_of_the_same_framework(tmp_path, monkeypatch):
    times = {"PyTorch, eager": 4.0, "JAX, eager": 8.0, "JAX, jit": 2.0, "NumPy": 1.0}
    timings = {k: vars(Measurement((t,) * 9, (t,) * 9, 1, ())) for k, t in times.items()}
    machine = {"date": "2026-11-23", "load": [1.0, 1.0], "notes": []}
    comparison = {"baseline": "PyTorch, eager", "processes": [timings], "machine": machine}
    comparison |= {"min_effect": 0.01, "duration": 1.0, "complete": True}
    written = tmp_path / "written.json"
    written.write_text(json.dumps({"comparison": comparison}))
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    results.store(written, "made")
    made = json.loads((tmp_path / "made.json").read_text())
    assert made["machine"] == {"date": "2026-11-23"}
    speedups = {k: (v["over"], v["speedup"]) for k, v in made["sizes"]["1"].items()}
    assert speedups == {
        "PyTorch, eager": ("PyTorch, eager", 1.0),
        "JAX, eager": ("PyTorch, eager", 0.5),
        "JAX, jit": ("JAX, eager", 4.0),
        "NumPy": ("PyTorch, eager", 4.0),
    }


def test_notebooks_quote_a_stored_prediction():
    stored = (RESULTS / "epyc_avx2_2_cores_limits.txt").read_text("utf-8").splitlines()
    cells = json.loads((ROOT / "notebooks/18_side_by_side.ipynb").read_text("utf-8"))["cells"]
    answer = next("".join(cell["source"]) for cell in cells if cell["id"] == "answer-01")
    quoted = [line.split(" | ")[2:] for line in answer.splitlines() if line.startswith("| ")][2:]
    assert len(quoted) == 5
    for figures in quoted:
        figures = [figure.removesuffix(" |") for figure in figures]
        assert any(all(f" {figure}" in line for figure in figures) for line in stored), figures
    ratios = [
        float(one) for one in re.findall(r"s +([\d.]+) +[\d.]+ +[\d.]+ \(", "\n".join(stored))
    ]
    near = sum(1 / 1.3 <= ratio <= 1.3 for ratio in ratios)
    text = (ROOT / "notebooks/12_three_limits.ipynb").read_text("utf-8")
    assert f"{near} of {len(ratios)} programs" in text


def test_the_list_of_one_programs_figures_is_that_of_the_stored_outputs(monkeypatch, capsys):
    cells = json.loads((ROOT / "notebooks/18_side_by_side.ipynb").read_text("utf-8"))["cells"]
    cells = {cell["id"]: cell for cell in cells}
    monkeypatch.chdir(ROOT / "notebooks")
    names = {"one_row": {}}
    for name in ("18-stored", "18-list"):
        exec("".join(cells[name]["source"]), names)
    found = capsys.readouterr().out
    listed = "".join(cells["18-list"]["outputs"][0]["text"])
    again = "refresh notebook 18 once more: figures have changed that it lists"
    assert listed.startswith(found), again
    now = re.findall("this machine: (.+), just now: (.+) µs", listed)
    table = "".join(cells["f35f578a"]["outputs"][0]["data"]["text/plain"])
    assert len(now) == 3
    for label, figure in now:
        (stored,) = re.findall(rf"(?m)^{label} +([\d.]+) µs", table)
        assert abs(float(figure) - float(stored)) < 0.06, label
    assert "nothing stored" not in found
    (readme,) = re.findall(
        r"README has ([\d.]+ µs) for JAX", "".join(cells["18-suspects"]["source"])
    )
    one = load("epyc_avx512_4_cores_frameworks")["sizes"]["1"]["JAX, jit"]["median"]
    assert readme == f"{one * 1e6:.1f} µs"
