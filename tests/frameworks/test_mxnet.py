"""MXNet: what its import is lent, and its state. Notebook 16 shows the rest."""

import sys
from types import ModuleType, SimpleNamespace

import numpy
import pytest

from d2lhybrid.frameworks import mxnet


@pytest.mark.parametrize("has_distutils", [True, False])  # until Python 3.11, from 3.12 on
def test_import_is_lent_what_it_asks_for(monkeypatch, has_distutils):
    monkeypatch.setattr(mxnet, "find_spec", lambda name: has_distutils or None)
    for name in ("distutils", "distutils.version"):
        monkeypatch.setitem(sys.modules, name, ModuleType("before"))
        monkeypatch.delitem(sys.modules, name)
    before = set(dir(numpy))

    def fail():
        assert [name for name in mxnet.GONE if not hasattr(numpy, name)] == []
        assert ("distutils" in sys.modules) != has_distutils
        if not has_distutils:
            from distutils.version import LooseVersion

            assert LooseVersion("1.10rc2") == [1, 10, 2] > LooseVersion("1.9.1")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), mxnet.prepare():
        fail()
    assert set(dir(numpy)) == before
    assert "distutils" not in sys.modules


@pytest.mark.parametrize("recording", [True, False])
def test_state_is_recording_and_synchronize_waits_for_all(monkeypatch, recording):
    module, waits = ModuleType("mxnet"), []
    module.autograd = SimpleNamespace(is_recording=lambda: recording)
    module.nd = SimpleNamespace(waitall=lambda: waits.append("all"))
    monkeypatch.setitem(sys.modules, "mxnet", module)
    assert mxnet.state() == {"gradients": recording}
    mxnet.synchronize()
    assert waits == ["all"]
