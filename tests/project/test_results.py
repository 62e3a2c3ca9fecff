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
ROWS = {  # README's words -> the way in the results, and what it is compared with
    "**the compiler of notebook 13**": ("our compiler, hybridize", "PyTorch, eager"),
    "JAX, `jit`": ("JAX, jit", "JAX, eager"),
    "MXNet, `hybridize`, static": ("MXNet, static", "MXNet, eager"),
    "PyTorch, TorchScript": ("PyTorch, TorchScript", "PyTorch, eager"),
    "TensorFlow, `tf.function`": ("TensorFlow, tf.function", "TensorFlow, eager"),
    "PyTorch, `torch.compile`": ("PyTorch, torch.compile", "PyTorch, eager"),
    "PaddlePaddle, `to_static`": ("Paddle, from source", "Paddle, eager"),
}
NUMPY = "NumPy, three products"


def load(name):
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))


def in_digits(number):
    return f"{number:.3g}" if number >= 1 else f"{number:.2f}"


def test_readmes_figures_are_those_of_a_stored_result():
    stored = load("epyc_avx512_4_cores_frameworks")
    one_row = stored["sizes"]["1"]
    for words, (way, over) in ROWS.items():
        one = one_row[way]
        before, after = (in_digits(one_row[it]["median"] * 1e6) for it in (over, way))
        speedup, low, high = map(in_digits, (one["speedup"], one["low"], one["high"]))
        row = f"| {words} | {before} µs | {after} µs | {speedup} ({low} to {high}) |"
        assert row in README.replace("**6.8 µs**", "6.83 µs")
    assert f"without a compiler* | {in_digits(one_row[NUMPY]['median'] * 1e6)} µs |" in README
    assert stored["machine"]["date"].startswith("2026-11-23")
    assert "November 23, 2026" in README
    assert stored["machine"]["processor"] in README
    assert stored["processes"] == 11
    second = load("intel_amx_2_cores_frameworks")
    assert (second["machine"]["date"][:10], second["processes"]) == ("2026-11-25", 11)
    assert "On November 25, 2026, an Intel Xeon with AMX ranked the compiled programs in" in README
    orders = [
        sorted((way for way, _ in ROWS.values()), key=lambda way: data["sizes"]["1"][way]["median"])
        for data in (stored, second)
    ]
    assert orders[0] == orders[1]
    fastest = [one_row[way]["median"] for way, _ in list(ROWS.values())[1:]]
    assert one_row[NUMPY]["median"] < min(fastest)
    many = load("epyc_avx512_4_cores_batches")["sizes"]["1024"]
    assert {many[way]["verdict"] for way in ("TorchScript", "torch.compile")} == {"inconclusive"}
    assert all(1.9 < many[way]["low"] < 2.3 for way in ("JAX", "ONNX Runtime", "hybridize"))


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
    assert f"{near} of the {len(ratios)} programs" in text


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
        r"In the README, JAX took ([\d.]+ µs) on", "".join(cells["18-suspects"]["source"])
    )
    one = load("epyc_avx512_4_cores_frameworks")["sizes"]["1"]["JAX, jit"]["median"]
    assert readme == f"{one * 1e6:.1f} µs"
