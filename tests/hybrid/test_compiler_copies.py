"""Copies of a compiled network, and what comes out of a pickle."""

import copy
import pickle

import pytest
from hybrid_helpers import assert_agrees, replace_layer, replace_parameter

from d2lhybrid import hybridize


def test_a_copy_is_compiled_whatever_the_default_type(net, x, default_float64):
    other = copy.deepcopy(hybridize(net, x))
    assert other.holds()


COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda fast: pickle.loads(pickle.dumps(fast)),
}


@pytest.mark.parametrize("way", COPIES)
def test_a_copy_is_a_network_of_its_own(net, x, way):
    fast = hybridize(net, x)
    other = COPIES[way](fast)
    assert other.source == fast.source
    assert other.holds()
    assert_agrees(other, net, x)
    assert (other.net is net) == (way == "copy")
    replace_parameter(other.net)
    assert_agrees(other, other.net, x)
    assert_agrees(fast, net, x)


@pytest.mark.parametrize("way", ["deepcopy", "pickle"])
def test_a_copy_of_a_network_that_keeps_its_compiled_self(net, x, way):
    net.fast = hybridize(net, x)
    other = COPIES[way](net)
    assert other.fast.net is other
    replace_layer(other)
    assert_agrees(other.fast, other, x)
    assert_agrees(net.fast, net, x)
