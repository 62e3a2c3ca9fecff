"""`bench --gpu`, as far as a CPU can test it: a dry run, its file, the order of CUDA's calls."""

import ast
import inspect
import io
import json
import math
import os
from contextlib import contextmanager, redirect_stdout
from types import SimpleNamespace

import pytest
import torch
from notebook_rules import ROOT, definitions, text_of

from d2lhybrid import nets
from d2lhybrid.cli import cuda, gpu, gpu_parts
from d2lhybrid.cli.cuda import DryRun, Gpu
from d2lhybrid.cli.main import main
from tools import results

RESULT = {"speedup", "low", "high", "verdict", "median", "price", "break_even"}
TIMES = {
    "queue": {"returned", "done"},
    "copies": {"whole", "products", "copies", "overlap"},
    "copy": {"copy"},
}


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """What a command writes into the environment is gone after the test."""
    monkeypatch.setattr("os.environ", os.environ.copy())


@pytest.fixture(scope="module")
def dry_run(tmp_path_factory):
    """The file of a dry run, and what it printed."""
    file, threads = tmp_path_factory.mktemp("gpu") / "dry.json", torch.get_num_threads()
    torch.set_num_threads(1)
    with redirect_stdout(io.StringIO()) as printed:
        main(["bench", "--gpu", "--dry-run", "--json", str(file)])
    torch.set_num_threads(threads)
    return file, printed.getvalue()


def faults(data):
    """What a file of `bench --gpu` lacks, or has wrong."""
    if {*data} != {"format", "kind", "device", "machine", "left_out", "parts"}:
        return [f"it has {[*data]}"]
    parts, machine = data["parts"], data["machine"]
    about = {"date", "system", "processor", "threads", "versions"}
    about |= {"gpus", "peer_access", "driver", "cuda", "load"}
    found = [f"the machine lacks {name}" for name in about - {*machine}]
    found += ["another format"] * (data["format"] != 1 or data["kind"] != "gpu")
    found += ["two devices"] * (data["device"] != machine["device"])
    if [*parts] != ["launches", "queue", "copies", "two_gpus", "networks"]:
        return [*found, f"the parts are {[*parts]}"]
    pair = parts["two_gpus"] or {"copy": {}, "step": {}}
    tables = {"queue": parts["queue"], "copies": parts["copies"], "copy": pair["copy"]}
    for name, table in tables.items():
        for label, times in (table or {}).items():
            found += [f"{name}, {label}: {[*times]}"] * ({*times} != TIMES[name])
            for time in times.values():
                in_order = 0 <= time["low"] <= time["median"] <= time["high"] < math.inf
                found += [f"{name}, {label}: {time}"] * (not in_order)
    sweeps = [{"": parts["launches"] or {}}, pair["step"], *(parts["networks"] or {}).values()]
    for ways in [ways for sweep in sweeps for ways in sweep.values()]:
        found += [f"{way}: {one}" for way, one in ways.items() if {*one} != RESULT]
        found += [f"{way}: no time" for way, one in ways.items() if not one.get("median", 0) > 0]
    for name, part in parts.items():
        is_told = any(line.startswith(f"{name}:") for line in data["left_out"])
        if part is None and not is_told and (name != "two_gpus" or len(machine["gpus"]) > 1):
            found.append(f"nothing says why there is no {name}")
    return found


def test_a_dry_run_does_every_part_and_says_what_it_is(dry_run):
    file, printed = dry_run
    data = json.loads(file.read_text("utf-8"))
    assert data["left_out"] == []
    assert all(data["parts"].values())
    assert data["device"] == data["machine"]["device"] == "cpu (dry run)"
    assert data["machine"]["gpus"] == []
    assert {*data["parts"]["networks"]} == {*gpu_parts.NETWORKS}
    for sweep in data["parts"]["networks"].values():
        assert [*sweep] == ["1", "4"]
        assert [*sweep["4"]] == ["eager", "torch.compile", "with CUDA graphs"]
    assert printed.startswith(gpu.DRY_RUN)
    for words in ("20 small jobs", "in a queue", "pinned, two streams", "transformer block"):
        assert words in printed
    assert max(map(len, printed.splitlines())) <= 100
    assert file.stat().st_size < 30_000


