"""The course's comparisons: its network, run in every way that this machine has.

`compare_ways` is explained in notebook 12, `compare_frameworks` in notebook 17.
"""

from collections.abc import Callable
from contextlib import nullcontext
from copy import deepcopy
from typing import Any

from ..hybrid.compiler import hybridize
from ..lesson import muted
from ..machine.limits import c_loop, reading
from ..measure.candidates import recipe
from ..measure.processes import started
from ..measure.show import progress_line
from ..measure.sweeps import Sweep, sweep
from ..nets import get_net, random_input
from ..side_by_side import framework_ways, missing_frameworks, network_input, network_weights
from ..side_by_side.this_process import others_ways, torchs_ways


def compare_ways(
    batches: tuple[int, ...] = (1,),
    report: Callable[[str], None] = print,
    time_limit: float = 3.0,
    **options: Any,
) -> Sweep:
    """Compare the ways to run the course's network, at each batch size. Returns a `Sweep`.

    The baseline is the network as it comes, eager, with gradients; everything else runs without.
    What is not installed does not take part, and what fails is left out; `report` gets a line
    about it. `options` go to `compare`; with an `on_error` of its own, the caller gets the errors
    and `report` stays silent.
    """
    failed = []
    show = progress_line(options.pop("progress", None))  # made here, where nothing is muted
    options = {"on_error": failed.append, **options, "time_limit": time_limit, "progress": show}
    with muted():
        answer = sweep(ways(get_net()), random_input, batches, **options)
    for error in failed:
        report(f"left out: {str(error).splitlines()[0]}")
    return answer


def compare_frameworks(
    batches: tuple[int, ...] = (1,),
    report: Callable[[str], None] = print,
    time_limit: float | None = None,
    launches: int = 1,
    **options: Any,
) -> Sweep:
    """Compare all frameworks that are there, at each batch size. Returns a `Sweep`.

    Each way runs in a process of its own, with one thread and without gradients; the baseline is
    PyTorch's eager. `report` gets a line about what is not installed, and one about each way that
    fails and is left out. `options` go to `compare`; with an `on_error` of its own, the caller gets
    the errors. By default each way is started once, for all sizes, and a size is measured for 10 s;
    two runs may then differ by more than their intervals say. With several `launches`, 11 or more
    for all ways, it is 3 s for each.
    """
    if missing := missing_frameworks():
        report(f"not installed, so left out: {', '.join(missing)}")
    failed = []
    weights = network_weights()
    options = {"on_error": failed.append, **options, "launches": launches}
    options["time_limit"] = time_limit or (10.0 if launches == 1 else 3.0 * launches)
    ways = framework_ways()
    options.setdefault("baseline", next(iter(ways)))  # if it fails, there is nothing to compare
    once = started(ways, on_error=options["on_error"]) if launches == 1 else nullcontext(ways)
    with once as running:
        answer = sweep(running, lambda n: (weights, network_input(n)), batches, **options)
    for error in failed:
        report(f"left out: {str(error).splitlines()[0]}")
    return answer


def ways(net):
    """label -> candidate; first the baseline."""
    frozen = deepcopy(net).eval().requires_grad_(False)
    return {
        "eager": net,
        "eager, no gradients": frozen,
        **{label: recipe(build) for label, build in torchs_ways(net, frozen).items()},
        **{label: recipe(build) for label, build in others_ways(net).items()},
        **our_ways(frozen),
    }


def our_ways(net):
    """What our own compiler makes of it, and what limits that; the lowest limit is last."""
    x = random_input()
    return {
        "hybridize": recipe(lambda: hybridize(net, x)),
        "the same C, in a C loop": recipe(lambda: c_loop(net, x)),
        "limit: read the weights": recipe(lambda: reading(net, x)),
    }
