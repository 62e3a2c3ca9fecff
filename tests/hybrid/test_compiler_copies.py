"""Copies of a compiled network, and what comes out of a pickle."""

import copy
import pickle

import pytest
from hybrid_helpers import REPLACE_LAYER, REPLACE_PARAMETER, assert_agrees, change

from d2lhybrid import hybridize

COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda fast: pickle.loads(pickle.dumps(fast)),
}


@pytest.mark.parametrize("way", COPIES)
def test_a_copy_is_a_network_of_its_own(net, x, way):
    fast = hybridize(net, x)
    other = COPIES[way](fast)
    assert_agrees(other, net, x)
    assert other.source == fast.source
    assert other.holds()
    assert (other.net is net) == (way == "copy")
    change(other.net, REPLACE_PARAMETER)
    assert_agrees(other, other.net, x)
    assert_agrees(fast, net, x)


@pytest.mark.parametrize("way", ["deepcopy", "pickle"])
def test_a_copy_of_a_network_that_keeps_its_compiled_self(net, x, way):
    net.fast = hybridize(net, x)
    other = COPIES[way](net)
    assert other.fast.net is other
    change(other, REPLACE_LAYER)
    assert_agrees(other.fast, other, x)
    assert_agrees(net.fast, net, x)
