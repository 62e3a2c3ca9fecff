"""hybridize: it computes what torch computes, and refuses what it cannot."""

import copy
import os
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from hybrid_helpers import (
    REPLACE_PARAMETER,
    Keeping,
    TwoInputs,
    assert_agrees,
    call_or_error,
    change,
    write,
)
from random_programs import assert_close, check_program
from torch import nn

from d2lhybrid import get_net, hybridize
from d2lhybrid.hybrid.operations import UnsupportedOperation
from d2lhybrid.hybrid.recorder import RecordingError

NAN, INF = float("nan"), float("inf")


def test_random_programs_agree_with_torch():
    for seed in range(15):
        check_program(seed)


# Values -------------------------------------------------------------------------------------


def test_get_net_compiles_once_for_every_batch_size():
    net = get_net()
    fast = hybridize(net, torch.randn(1, 512))
    for batch in (1, 0, 2, 33):
        assert_agrees(fast, net, torch.randn(batch, 512))
    assert fast.compilations == 1


DENORMALS = [2.0**-149, -(2.0**-149), 1e-40, -1e-40, 2.0**-126, 0.0, -0.0, 1.0]
EXACT = [lambda x: x + x, lambda x: x * 0.5, lambda x: x * 0.25 - x, lambda x: x / 3, lambda x: -x]
EXACT += [lambda x: torch.relu(x), lambda x: torch.relu(-x) + x, lambda x: 1e-38 * x / 1e-38]
EXACT += [lambda x: x * x - x * x, lambda x: x * 0.1 + x, lambda x: x * x - x * 0.3]


def test_elementary_arithmetic_is_exact():
    for function in EXACT:
        some = torch.tensor([*DENORMALS, NAN, INF, -INF, 3e38, -3e38, 0.1, 1 / 3, -7.7])
        x = torch.cat([some, torch.linspace(-3, 3, 1001)])
        ours, torchs = hybridize(function, x)(x), function(x)
        assert torch.equal(ours.isnan(), torchs.isnan())
        number = ~torchs.isnan()
        assert torch.equal(ours[number], torchs[number])
        # 1 / 0.0 and 1 / -0.0 are different, 0.0 and -0.0 are equal
        assert torch.equal(1 / ours[number & (x != 0)], 1 / torchs[number & (x != 0)])


EXTREMES = [-INF, -1e30, -120, -104, -88.8, -87.4, -20, -9.1, -1e-4, -1e-40, -0.0]
SMOOTH = [torch.sigmoid, torch.tanh, torch.exp]


@pytest.mark.parametrize("function", SMOOTH)
def test_smooth_functions_at_their_extremes(function):
    some = torch.tensor([*EXTREMES, NAN, *[-x for x in EXTREMES]])
    x = torch.cat([some, torch.linspace(-20, 20, 2001)])
    ours, torchs, exact = hybridize(function, x)(x), function(x), function(x.double())
    assert torch.equal(ours.isnan(), torchs.isnan())
    assert torch.equal(ours.isinf(), torchs.isinf())
    number = torchs.isfinite()
    error = (ours.double() - exact)[number].abs() / exact[number].abs().clamp(min=2**-126)
    assert error.max() <= 4 * 2**-23


def test_results_are_new_tensors_in_the_form_that_the_network_has(x):
    fast = hybridize(TwoInputs(), x, x)
    product, first, tanh = fast(x, x + 1)
    assert torch.equal(product, x * (x + 1))
    assert torch.equal(first, x)
    assert torch.equal(tanh, hybridize(torch.tanh, x)(x + 1))
    first.zero_()
    assert x.any(), "the result is a copy"
    again = fast(x, x)
    assert torch.equal(product, x * (x + 1)), "and the next call has others"
    assert type(again) is tuple
    assert type(hybridize(lambda x: [x + 1], x)(x)) is list


