"""What limits a program, on machines that are made up: no test depends on a speed."""

import json

import pytest
import torch

from d2lhybrid import compare, isolated, limits
from d2lhybrid.benchmark.results import Comparison
from d2lhybrid.cli.compare import EXPLAIN, why
from d2lhybrid.roofline import ceilings
from d2lhybrid.roofline.limits import Limits, explain

X = torch.rand(256, 256)
SIZE, FLOPS = 4 * X.numel(), 2 * 256**3


def machine(overhead=0.0, bandwidth=1e30, peak=1e30, page=0.0, python=0.0):
    kinds = dict.fromkeys(["pointwise", "scalar", "other", "view", "product"], overhead)
    return {
        "overhead": kinds | {"python": python, "recorded": 0.0},
        "bandwidth": [[1, bandwidth], [2**40, bandwidth]],
        "page": page,
        "peak": {"product": [[1, peak], [2, peak]]},
        "company": [2, 1.0],
        "functions": {"tanh": 1 / peak},
    }


def program(x):
    return torch.tanh(x @ x) + x


def chain(x):
    return torch.relu(x * 2 + x)


def update(x):
    x.mul_(0.5).add_(X)


TIMES = [
    (machine(overhead=1.0), "overhead", 3),
    (machine(bandwidth=1.0), "memory", 10 * SIZE),  # x and 2 · 1 result; 1 and 2; 2 and 2
    (machine(peak=1.0), "compute", FLOPS + X.numel()),
]
LEAST = [  # operations; how often the size of x is read, written; and the same if fused
    (program, 3, (4, 3), (1, 2)),  # of the product, whose input is read anyway; and the result
    (chain, 3, (4, 3), (1, 1)),
    (update, 2, (3, 2), (2, 1)),
    (lambda x: x @ x, 1, (1, 1), (1, 1)),
    (lambda x: (torch.tanh(x), x + 1)[1], 2, (2, 2), (1, 1)),  # what nobody needs
    (lambda x: torch.tanh(x) * torch.tanh(x), 3, (4, 3), (1, 1)),  # what is done twice
]


@pytest.mark.parametrize(("ceilings", "regime", "time"), TIMES)
def test_regime_is_what_most_of_the_time_goes_to(ceilings, regime, time):
    found = limits(program, X, ceilings=ceilings)
    assert found.regime == regime
    assert found.time == found.parts[regime] == pytest.approx(time)
    assert found.bound() == pytest.approx({"overhead": 3, "memory": 2, "compute": 1}[regime])


@pytest.mark.parametrize(("function", "operations", "eager", "fused"), LEAST)
def test_bound_is_that_of_what_is_fused(function, operations, eager, fused):
    found = limits(function, X.clone(), ceilings=machine(overhead=1.0, bandwidth=SIZE))
    assert (found.total("bytes"), found.least_bytes) == (sum(eager) * SIZE, sum(fused) * SIZE)
    time, least = operations + eager[0] + 2 * eager[1], 1 + fused[0] + 2 * fused[1]
    assert found.bound() == pytest.approx(time / least)
    assert (found.bound(80.0), found.bound(1e-9)) == (pytest.approx(80 / least), 1.0)


def test_a_convolution_may_become_as_fast_as_a_product():
    image, kernel = torch.rand(1, 2, 8, 8), torch.rand(2, 2, 3, 3)
    peaks = machine() | {"peak": {"product": [[1, 4.0], [2, 4.0]], "convolution": 1.0}}
    found = limits(torch.conv2d, image, kernel, ceilings=peaks)
    assert found.bound() == pytest.approx(4)


def test_new_pages_are_memory_and_python_is_overhead(monkeypatch):
    pages = iter(range(0, 1000, 7))
    monkeypatch.setattr("d2lhybrid.roofline.limits.page_faults", lambda: next(pages))
    found = limits(lambda: torch.relu(X), ceilings=machine(page=1.0, python=0.5))
    assert found.parts == {"overhead": 0.5, "memory": pytest.approx(7.0), "compute": 0.0}
    assert found.reasons()[2].endswith("; 93% for newly mapped pages")


def test_operations_cost_more_overhead_in_company():
    alone = limits(lambda: torch.relu(torch.relu(X)), ceilings=machine(overhead=1.0))
    many = machine(overhead=1.0) | {"company": [3, 2.0]}
    assert alone.time == 2
    assert limits(lambda: torch.relu(torch.relu(X)), ceilings=many).time == 2
    assert limits(lambda: torch.relu(X).neg(), ceilings=many).time == 2 * 1.5
    assert limits(lambda: torch.relu(X).neg().abs().exp(), ceilings=many).time == 4 * 2


def test_narrow_products_have_a_peak_of_their_own():
    peaks = machine(peak=1.0) | {"peak": {"product": [[16, 1.0], [256, 4.0]]}}
    assert limits(lambda: X @ X, ceilings=peaks).time == pytest.approx(FLOPS / 4)
    assert limits(lambda: X[:, :64] @ X[:64], ceilings=peaks).time == pytest.approx(FLOPS / 4 / 2)
    assert limits(lambda: X[:2] @ X, ceilings=peaks).time == pytest.approx(FLOPS / 128)


def test_table_sentences_json_and_picture():
    found = limits(program, X, ceilings=machine(bandwidth=1e9))
    assert Limits(**json.loads(json.dumps(vars(found)))) == found
    assert max(map(len, found.reasons())) <= 88
    rows = [line.split()[:3] for line in str(found).splitlines()[1:4]]
    assert rows == [["mm", "1", "524"], ["tanh", "1", "524"], ["add", "1", "786"]]
    assert "mm, tanh, add, Python's functions and new pages of memory" in found.plot().figure.alt


def test_what_is_no_eager_pytorch_has_no_limits(monkeypatch):
    with pytest.raises(ValueError, match="no PyTorch operation"):
        limits(lambda: 3, ceilings=machine())
    monkeypatch.setattr("d2lhybrid.roofline.limits.compilations", lambda: (1, 1, 0, 0))
    assert explain(lambda: torch.relu(X), 0.0) is None


def test_this_machine_is_measured_once():
    found = ceilings.measured(torch.get_num_threads())
    assert found is ceilings.measured(torch.get_num_threads())
    assert (
        min(found["overhead"]["pointwise"], *found["bandwidth"][0], *found["peak"]["product"][0])
        > 0
    )


PROGRAMS = """
import torch
x = torch.ones(3)

def eager():
    return lambda: torch.relu(x * 2)

def compiled():
    return torch.compile(lambda: torch.relu(x * 2), backend="eager")
"""


@pytest.mark.parametrize("explanation", [EXPLAIN, "no.such:function", "builtins:exit"])
def test_comparison_has_the_reason_or_none_and_never_fails(explanation):
    programs = {name: isolated(PROGRAMS, name, threads=1) for name in ("eager", "compiled")}
    result = compare(programs, time_limit=0.05, explain=explanation)
    assert len(result) == 2
    copy = Comparison.from_dict(json.loads(json.dumps(result.to_dict())))
    said = why(copy)[1:]
    if explanation != EXPLAIN:
        assert (copy.reason, said) == (None, [])
        return
    count = "2 operations and 0 views, 0 FLOP, 48 B: 0 FLOP per byte"
    assert (said[0], len(said)) == (f"Why: a call of eager is {count}", 5)
    assert said[-1] == "graphs of torch.compile: compiled 1"
    assert why(copy, table=True)[1].splitlines()[1].startswith("mul ")
    assert why(copy.select(["compiled", "eager"])) == []
