"""Values as bytes and back: what arrives is equal, on the CPU, and nothing else gets through."""

import enum
import io
import pickle
from collections import OrderedDict, namedtuple

import numpy
import pytest
import torch
from torch import nn

from d2lhybrid.parallel.packing import content_bytes, pack, read_frame, unpack, write_frame

pytestmark = pytest.mark.filterwarnings("error:The given buffer is not writable")
Point = namedtuple("Point", "x y")


class Level(enum.IntEnum):
    HIGH = 3


class Colour(enum.Enum):
    RED = 1


class Name(str):
    pass


class Wide(list):
    pass


def same(one, other):
    """Whether two values have the same types and bits, all the way down."""
    if type(one) is not type(other):
        return False
    if isinstance(one, torch.Tensor):
        bits = [t.contiguous().reshape(-1).view(torch.uint8).tolist() for t in (one, other)]
        return (one.dtype, one.shape, bits[0]) == (other.dtype, other.shape, bits[1])
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other or one != one  # nan


DTYPES = [
    "float64",
    "float32",
    "float16",
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "complex32",
    "complex64",
    "complex128",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint16",
    "uint32",
    "uint64",
    "bool",
]


@pytest.mark.filterwarnings("ignore:ComplexHalf support:UserWarning")
@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 0, 3), (2, 3, 4)], ids=str)
def test_a_tensor_of_any_type_arrives_bit_by_bit(name, shape):
    dtype = getattr(torch, name)
    count = torch.Size(shape).numel()
    content = torch.arange(16 * count, dtype=torch.int32).to(torch.uint8)  # these bits, or others
    tensor = content[: count * dtype.itemsize].clone().view(dtype).reshape(shape)
    if name == "bool":
        tensor = torch.arange(count).reshape(shape) % 2 == 0
    arrived = unpack(pack(tensor))
    assert same(arrived, tensor)
    assert arrived.device.type == "cpu"


X = torch.arange(12.0).reshape(3, 4)
Z = torch.arange(4.0) + 1j
TENSORS = {
    "a view": (X[1:, ::2], X[1:, ::2].clone()),
    "transposed": (X.T, X.T.clone()),
    "expanded": (torch.ones(1, 3).expand(2, 3), torch.ones(2, 3)),
    "reversed by a view": (X.flip(0)[::2], X.flip(0)[::2].clone()),
    "channels last": (
        torch.ones(1, 2, 3, 4).to(memory_format=torch.channels_last),
        torch.ones(1, 2, 3, 4),
    ),
    "conj": (Z.conj(), torch.arange(4.0) - 1j),
    "neg": (torch._neg_view(torch.ones(4)), torch.full((4,), -1.0)),
    "parameter": (nn.Parameter(torch.ones(2)), torch.ones(2)),
    "result with a gradient": (torch.ones(2, requires_grad=True) * 2, torch.full((2,), 2.0)),
    "not a number": (torch.tensor([float("nan"), -0.0]), torch.tensor([float("nan"), -0.0])),
}


@pytest.mark.parametrize(("tensor", "expected"), TENSORS.values(), ids=TENSORS)
def test_a_tensor_leaves_its_history_behind(tensor, expected):
    arrived = unpack(pack(tensor))
    assert same(arrived, expected)
    assert not arrived.requires_grad
    assert arrived.is_contiguous()
    assert not arrived.is_conj()


def test_what_arrives_is_a_copy_that_can_be_written():
    weight = torch.ones(3)
    packed = pack([weight, weight])
    weight.zero_()
    one, other = unpack(packed)
    one += 1
    assert same([one, other, weight], [torch.full((3,), 2.0), torch.ones(3), torch.zeros(3)])


def test_only_the_part_that_a_view_shows_is_sent():
    assert len(pack(torch.ones(10**6)[:10])) < 1000


VALUES = [
    (None, None),
    (True, True),
    (-(10**30), -(10**30)),
    (0.1, 0.1),
    (float("nan"), float("nan")),
    (2 - 1j, 2 - 1j),
    ("ä\0\udc80 and so on", "ä\0\udc80 and so on"),
    (b"\0\xff", b"\0\xff"),
    ([], []),
    ((), ()),
    ({}, {}),
    ({1, 2}, {1, 2}),
    (frozenset("a"), frozenset("a")),
    ([1, (2.0, [None, {"a": X}])], [1, (2.0, [None, {"a": X}])]),
    ({(1, "a"): 1, None: 2, 3: [X, Z]}, {(1, "a"): 1, None: 2, 3: [X, Z]}),
    (OrderedDict(b=1, a=X), {"b": 1, "a": X}),
    (Point(1, X), (1, X)),
    (torch.Size([2, 3]), (2, 3)),
    (Level.HIGH, 3),
    (Name("n"), "n"),
    (Wide([1]), [1]),
    (numpy.float64(0.5), 0.5),
    (torch.max(X, 0), (X[2], torch.full((4,), 2))),
]


