"""A network of the course's shape that speaks: `speaking_net` trains it, `speak` lets it write.

It reads 16 characters and says how likely each of 32 symbols is to follow. One-hot, the 16 are the
512 inputs of `get_net`: symbol s at place p is a 1 at p * 32 + s. It learns from the language
reference that ships with Python as `pydoc_data.topics` (PSF licence), which differs a little from
version to version. Notebook 13 makes it write faster.
"""

import re
from math import exp
from random import Random

import torch
from torch import nn

from .nets import get_net

SYMBOLS = "\n abcdefghijklmnopqrstuvwxyz.,'("
CONTEXT = 16  # characters; times 32 symbols, these are the 512 inputs


def speaking_net(steps: int = 1500) -> nn.Sequential:
    """Return the course's network, trained to continue text: (n, 512) -> (n, 32), no gradients.

    1,500 steps took 15 s on one core of an AMD EPYC. Set one thread: steps are small, and several
    threads would wait for each other on a busy machine. A one-hot input times the weights is a sum
    of 16 rows of these, and so the training adds rows. Always the same on one machine; torch's
    random state stays as it was. ImportError where Python comes without its reference.
    """
    windows = text_as_numbers().unfold(0, CONTEXT + 1, 1)
    places = len(SYMBOLS) * torch.arange(CONTEXT)
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(0)
        net = get_net()
        net[4] = nn.Linear(128, len(SYMBOLS))
        rows = net[0].weight.detach().T.contiguous()
        first = nn.EmbeddingBag.from_pretrained(rows, freeze=False, mode="sum")
        trained = nn.Sequential(first, *net[1:])
        optimizer = torch.optim.AdamW(trained.parameters(), fused=True)
        for step in range(steps):
            optimizer.param_groups[0]["lr"] = 8e-3 * (1 - step / steps)
            window = windows[torch.randint(len(windows), (512,))]
            loss = nn.functional.cross_entropy(trained(window[:, :-1] + places), window[:, -1])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    net.eval().requires_grad_(False)
    net[0].weight.copy_(first.weight.detach().T)
    net[0].bias.zero_()  # there was none: each of the 16 rows has its share of it
    return net


def text_as_numbers() -> torch.Tensor:
    """Return Python's language reference as numbers of SYMBOLS; ImportError where it is missing."""
    try:
        from pydoc_data.topics import topics
    except ImportError as error:
        raise ImportError("this Python lacks its reference, pydoc_data.topics") from error
    text = "\n\n".join(topics[name] for name in sorted(topics)).lower()
    paragraphs = re.split(r"\n *\n", re.sub(f"[^{SYMBOLS}]", " ", text))
    lines = [" ".join(one.split()) for one in paragraphs if one.split()]
    return torch.tensor([SYMBOLS.index(c) for c in "\n".join(lines)])


def speak(net, characters=300, begin="the statement is", temperature=0.6, seed=0) -> str:
    """Return `begin`, continued by so many characters drawn with the probabilities of `net`.

    `net` maps a float32 tensor (1, 512) to a tensor or an array (1, 32). It always gets the same
    tensor object, with different numbers. The outputs are divided by `temperature`, so a lower one
    makes likely characters even likelier. A given seed gives the same text, unless a draw falls
    where two programs differ in the last digits.
    """
    x, dice = torch.zeros(1, CONTEXT * len(SYMBOLS)), Random(seed)
    ones, one_hot = x.numpy()[0], torch.eye(len(SYMBOLS)).numpy()
    text = begin.rjust(CONTEXT)
    ones[:] = one_hot[[SYMBOLS.index(c) for c in text[-CONTEXT:]]].ravel()
    for _ in range(characters):
        scores = net(x)[0].tolist()
        top = max(scores)
        chances = [exp((score - top) / temperature) for score in scores]
        symbol = dice.choices(range(len(SYMBOLS)), chances)[0]
        text += SYMBOLS[symbol]
        ones[: -len(SYMBOLS)] = ones[len(SYMBOLS) :]
        ones[-len(SYMBOLS) :] = one_hot[symbol]
    return text