def test_tensors_without_numbers_and_without_axes():
    assert hybridize(torch.relu, torch.ones(2, 0))(torch.ones(4, 0)).shape == (4, 0)
    assert torch.equal(
        hybridize(lambda x: x * 2 + 1, torch.tensor(3.0))(torch.tensor(4.0)), torch.tensor(9.0)
    )


# Recordings that are refused ----------------------------------------------------------------

ASKED_IN_VAIN = [lambda x: x * 2 if isinstance(x, torch.Tensor) else x]
ASKED_IN_VAIN += [lambda x: x * 2 if type(x) is torch.Tensor else x]
ASKED_IN_VAIN += [lambda x: x * 2 if isinstance(x.shape, torch.Size) else x]
ASKED_IN_VAIN += [lambda x: x * {3: 3.0}.get(x.shape[0], 1.0)]
ASKED_IN_VAIN += [lambda x: x * 2 if x.shape[0] in {1, 2, 3} else x]
ASKED_IN_VAIN += [lambda x: x * 2 if f"{x.shape[0]}" == "3" else x]
ASKED_IN_VAIN += [lambda x: (x * 2, x) if repr(x).startswith("tensor") else (x, x)]
ASKED_IN_VAIN += [lambda x: x * torch.ops.d2lhybrid_test.relu(x)]


@torch.library.custom_op("d2lhybrid_test::relu", mutates_args=())
def leaky(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x > 0, x, x * 0.1)


@pytest.mark.parametrize("function", ASKED_IN_VAIN)
def test_branching_on_type_shape_or_repr_of_a_symbol_is_refused(x, function):
    with pytest.raises((RecordingError, UnsupportedOperation)):
        hybridize(function, x)


class Alpha(nn.Module):
    def __init__(self, expression):
        super().__init__()
        self.alpha = nn.Parameter(torch.tensor(2.0), requires_grad=False)
        self.forward = lambda x: eval(expression, {"x": x, "alpha": self.alpha, "torch": torch})


LOOKED_AT = ["alpha.item()", "float(alpha)", "int(alpha)", "alpha.tolist()", "alpha.numpy()"]
LOOKED_AT += ["(1 if alpha else 0)", "(2.0 in alpha)", "range(3)[alpha.int()]"]
LOOKED_AT += ["alpha.__array__()", "torch.equal(alpha, alpha)", "torch.allclose(alpha, alpha)"]


@pytest.mark.parametrize("expression", LOOKED_AT)
def test_values_that_python_looks_at_are_refused(x, expression):
    with pytest.raises(RecordingError, match="looks at the values of a tensor"):
        hybridize(Alpha(f"x * {expression}"), x)


def caught(x):
    try:
        return x * 2 if x.sum() > 100 else x
    except RuntimeError:
        return x


def caught_as_not_implemented(x):
    try:
        return x.cumsum(-1) if x.shape[1] > 4 else x * x.abs()
    except NotImplementedError:
        return x * x


@pytest.mark.parametrize("function", [caught, caught_as_not_implemented])
def test_a_refusal_that_the_program_catches_is_one(function):
    x = torch.ones(2, 4)
    with pytest.raises((RecordingError, UnsupportedOperation), match=r"sum|abs"):
        hybridize(function, x)


RETURNED = [  # what is returned, and what is said of it
    ("None", "returns None; return a tensor, or a list or tuple of tensors"),
    ("3", "returns int;"),
    ("x, (x, x + 1)", "returns tuple in a tuple;"),
    ("{'y': x}", "returns dict;"),
    ("w * 2", "; it would be kept"),
]


@pytest.mark.parametrize(("expression", "said"), RETURNED)
def test_a_refused_result_is_named_with_the_line_of_its_return(x, expression, said):
    program = f"def program(x):\n    if x is None:\n        return x\n    return {expression}\n"
    with pytest.raises(RecordingError) as error:
        hybridize(write(program), x)
    assert f"line 4 of program, `return {expression}`" in str(error.value)
    assert said in str(error.value)