@pytest.mark.parametrize(("value", "expected"), VALUES, ids=lambda value: str(value)[:20])
def test_a_value_arrives_as_pythons_own_types(value, expected):
    assert same(unpack(pack(value)), expected)


def test_a_state_dict_can_be_loaded_where_it_arrives():
    net, other = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)), nn.Linear(3, 2)
    other = nn.Sequential(other, nn.BatchNorm1d(2))
    other.load_state_dict(unpack(pack(net.state_dict())))
    assert all(map(torch.equal, net.state_dict().values(), other.state_dict().values()))


CAN = ": tensors, numbers, strings and None can be sent, and lists, tuples and dicts of them"
REFUSED = {
    "a function": (len, "builtin_function_or_method"),
    "a lambda": (lambda: 1, "function"),
    "a module": (torch, "module"),
    "a generator": ((n for n in []), "generator"),
    "a network": (nn.ReLU(), "ReLU"),
    "an object": (object(), "object"),
    "a class": (int, "type"),
    "an array": (numpy.ones(2), "ndarray"),
    "a number of NumPy's": (numpy.float32(1), "float32"),
    "a type of numbers": (torch.float32, "dtype"),
    "a device": (torch.device("cpu"), "device"),
    "an enum": (Colour.RED, "Colour"),
    "a range": (range(3), "range"),
    "an error": (ValueError("no"), "ValueError"),
    "within": ({"a": [1, (object(),)]}, "object"),
    "a key": ({Colour.RED: 1}, "Colour"),
    "without content": (torch.ones(2, device="meta"), "a meta tensor"),
    "sparse": (torch.eye(2).to_sparse(), "a tensor of layout torch.sparse_coo"),
}


@pytest.mark.parametrize(("value", "kind"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_sent_is_said(value, kind):
    with pytest.raises(TypeError) as caught:
        pack(value)
    assert str(caught.value) == f"{kind} cannot be sent{CAN}"


@pytest.mark.filterwarnings("ignore:.*quantized tensor:UserWarning")
def test_a_quantized_tensor_cannot_be_sent():
    if not hasattr(torch, "quantize_per_tensor"):
        pytest.skip("this PyTorch has none any more")
    tensor = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8)
    with pytest.raises(TypeError, match=r"^a quantized tensor cannot be sent"):
        pack(tensor)


@pytest.mark.filterwarnings("ignore:.*nested tensors is in prototype:UserWarning")
def test_a_nested_tensor_cannot_be_sent():
    with pytest.raises(TypeError, match=r"^a nested tensor cannot be sent"):
        pack(torch.nested.nested_tensor([torch.ones(1), torch.ones(2)]))


def test_a_list_within_itself_ends_with_an_error():
    endless = []
    endless.append(endless)
    with pytest.raises(RecursionError):
        pack(endless)


@pytest.mark.parametrize(
    ("value", "count"),
    [
        (None, 0),
        ("abc", 0),
        ([1, 2.0], 0),
        (X, 48),
        (X[1:, ::2], 16),
        (X.bool(), 12),
        (torch.tensor(1.0), 4),
        (torch.empty(0), 0),
        ({"a": X, X.sum(): (X, [Z])}, 128),
        ({1, 2}, 0),
        (Point(X, X), 96),
        (OrderedDict(a=X.double()), 96),
    ],
    ids=lambda value: str(value)[:20],
)
def test_only_the_bytes_of_tensors_are_counted(value, count):
    assert content_bytes(value) == count
    assert content_bytes(unpack(pack(value))) == count


# Frames ---------------------------------------------------------------------------------------


def test_frames_are_read_one_by_one_and_the_end_is_an_error():
    pipe, contents = io.BytesIO(), [("run", 1, b"x" * 10**6), (), {"a": None}]
    for content in contents:
        write_frame(pipe, content)
    pipe.seek(0)
    assert [read_frame(pipe) for _ in contents] == contents
    with pytest.raises(EOFError, match=r"^the pipe has ended$"):
        read_frame(pipe)


def test_a_frame_that_is_cut_off_is_the_end():
    pipe = io.BytesIO()
    write_frame(pipe, "all of it")
    whole = pipe.getvalue()
    for length in range(len(whole)):
        with pytest.raises(EOFError):
            read_frame(io.BytesIO(whole[:length]))
    assert read_frame(io.BytesIO(whole)) == "all of it"


def test_what_arrives_needs_only_this_package():
    # Subclasses of the notebook are unknown to the other process.
    packed = pack([Level.HIGH, Name("n"), Point(1, 2), Wide(), OrderedDict(), torch.ones(1)])
    assert b"test_packing" not in packed
    assert pickle.loads(packed)[:3] == [3, "n", (1, 2)]