def test_the_file_of_a_dry_run_and_every_stored_result_keep_the_schema(dry_run):
    files = [dry_run[0], *(results.RESULTS / "gpu").glob("*.json")]
    assert {file.name: faults(json.loads(file.read_text("utf-8"))) for file in files} == {
        file.name: [] for file in files
    }


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda d: d.pop("device"), "it has"),
        (lambda d: d["machine"].pop("driver"), "lacks driver"),
        (lambda d: d.update(format=2), "another format"),
        (lambda d: d.update(device="cuda:0"), "two devices"),
        (lambda d: d["parts"].pop("queue"), "the parts are"),
        (lambda d: d["parts"]["queue"]["1"].pop("done"), "queue, 1"),
        (lambda d: d["parts"]["queue"]["1"]["done"].update(low=1e9), "queue, 1"),
        (lambda d: d["parts"]["launches"]["one by one"].pop("price"), "one by one"),
        (lambda d: d["parts"]["launches"]["one by one"].update(median=0), "no time"),
        (lambda d: d["parts"].update(networks=None), "no networks"),
    ],
)
def test_the_schema_finds_faults(dry_run, change, fault):
    data = json.loads(dry_run[0].read_text("utf-8"))
    change(data)
    assert any(fault in one for one in faults(data))


def test_a_dry_run_is_no_result_and_a_run_on_a_gpu_is_one(dry_run, tmp_path, monkeypatch):
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    with pytest.raises(SystemExit, match="dry run on a CPU, and no result"):
        results.store(dry_run[0], "mine")
    data = json.loads(dry_run[0].read_text("utf-8"))
    data["device"] = "a GPU"  # a name alone does not make it one
    file = tmp_path / "file.json"
    file.write_text(json.dumps(data), "utf-8")
    with pytest.raises(SystemExit, match="no result"):
        results.store(file, "mine")
    assert not (tmp_path / "gpu").exists()
    data["machine"]["gpus"] = [{"name": "a GPU", "memory": 2**34}]
    file.write_text(json.dumps(data), "utf-8")
    results.store(file, "mine")
    assert json.loads((tmp_path / "gpu" / "mine.json").read_text("utf-8")) == data


def test_without_a_gpu_one_sentence_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit) as stop:
        main(["bench", "--gpu", "--json", str(tmp_path / "a.json")])
    assert stop.value.code == 2
    said = capsys.readouterr()
    assert said.err == f"{gpu.NO_GPU}\n"
    assert said.out == ""
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--dry-run"], "--dry-run needs --gpu"),
        (["--gpu", "--dry-run", "--frameworks"], "only --json, --threads and --dry-run"),
        (["--gpu", "--dry-run", "--batch", "8"], "only --json, --threads and --dry-run"),
        (["--gpu", "--dry-run", "--plot", "a.png"], "only --json, --threads and --dry-run"),
    ],
)
def test_options_that_make_no_sense_together(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gpu, "PARTS", ())
    with pytest.raises(SystemExit) as stop:
        main(["bench", *words])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def bench(monkeypatch, capsys, tmp_path, *parts):
    """The file of a dry run of these parts, and what it printed."""
    monkeypatch.setattr(gpu, "PARTS", parts)
    file = tmp_path / "a.json"
    main(["bench", "--gpu", "--dry-run", "--json", str(file)])
    return json.loads(file.read_text("utf-8")), capsys.readouterr().out


def test_a_part_that_fails_leaves_the_others(monkeypatch, capsys, tmp_path):
    def copies(*_):
        raise RuntimeError("no memory\nat all")

    data, printed = bench(monkeypatch, capsys, tmp_path, copies, gpu_parts.queue)
    assert data["left_out"] == ["copies: no memory"]
    assert data["parts"]["copies"] is None
    assert data["parts"]["queue"]
    assert "left out: copies: no memory" in printed
    with pytest.raises(SystemExit) as stop:
        bench(monkeypatch, capsys, tmp_path, copies)
    assert stop.value.code == 1


