"""Faults in versions of PyTorch and Python that would teach something wrong, worked around."""

import sys

import torch
from torch._C._dynamo import eval_frame


def reset_compiler():
    """Forget all that was compiled, and work around two faults of older versions.

    torch 2.11: a `torch.jit.trace` that fails at `torch.cond` leaves a mark, and from then on
    `torch.compile` captures nothing behind a graph break.

    Python 3.13.0, with torch 2.11: a dict doesn't notice that an attribute was set
    (python/cpython#125608), so a guard takes the old value for the present one.
    """
    torch.compiler.reset()
    if hasattr(eval_frame, "set_eval_frame_override"):
        eval_frame.set_eval_frame_override(eval_frame._EvalFrameOverride.NONE)
    config = torch._dynamo.config
    if sys.version_info[:3] == (3, 13, 0) and hasattr(config, "use_recursive_dict_tags_for_guards"):
        config.use_recursive_dict_tags_for_guards = False
