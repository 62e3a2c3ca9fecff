"""The network that speaks: its text, its training, and what it says."""

import sys

import pytest
import torch

from d2lhybrid import get_net, speak, speaking_net
from d2lhybrid.speaking import CONTEXT, SYMBOLS, text_as_numbers


def test_the_text_has_every_symbol_and_hardly_a_line_end():
    numbers = text_as_numbers()
    assert len(numbers) > 300_000
    assert numbers.unique().tolist() == list(range(len(SYMBOLS)))
    text = "".join(SYMBOLS[n] for n in numbers)
    assert "  " not in text
    assert "\n\n" not in text
    assert 1000 < text.count("\n") < 10_000  # of paragraphs, not of lines


def test_a_python_without_its_reference_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydoc_data.topics", None)
    with pytest.raises(ImportError, match="this Python lacks its reference"):
        speaking_net()


def test_the_trained_network_has_the_course_network_s_shape_and_has_learned():
    before = torch.get_rng_state()
    with torch.no_grad():
        speaking_net(steps=1)
    net = speaking_net(steps=60)
    assert torch.equal(torch.get_rng_state(), before)
    assert [p.shape for p in net.parameters()][:4] == [p.shape for p in get_net().parameters()][:4]
    assert not any(p.requires_grad for p in net.parameters())
    windows = text_as_numbers().unfold(0, CONTEXT + 1, 1)[::500]
    one_hot = torch.nn.functional.one_hot(windows[:, :-1], len(SYMBOLS)).float().flatten(1)
    loss = torch.nn.functional.cross_entropy(net(one_hot), windows[:, -1])
    assert loss < 2.75  # 3.47 for guesses, 2.9 for the frequencies of the symbols alone


def test_speak_shows_the_last_characters_and_takes_what_is_likely():
    seen = []

    def alphabet(x):  # after each letter the next one, after z a line's end
        seen.append(x.clone())
        symbols = x.view(CONTEXT, len(SYMBOLS)).argmax(1)
        assert x.sum() == CONTEXT
        return 100 * torch.nn.functional.one_hot((symbols[-1:] + 1) % 28, len(SYMBOLS)).numpy()

    assert speak(alphabet, 28, begin="abc") == " " * 13 + "abcdefghijklmnopqrstuvwxyz\n abc"
    first, later = ("".join(SYMBOLS[s] for s in x.view(CONTEXT, -1).argmax(1)) for x in seen[::20])
    assert (first, later) == (" " * 13 + "abc", "hijklmnopqrstuvw")


def test_a_seed_gives_one_text_and_a_low_temperature_the_likeliest():
    net = torch.nn.Linear(512, 32)
    texts = [speak(net, 40, seed=seed) for seed in (0, 0, 1)]
    assert texts[0] == texts[1] != texts[2]
    cold = [speak(net, 40, temperature=1e-6, seed=seed) for seed in (0, 1)]
    assert cold[0] == cold[1]
