"""An emulated link: one thread sleeps alpha + beta * bytes seconds a message, and uses no core.

    >>> with Link(alpha=1e-3, beta=1e-6) as link:  # 1 ms, and 1 ms for each kB
    ...     arrived = link.send(torch.ones(250))
    >>> arrived.result().sum()
    tensor(250.)

Explained in notebook 19; alpha and beta are Hockney's model of a message (1994).
"""

from concurrent.futures import Future, ThreadPoolExecutor
from time import sleep

import torch

from .log import Log


class Link:
    """Carries one message at a time, in the order of sending. A context manager.

    A message of n bytes takes `alpha` seconds, and `beta` for each byte, or a little more. At the
    end of the block the link delivers what was sent, and ends its thread.
    """

    def __init__(self, alpha: float, beta: float, log: Log | None = None):
        self.alpha, self.beta = alpha, beta
        self.log = Log() if log is None else log
        self._thread = ThreadPoolExecutor(1)

    def send(self, tensor: torch.Tensor, label: str = "message") -> Future:
        """Put a tensor on the link, and return at once; the future's result is a copy of it."""
        return self._thread.submit(self._carry, tensor.detach().clone(), label)

    def _carry(self, tensor, label):
        with self.log.span("link", label):
            sleep(self.alpha + self.beta * tensor.nbytes)
        return tensor

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._thread.shutdown()
