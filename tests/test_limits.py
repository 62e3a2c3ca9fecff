"""The limits of the bench return what the network returns."""

import pytest
import torch

from d2lhybrid import c_loop, get_net, reading


@pytest.mark.parametrize("limit", [c_loop, reading])
def test_a_limit_returns_what_its_input_gives(limit):
    net, x = get_net(), torch.ones(2, 512)
    run = limit(net, x).function
    for other in (x, -x, x):
        assert torch.allclose(run(other), net(other), atol=1e-5)
    x *= 2
    assert torch.allclose(run(x), net(x), atol=1e-5)
    with torch.inference_mode():
        assert torch.allclose(run(x + 1), net(x + 1), atol=1e-5)
