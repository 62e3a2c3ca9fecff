"""Tensors as bytes and back: what arrives is equal, on the CPU, and takes no more than its own."""

from collections import OrderedDict, namedtuple

import numpy
import pytest
import torch
from torch import nn

from d2lhybrid.world.packing import content_bytes, pack, unpack

pytestmark = pytest.mark.filterwarnings("error:The given buffer is not writable")
Point = namedtuple("Point", "x y")


def same(one, other):
    """Whether two tensors have the same type, shape and bits."""
    bits = [tensor.contiguous().reshape(-1).view(torch.uint8).tolist() for tensor in (one, other)]
    return (one.dtype, one.shape, bits[0]) == (other.dtype, other.shape, bits[1])


FLOATS = ["float64", "float32", "float16", "bfloat16", "complex32", "complex64", "complex128"]
FLOATS += ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"]
WHOLE = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]


@pytest.mark.filterwarnings("ignore:ComplexHalf support:UserWarning")
def test_a_tensor_of_any_type_arrives_bit_by_bit():
    for name in [*FLOATS, *WHOLE, "bool"]:
        for shape in [(), (0,), (5,), (2, 0, 3), (2, 3, 4)]:
            dtype = getattr(torch, name)
            count = torch.Size(shape).numel()
            content = torch.arange(16 * count, dtype=torch.int32).to(torch.uint8)  # any bits do
            tensor = content[: count * dtype.itemsize].clone().view(dtype).reshape(shape)
            if name == "bool":
                tensor = torch.arange(count).reshape(shape) % 2 == 0
            arrived = unpack(pack(tensor))
            assert same(arrived, tensor), (name, shape)
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


def test_a_tensor_leaves_its_history_behind():
    for name, (tensor, expected) in TENSORS.items():
        arrived = unpack(pack(tensor))
        assert same(arrived, expected), name
        assert not arrived.requires_grad, name
        assert arrived.is_contiguous(), name
        assert not arrived.is_conj(), name


def test_what_arrives_is_a_copy_that_can_be_written():
    weight = torch.ones(3)
    packed = pack([weight, weight])
    weight.zero_()
    one, other = unpack(packed)
    one += 1
    assert one.tolist() == [2, 2, 2]
    assert other.tolist() == [1, 1, 1]
    assert weight.tolist() == [0, 0, 0]


def test_only_the_part_that_a_view_shows_is_sent():
    assert len(pack(torch.ones(10**6)[:10])) < 1000


def test_tensors_arrive_wherever_they_are_in_a_value():
    value = {3: [X, (Z, "a")], "named": Point(1, X), "size": X.shape, "max": torch.max(X, 0)}
    arrived = unpack(pack(value))
    assert same(arrived[3][0], X)
    assert same(arrived[3][1][0], Z)
    assert type(arrived["named"]) is tuple
    assert same(arrived["named"][1], X)
    assert arrived["size"] == (3, 4)
    assert [part.tolist() for part in arrived["max"]] == [X[2].tolist(), [2] * 4]


def test_a_state_dict_can_be_loaded_where_it_arrives():
    net, other = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)), nn.Linear(3, 2)
    other = nn.Sequential(other, nn.BatchNorm1d(2))
    other.load_state_dict(unpack(pack(net.state_dict())))
    assert all(map(torch.equal, net.state_dict().values(), other.state_dict().values()))


CAN = "tensors, numbers, strings and None can, and lists, tuples and dicts of them"
REFUSED = {
    "ReLU": nn.ReLU(),
    "ndarray": numpy.ones(2),
    "dtype": torch.float32,
    "device": torch.device("cpu"),
    "a meta tensor": torch.ones(2, device="meta"),
    "a tensor of layout torch.sparse_coo": torch.eye(2).to_sparse(),
}


@pytest.mark.filterwarnings("ignore:.*quantized tensor:UserWarning")
@pytest.mark.filterwarnings("ignore:.*nested tensors is in prototype:UserWarning")
def test_what_cannot_be_sent_is_said():
    refused = REFUSED | {"a nested tensor": torch.nested.nested_tensor([torch.ones(1)] * 2)}
    if hasattr(torch, "quantize_per_tensor"):  # PyTorch may drop it
        refused["a quantized tensor"] = torch.quantize_per_tensor(
            torch.ones(2), 0.1, 0, torch.quint8
        )
    for kind, value in refused.items():
        with pytest.raises(TypeError) as caught:
            pack([value])
        assert str(caught.value) == f"{kind} cannot be sent to another process: {CAN}"


COUNTS = [
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
]


def test_only_the_bytes_of_tensors_are_counted():
    for value, count in COUNTS:
        assert content_bytes(value) == count, value
        assert content_bytes(unpack(pack(value))) == count, value