def test_what_only_the_network_has_is_in_net(net, x):
    fast = copy.copy(hybridize(net, x))
    with pytest.raises(AttributeError, match=r"'state_dict'; .* in \.net: \.net\.state_dict$"):
        fast.state_dict()
    assert not hasattr(fast, "state_dicts")


# Compilations -------------------------------------------------------------------------------


def test_compilations_are_counted(net):
    fast = hybridize(net, torch.ones(2, 4))
    counts = []
    for shape in ((2, 4), (7, 4), (0, 4), (4,), (4,), (2, 5, 4), (9, 5, 4), (9, 6, 4), (1, 4)):
        assert_agrees(fast, net, torch.ones(shape))
        counts.append(fast.compilations)
    assert counts == [1, 1, 1, 2, 2, 3, 3, 4, 4]
    change(net, REPLACE_PARAMETER)
    assert_agrees(fast, net, torch.ones(2, 4))
    assert fast.compilations == 4
    net[1] = nn.Tanh()
    assert_agrees(fast, net, torch.ones(2, 4))
    assert fast.compilations == 5


def test_a_known_batch_does_not_even_leave_the_guard(net, x):
    calls = []
    original = net.forward
    net.forward = lambda x: calls.append(x) or original(x)
    fast = hybridize(net, x)
    assert len(calls) == 2, "the recording, and the run that it is compared with"
    for batch in (1, 2, 3, 2, 1):
        fast(torch.ones(batch, 4))
    assert len(calls) == 2


# The surroundings ---------------------------------------------------------------------------


def test_the_default_type_and_device_do_not_matter(net, x, default_float64):
    tensors = [x, x[:2].clone(), torch.ones(4, dtype=torch.float32), x]
    with torch.device("meta"):
        fast = hybridize(net, x)
        results = [fast(one) for one in tensors]
    for one, result in zip(tensors, results, strict=True):
        assert (result.device.type, result.dtype) == ("cpu", torch.float32)
        assert_close(result, net(one).detach(), "under another default device")


def test_inference_mode_inside_and_outside(net, x):
    with torch.inference_mode():
        fast = hybridize(net, x)
        inside = torch.ones(2, 4)
        assert_agrees(fast, net, inside)
    for one in (x, x[:2], inside):
        assert_agrees(fast, net, one)
    result = fast(x)
    result += 1  # no tensor of the inference mode
    other = hybridize(net, x)
    with torch.inference_mode():
        assert_agrees(other, net, x)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # in torch itself
def test_transformations_of_torch_are_not_fooled(net, x):
    fast = hybridize(net, x)
    transforms = [torch.func.vmap, torch.func.jacrev, torch.func.jacfwd, torch.func.functionalize]
    for transform in transforms:
        for one in (x, x.repeat(2, 1, 1)):  # the second hides a tensor of a known shape
            ours = call_or_error(transform(fast), one)
            torchs = transform(net)(one)
            assert isinstance(ours, Exception) or torch.allclose(ours, torchs)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit on memory")
def test_out_of_memory_raises_and_later_calls_work(x):
    resource = pytest.importorskip("resource")
    function = Keeping(
        lambda x, wide, back: F.linear(F.linear(x, wide), back),
        wide=torch.ones(1 << 18, 1),
        back=torch.ones(1, 1 << 18),
    )
    fast = hybridize(function, torch.ones(1, 1))
    twice = hybridize(lambda x: (function(x), function(x + 1)), torch.ones(1, 1))
    assert fast(torch.ones(2, 1)).tolist() == [[1 << 18]] * 2
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    many = torch.ones(4096, 1)
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), hard))
    try:
        for one in (fast, fast, twice, twice):
            with pytest.raises(MemoryError, match="no memory for"):
                one(many)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    assert fast(torch.ones(2, 1)).tolist() == [[1 << 18]] * 2
