"""The pretended wire: what arrives, when, and what is left when it is closed."""

from itertools import pairwise

import pytest
import torch

from d2lhybrid import Gate, Link, Log


@pytest.mark.parametrize(
    ("alpha", "beta", "size", "seconds"),
    [(0.5, 0.25, 8, 2.5), (0.5, 0, 1000, 0.5), (0, 0.125, 16, 2), (0.5, 0.25, 0, 0.5)],
)
def test_a_message_takes_alpha_and_for_each_byte_beta(monkeypatch, alpha, beta, size, seconds):
    slept = []
    monkeypatch.setattr("d2lhybrid.threads.events.sleep", slept.append)
    with Link(alpha, beta) as link:
        link.send(torch.ones(size // 4))
    assert slept == [seconds]


def test_messages_arrive_one_after_the_other_in_order():
    log = Log()
    sent = {f"{n} numbers": torch.arange(float(n)) for n in (3000, 10, 0, 500)}
    with Link(0.002, 1e-6, log) as link:
        arrived = [link.send(tensor, label) for label, tensor in sent.items()]
        for future, tensor in zip(arrived, sent.values(), strict=True):
            assert torch.equal(future.result(10), tensor)
    assert [span.label for span in log.spans] == list(sent)
    assert {span.lane for span in log.spans} == {"link"}
    assert all(one.end <= other.start for one, other in pairwise(log.spans))


def test_send_copies_the_tensor_at_once():
    weight = torch.ones(3, requires_grad=True)
    with Link(0, 0) as link:
        future = link.send(weight)
        with torch.no_grad():
            weight.zero_()
    assert torch.equal(future.result(), torch.ones(3))
    assert not future.result().requires_grad


@pytest.fixture
def gate(monkeypatch):
    """A message takes until it is opened, and not the seconds of its link."""
    gate = Gate("the wire")
    monkeypatch.setattr("d2lhybrid.threads.events.sleep", lambda seconds: gate.wait())
    return gate


def test_send_returns_at_once_and_exit_waits(gate):
    with Link(1, 0) as link:
        futures = [link.send(torch.ones(2), label) for label in "ab"]
        assert not any(future.done() for future in futures)
        link.log.note("main", "has sent")
        gate.open()
    assert all(future.done() for future in futures)
    texts = [text for _, _, text in link.log.events if text != "starts a"]  # it may come first
    assert texts == ["has sent", "ends a", "starts b", "ends b"]
