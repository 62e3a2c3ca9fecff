"""What the sanitizer must mask, and what it must never mask."""

import re

import pytest
from sanitizer import PATTERNS, TEXT, sanitize


def test_nbval_finds_every_pattern():
    assert len(PATTERNS) == TEXT.count("\nregex: ") == TEXT.count("\nreplace: ") == 18


MASKED = [
    ("Done: 0.0323 sec", "Done: <time> sec"),
    ("With torchscript: 12.0323 sec\n", "With torchscript: <time> sec\n"),
    ("a\nDone: 0.0323 sec\nb", "a\nDone: <time> sec\nb"),
    ("ratio: 1.02 (measured here)", "ratio: <figure> (measured here)"),
    ("build_cost: 3105 µs (measured here)", "build_cost: <figure> µs (measured here)"),
    ("as written / rewritten: 3.7 times (measured here)", "<figure> times"),
    ("file: 651 KiB (measured here)", "file: <figure> KiB (measured here)"),
    ("PyTorch: 720 MiB (measured here)", "PyTorch: <figure> MiB (measured here)"),
    ("change: -3.1% (measured here)", "change: <figure>% (measured here)"),
    ("copy: 11.9 GB/s (measured here)", "copy: <figure> GB/s (measured here)"),
    ("a product: 97.3 GFLOP/s (measured here)", "a product: <figure> GFLOP/s (measured here)"),
    ("this torch: 2.13.0 says this or that", "this torch: <depends>"),
    ("this Python: has no attribute 'f'", "this Python: <depends>"),
    ("this machine: has no GPU", "this machine: <depends>"),
    ("this machine: one:\n  two\n  three\nfour", "this machine: <depends>\nfour"),
    ("measured on: a machine, 2 cores", "measured on: MACHINE"),
    ("measured on: a machine\nwith: Python 3.11.7, torch 2.13.0\nb", "measured on: MACHINE\nb"),
    ("noise floor 1.7%, 94 rounds in 0.13 s", "noise floor FIGURES"),
    ("On my machine (an i7, 2 cores), a ran it\n1.3 as b.\nb", "On my machine SENTENCE\nb"),
    (
        "noise floor 1.7%, 9 processes, 94 rounds in 0.13 s; undecided: net\n"
        "note: net spreads by 1.0% within a process, and by 2.3% between processes\nnext",
        "noise floor FIGURES\nnext",
    ),
    ("crossings: none", "crossings: FIGURES"),
    ("in a cold process, warm cache", "in a cold process"),
    ("eager           83.61 \u00b5s             baseline", "eager FIGURES baseline"),
    ("script   65.6 \u00b5s  1.271  1.253 to 1.287  faster", "script FIGURES"),
    ("script   65.6 \u00b5s  24.0  9.253 to 1980  faster", "script FIGURES"),
    ("8   83.6 \u00b5s   1.271~   0.900   24.0   1980~", "8 FIGURES"),
    ("script  in a warm process   33.79 ms     3771 calls", "script  in a warm process FIGURES"),
    ("script   33.79 ms     3771 calls  3000 to never", "script FIGURES"),
    ("script   33.79 ms      at once", "script FIGURES"),
    ("script  in a cold process, warm cache   1.2 s  no clear gain", "in a cold process FIGURES"),
    ("our own C    664 KiB   0 MiB    1.2 ms   3.8 \u00b5s", "our own C FIGURES"),
    (
        "calls  bytes  flops  overhead  memory  compute\nrelu  1  2.05 k  4.17 µs\n5 operations\n",
        "calls  bytes  flops  overhead  memory  compute FIGURES\n",
    ),
    ("<th>compute</th></tr>\n<tr>relu</tr>\n</table>", "compute</th></tr> FIGURES</table>"),
    ('<td class="measured" x>1.2</td>', '<td class="measured" x>FIGURES</td>'),
    ('<svg a="b"\ndata-figures="measured" c><rect x="1"/>\n</svg>', "<svg>FIGURES</svg>"),
    ("<function f at 0x7f3a2b4c5d60>", "<function f at <address>>"),
]


@pytest.mark.parametrize(("text", "expected"), MASKED)
def test_sanitizer_masks_measured_output(text, expected):
    assert expected in sanitize(text)
    assert sanitize(sanitize(text)) == sanitize(text)


@pytest.mark.parametrize(("text", "_"), MASKED[:11])
def test_masks_the_figure_and_keeps_the_words(text, _):
    figure = re.search(r"-?\d[\d.]*", text).group()
    other = text.replace(figure, figure.replace(figure[-1], "7").replace(".0", ".9"))
    assert sanitize(other) == sanitize(text)
    assert sanitize(text.replace(":", "!:", 1)) != sanitize(text)


@pytest.mark.parametrize(
    "text",
    [
        "the book, notebook      2.1447 s -> 4.0545 s    ratio 1.89",
        "2.1447 sec",
        "Done: 0.03231 sec",  # not Benchmark's format: four decimals
        "Done: 0.0323 seconds",
        "Done: 0.0323 sec or so",
        "ratio: 1.02",
        "ratio: faster (measured here)",
        "ratio: 1.02 (measured there)",
        "memory: 333 GB/s",
        "memory: 11.9 GB (measured here)",
        "weights: 641 KiB, biases: 1544 bytes",
        "3 calls",
        "in 1.5 ms 3 calls",
        "script  in a warm process",
        "our own C    664 KiB   0 MiB",
        "0 additions, 1 calls",
        "10",
        "torch.Size([1, 2])",
        "this is torch: 2.13.0",
        "with: Python 3.11.7, torch 2.13.0",
        "on this torch: 2.13.0",
        "a\n  indented",
        "trace:   -3.0",
        "freed 10",
        "0x7f3a2b4c5d60",
        "at 0x12",
        "at facade",
        "at 0x7f3a2b4c5d60 and more".replace("0x", "1x"),
        "Times, as bars from a common start: call 1, call 2 and call 3.",
        "Speed-ups over eager at the sizes 1 and 16.",
        "On my machine, a ran it.",
    ],
)
def test_sanitizer_leaves_other_output_alone(text):
    assert sanitize(text) == text