def test_with_one_gpu_nothing_is_said_of_two(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(DryRun, "count", lambda: 1)
    parts = gpu_parts.two_gpus, gpu_parts.queue
    data, _ = bench(monkeypatch, capsys, tmp_path, *parts)
    assert data["parts"]["two_gpus"] is None
    assert data["left_out"] == []


def options(errors):
    """Options for `compare`, in a part that is called by itself."""
    return gpu.settings(DryRun(), gpu.TINY, False, "part", errors)


def test_a_captured_graph_that_does_nothing_is_noticed():
    class Idle(DryRun):
        def captured(self, jobs):
            jobs()
            return lambda: None

    errors = []
    with pytest.raises(ValueError, match="nothing is left to compare"):
        gpu_parts.launches(Idle(), gpu.TINY, options(errors))
    assert "'one CUDA graph' does not return what 'one by one' returns" in errors[0]


def test_copies_that_come_too_early_are_noticed():
    class Hasty(DryRun):
        """Its second stream copies before the products are there."""

        @contextmanager
        def on(self, stream):
            yield
            if stream == "second":
                self.memory.zero_()

        def pinned(self, *shape):
            self.memory = super().pinned(*shape)
            return self.memory

    with pytest.raises(RuntimeError, match="pinned, two streams: the copies are not the products"):
        gpu_parts.copies(Hasty(), gpu.TINY, options([]))


def test_each_copy_waits_for_its_own_product():
    class Noting(DryRun):
        def __init__(self):
            super().__init__()
            self.log, self.waited = [], []

        def synchronize(self):
            self.log.append("synchronize")

        def mark(self, stream):
            self.log.append(f"mark {stream}")
            return len(self.log)

        def seconds(self, start, end):
            assert end > start
            assert self.log[-1] == "synchronize"  # the marks have been passed
            return float(end - start)

        def wait(self, stream, mark):
            self.log.append(f"{stream} waits")
            self.waited.append(mark)

        @contextmanager
        def on(self, stream):
            self.log.append(f"on {stream}")
            yield
            self.log.append(f"off {stream}")

    noting = Noting()
    gpu_parts.copies(noting, gpu.TINY, options([]))
    once = ["synchronize", *4 * ["mark first"], "second waits", "mark second", "on second"]
    once += [*3 * ["second waits"], "off second", "mark second", "synchronize"]
    text = "\n".join(noting.log)
    assert text.count("\n".join(once)) == 2 * (1 + gpu.TINY.repeats)  # for both kinds of memory
    assert noting.waited[:4] == [3, 3, 4, 5]  # the marks that follow each product
    assert noting.log[1:5] == 4 * ["mark first"]


def test_only_pinned_memory_is_copied_without_waiting(monkeypatch):
    asked, copy = [], torch.Tensor.copy_

    def noted(self, source, non_blocking=False):
        asked.append(non_blocking)
        return copy(self, source, non_blocking)

    monkeypatch.setattr(torch.Tensor, "copy_", noted)
    monkeypatch.setattr(gpu_parts, "sample", lambda ways, n: ways)
    gpu_parts.copies(DryRun(), gpu.TINY, options([]))
    assert asked[:12] == 6 * [False] + 6 * [True]  # each for one stream and for two


def test_a_result_is_kept_before_the_next_run_overwrites_it():
    class Overwriting(DryRun):
        def compiled(self, net, with_graphs):
            last = torch.zeros(1)

            def run(x):
                nonlocal last
                last.fill_(math.nan)
                last = net(x)
                return last

            return run if with_graphs else net

    errors, network = [], gpu_parts.NETWORKS["the course's network"]
    swept = gpu_parts.swept_network(Overwriting(), gpu.TINY, options(errors), *network)
    assert errors == []
    assert [*swept[4]] == ["eager", "torch.compile", "with CUDA graphs"]


def test_skipped_graphs_and_a_late_network_are_told(monkeypatch):
    counts = iter(range(100))
    monkeypatch.setattr(gpu_parts, "skipped_graphs", lambda: next(counts))
    monkeypatch.setattr(gpu_parts, "swept_network", lambda *_: SimpleNamespace(**swept))
    swept = {"items": dict().items, "measured_on": str}
    errors = []
    gpu_parts.networks(DryRun(), gpu.TINY, options(errors))
    assert errors == [
        f"part: {name}: torch.compile made a program without CUDA graphs"
        for name in gpu_parts.NETWORKS
    ]
    errors.clear()
    found, _ = gpu_parts.networks(DryRun(), gpu_parts.Plan(patience=-1.0), options(errors))
    assert found == {}
    assert errors == [f"part: {name}, as the time was over" for name in gpu_parts.NETWORKS]


def test_the_counter_of_skipped_graphs_is_torchs():
    import torch._dynamo.utils

    before = gpu_parts.skipped_graphs()
    compiled = torch.compile(nets.get_net(), backend="eager")
    assert gpu_parts.skipped_graphs() == before
    torch._dynamo.utils.counters["inductor"]["cudagraph_skips"] += 1
    assert gpu_parts.skipped_graphs() == before + 1
    assert compiled is not None


# What only CUDA can do -------------------------------------------------------------------------


def test_the_stand_in_has_the_same_methods():
    def methods(kind):
        public = [name for name in vars(kind) if not name.startswith("_")]
        found = {k: getattr(kind, k) for k in public if callable(getattr(kind, k))}
        return {name: [*inspect.signature(f).parameters] for name, f in found.items()}

    assert methods(Gpu) == methods(DryRun)
    assert {"devices", "name", "first", "second"} <= {*dir(DryRun())}


@pytest.fixture
def calls(monkeypatch):
    """What is asked of torch.cuda, call by call; two streams, and events that last 2 ms."""
    calls, names = [], iter(["second", "side"])

    class Stream:
        def __init__(self, name=None):
            self.name = name or next(names)

        def wait_stream(self, other):
            calls.append(f"{self.name} waits for {other.name}")

        def wait_event(self, event):
            calls.append(f"{self.name} waits for an event")

    class Event:
        def __init__(self, enable_timing=False):
            assert enable_timing

        def record(self, stream):
            calls.append(f"event on {stream.name}")

        def elapsed_time(self, end):
            return 2.0

    class CUDAGraph:
        def replay(self):
            calls.append("replay")

    @contextmanager
    def on(stream):
        calls.append(f"on {stream.name}")
        yield
        calls.append(f"off {stream.name}")

    @contextmanager
    def capturing(graph):
        assert isinstance(graph, CUDAGraph)
        calls.append("capture")
        yield
        calls.append("captured")

    fakes = {
        "Stream": Stream,
        "Event": Event,
        "CUDAGraph": CUDAGraph,
        "stream": on,
        "graph": capturing,
        "synchronize": lambda device: calls.append(f"synchronize {device}"),
        "current_stream": lambda: Stream("first"),
        "get_device_name": lambda i: "a GPU",
        "is_available": lambda: True,
        "device_count": lambda: 2,
        "can_device_access_peer": lambda one, other: True,
        "get_device_properties": lambda i: SimpleNamespace(name=f"GPU {i}", total_memory=2**30),
    }
    for name, fake in fakes.items():
        assert hasattr(torch.cuda, name)
        monkeypatch.setattr(torch.cuda, name, fake)
    return calls


def test_jobs_are_warmed_up_on_a_side_stream_before_they_are_captured(calls):
    replay = Gpu().captured(lambda: calls.append("jobs"))
    assert calls == [
        *["side waits for first", "on side", "jobs", "jobs", "jobs", "off side"],
        *["first waits for side", "capture", "jobs", "captured"],
    ]
    replay()
    assert calls[-1] == "replay"


def test_marks_are_events_on_the_stream_that_is_named(calls):
    both = Gpu(2)
    start, end = both.mark(both.first), both.mark(both.second)
    both.wait(both.second, start)
    both.synchronize()
    assert both.seconds(start, end) == 0.002
    events = ["event on first", "event on second", "second waits for an event"]
    assert calls == [*events, "synchronize cuda:0", "synchronize cuda:1"]


def test_a_machine_with_gpus_is_described(calls, monkeypatch):
    driver = SimpleNamespace(stdout="580.1\n580.1\n")
    monkeypatch.setattr(cuda.subprocess, "run", lambda *_, **__: driver)
    said = Gpu().describe()
    assert said["gpus"] == [{"name": f"GPU {i}", "memory": 2**30} for i in (0, 1)]
    assert (said["driver"], said["peer_access"], Gpu.count()) == ("580.1", True, 2)

    def missing(*_, **__):
        raise FileNotFoundError("nvidia-smi")

    monkeypatch.setattr(cuda.subprocess, "run", missing)
    assert Gpu().describe()["driver"] is None
    assert {*said} == {*DryRun().describe()}


def test_each_way_to_compile_is_one_that_torch_knows(calls, monkeypatch):
    from torch._inductor import list_mode_options

    asked = []
    monkeypatch.setattr(torch, "compile", lambda net, **options: asked.append(options))
    for with_graphs in (False, True):
        Gpu().compiled(None, with_graphs)
    assert [list_mode_options(one["mode"]) for one in asked] == [{}, {"triton.cudagraphs": True}]
    assert all(one["dynamic"] is False for one in asked)


def test_the_blocks_are_those_of_notebook_11():
    path = ROOT / "notebooks" / "11_when_torch_compile_pays.ipynb"
    cells = [text_of(cell) for cell in json.loads(path.read_text("utf-8"))["cells"]]
    for kind in (nets.ConvolutionBlock, nets.TransformerBlock):
        (cell,) = [text for text in cells if f"class {kind.__name__}(" in text]
        ((_, theirs),) = definitions(cell)
        ((_, ours),) = definitions(inspect.getsource(kind))
        assert ast.dump(ast.parse(ours)) == ast.dump(ast.parse(theirs))
