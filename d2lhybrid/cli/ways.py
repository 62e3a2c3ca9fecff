"""The course's comparisons: its network, run in every way that this machine has.

`compare_ways` is explained in notebook 12, `compare_frameworks` in notebook 17.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from ..exercises import muted
from ..measure.processes import started
from ..measure.show import progress_line
from ..measure.sweeps import Sweep, sweep
from ..nets import get_net, random_input
from ..side_by_side import framework_ways, missing_frameworks, network_input, network_weights
from ..side_by_side.this_process import ways


def compare_ways(
    batches: Sequence[int] = (1,), report: Callable[[str], None] = print, **options: Any
) -> Sweep:
    """Compare the ways to run the course's network, at each batch size. Returns a `Sweep`.

    The baseline is the network as it comes, eager, with gradients; everything else runs without.
    What is not installed does not take part, and what fails is left out; `report` gets a line
    about it. `options` go to `compare`; a size is measured for 3 s unless they say otherwise.
    """
    failed, show = [], progress_line(None)  # made here, where nothing is muted
    options = {"time_limit": 3.0, "on_error": failed.append, "progress": show} | options
    with muted():
        answer = sweep(ways(get_net()), random_input, batches, **options)
    _report(failed, report)
    return answer


def compare_frameworks(
    batches: Sequence[int] = (1,),
    report: Callable[[str], None] = print,
    launches: int = 1,
    **options: Any,
) -> Sweep:
    """Compare all frameworks that are there, at each batch size. Returns a `Sweep`.

    Each way runs in a process of its own, with one thread and without gradients; the baseline is
    PyTorch's eager. `report` gets a line about what is not installed, and one about each way that
    fails and is left out. By default each way is started once, for all sizes, and a size is
    measured for 10 s; two runs may then differ by more than their intervals say. With several
    `launches`, 11 or more for all ways, it is 3 s for each. `options` go to `compare`.
    """
    if missing := missing_frameworks():
        report(f"not installed, so left out: {', '.join(missing)}")
    weights, programs, failed = network_weights(), framework_ways(), []
    options = {
        "baseline": next(iter(programs)),  # if it fails, there is nothing to compare
        "time_limit": 10.0 if launches == 1 else 3.0 * launches,
        "on_error": failed.append,
        "launches": launches,
    } | options
    once = started(programs, on_error=failed.append) if launches == 1 else nullcontext(programs)
    with once as running:
        answer = sweep(running, lambda n: (weights, network_input(n)), batches, **options)
    _report(failed, report)
    return answer


def _report(failed, report):
    for error in failed:
        report(f"left out: {str(error).splitlines()[0]}")
