"""`Timer`, `Benchmark` and the devices: right, and the same as the book's to those who use them."""

import ast
import importlib.util
import inspect
import re
import sys
import time
import types
from pathlib import Path

import numpy
import pytest
import torch

import d2lhybrid
from d2lhybrid import Benchmark, Timer, d2l


def classes_of_the_book():
    """The book's Timer and Benchmark, out of d2l's source: importing it takes torchvision."""
    folder = importlib.util.find_spec("d2l").submodule_search_locations[0]
    tree = ast.parse((Path(folder) / "torch.py").read_text(encoding="utf-8"))
    wanted = [
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name in ("Timer", "Benchmark")
    ]
    book = types.SimpleNamespace()
    namespace = {"time": time, "np": numpy, "d2l": book}
    exec(compile(ast.Module(wanted, []), "d2l/torch.py", "exec"), namespace)
    book.Timer, book.Benchmark = namespace["Timer"], namespace["Benchmark"]
    return book


BOOK = classes_of_the_book()


def test_d2l_itself_is_not_imported():
    assert "d2l.torch" not in sys.modules


def signature(function):
    """Names and defaults of the parameters; the book has no annotations."""
    parameters = inspect.signature(function).parameters.values()
    return [parameter.replace(annotation=parameter.empty) for parameter in parameters]


@pytest.mark.parametrize("name", ["Timer", "Benchmark"])
def test_methods_and_signatures_are_the_books(name):
    theirs, ours = getattr(BOOK, name), getattr(d2l, name)
    methods = [m for m in vars(theirs) if callable(getattr(theirs, m))]
    assert len(methods) >= 3
    for method in methods:
        if method != "__exit__":  # the interpreter calls it, with three arguments
            book = signature(getattr(theirs, method))  # its next edition has more
            assert signature(getattr(ours, method))[: len(book)] == book


@pytest.mark.parametrize("Timer", [BOOK.Timer, Timer])
def test_timer(Timer, monkeypatch):
    clock = iter([10.0, 12.0, 20.0, 23.0, 30.0, 31.0])
    monkeypatch.setattr(time, "time", lambda: next(clock))
    monkeypatch.setattr(d2l, "perf_counter", lambda: next(clock))
    timer = Timer()
    assert timer.times == []
    assert timer.tik == 10.0
    assert timer.stop() == 2.0
    timer.start()
    assert timer.stop() == 3.0
    timer.start()
    assert timer.stop() == 1.0
    assert timer.times == [2.0, 3.0, 1.0]
    assert timer.sum() == 6.0
    assert timer.avg() == 2.0
    assert timer.cumsum() == [2.0, 5.0, 6.0]
    assert type(timer.cumsum()) is list


@pytest.mark.parametrize("Timer", [BOOK.Timer, Timer])
def test_timer_that_was_never_stopped(Timer):
    with pytest.raises(ZeroDivisionError):
        Timer().avg()
    assert (Timer().sum(), Timer().cumsum()) == (0, [])


@pytest.mark.parametrize("Benchmark", [BOOK.Benchmark, Benchmark])
def test_benchmark_prints_the_books_line(Benchmark, monkeypatch, capsys):
    clock = iter([5.0, 5.0323, 7.0, 19.5])
    monkeypatch.setattr(time, "time", lambda: next(clock))
    monkeypatch.setattr(d2l, "perf_counter", lambda: next(clock))
    # A framework that another test has loaded reads the clock while it is waited for.
    monkeypatch.setattr(d2l, "synchronize", lambda: None)
    with Benchmark() as first, Benchmark("Without torchscript"):
        pass
    assert capsys.readouterr().out == "Without torchscript: 1.9677 sec\nDone: 14.5000 sec\n"
    assert first.timer.times == [14.5]


def test_benchmark_prints_no_time_for_a_block_that_raises(capsys):
    with pytest.raises(ZeroDivisionError), Benchmark() as measured:
        1 / 0  # noqa: B018
    assert capsys.readouterr().out == ""
    assert measured.seconds > 0


def test_benchmark_waits_for_the_device_before_both_readings(monkeypatch, capsys):
    seen = []
    monkeypatch.setattr(d2l, "synchronize", lambda: seen.append("wait"))
    monkeypatch.setattr(d2l, "perf_counter", lambda: seen.append("read") or 0.0)
    with Benchmark():
        seen.append("work")
    assert seen == ["wait", "read", "work", "wait", "read"]


def test_benchmark_of_a_function_as_in_the_next_edition(monkeypatch):
    clock, calls = iter([5.0, 5.5]), []
    monkeypatch.setattr(d2l, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(d2l, "synchronize", lambda: calls.append("wait"))
    measured = Benchmark(lambda: calls.append("call"), warmup=2, repeats=5, desc="matmul")
    assert calls == ["call"] * 2 + ["wait"] + ["call"] * 5 + ["wait"]
    assert measured.time == 0.1
    assert str(measured) == "matmul: 100.00 ms/call"
    assert str(Benchmark("a block")) == "a block: not timed"


def test_cells_like_those_of_the_books_chapter_run(capsys):
    device, devices = d2lhybrid.try_gpu(), d2lhybrid.try_all_gpus()
    a, timer = torch.randn(9, 9, device=device), d2lhybrid.Timer()
    for title, count in [("torch", 3), ("Hybridized: ", 1), ("GPU1 & GPU2:", len(devices))]:
        with d2lhybrid.Benchmark(title):
            for _ in range(count):
                b = a @ a
    timer.stop()
    print(d2lhybrid.Benchmark(lambda: b + 1, desc="1 op"), f"{timer.avg():.1f} sec/epoch")
    assert d2lhybrid.num_gpus() < 2 or d2lhybrid.try_gpu(1) in devices
    lines = re.sub(r"\d+\.\d+", "0.1", capsys.readouterr().out).splitlines()
    assert lines[:3] == [f"{title}: 0.1 sec" for title in ("torch", "Hybridized", "GPU1 & GPU2")]
    assert lines[3:] == ["1 op: 0.1 ms/call 0.1 sec/epoch"]


def test_other_names_of_the_chapter_are_in_the_books_package():
    folder = importlib.util.find_spec("d2l").submodule_search_locations[0]
    source = (Path(folder) / "torch.py").read_text(encoding="utf-8")
    for name in d2lhybrid._BOOKS.split():
        assert re.search(rf"(?m)^(def|class|.* as) {name}\b", source), name
        with pytest.raises(AttributeError, match=f"pip install .*from d2l.torch import {name}"):
            d2lhybrid.__getattr__(name)
        assert name not in dir(d2lhybrid)


def test_clock_never_runs_backwards():
    assert d2l.perf_counter is time.perf_counter  # unlike time.time


# Devices. A double plays a machine with GPUs.


def test_devices_are_those_of_the_machine_or_else_the_cpu(monkeypatch):
    for gpus, wanted in [(0, ["cpu"]), (1, ["cuda:0"]), (2, ["cuda:0", "cuda:1"])]:
        monkeypatch.setattr(torch.cuda, "device_count", lambda gpus=gpus: gpus)
        devices = [torch.device(name) for name in wanted]
        assert (d2l.num_gpus(), d2l.try_all_gpus()) == (gpus, devices)
        assert d2l.try_gpu() == devices[0], gpus
        assert d2l.try_gpu(1) == torch.device("cuda:1" if gpus == 2 else "cpu"), gpus
    assert d2l.try_gpu(2) == d2l.cpu() == torch.device("cpu")
    assert d2l.gpu() == torch.device("cuda:0")
    assert d2l.gpu(7) == torch.device("cuda:7")  # it need not be there
