"""The book's two stopwatches, corrected: `Timer` and `Benchmark`.

Explained in notebook 05; the usual tool is PyTorch's own `torch.utils.benchmark`.
"""

from itertools import accumulate
from time import perf_counter

from .frameworks import synchronize


class Timer:
    """A stopwatch that starts when it is made; `times` are all that it took, in seconds.

    The clock is `time.perf_counter`: it never runs backwards, unlike the time of day.
    """

    def __init__(self):
        self.times = []
        self.start()

    def start(self) -> None:
        """Start, or start again."""
        self.tik = perf_counter()

    def stop(self) -> float:
        """Record the seconds since the last start, and return them."""
        self.times.append(perf_counter() - self.tik)
        return self.times[-1]

    def avg(self) -> float:
        """The mean of the recorded times, in seconds; ZeroDivisionError where there is none."""
        return sum(self.times) / len(self.times)

    def sum(self) -> float:
        """All recorded times together, in seconds."""
        return sum(self.times)

    def cumsum(self) -> list[float]:
        """The running total: the seconds passed by the end of each recorded time."""
        return list(accumulate(self.times))


class Benchmark:
    """Time a block of code once, and print `description: 0.0323 sec`.

        with Benchmark("Without torchscript"):
            for _ in range(1000):
                net(x)

    `seconds` holds the time afterwards. For a block that raises none is printed.
    """

    def __init__(self, description: str = "Done"):
        self.description = description

    def __enter__(self):
        synchronize()  # do not time work that was queued before
        self.timer = Timer()
        return self

    def __exit__(self, exception_type, exception, traceback):
        synchronize()  # wait for the work of this block
        self.seconds = self.timer.stop()
        if exception_type is None:
            print(f"{self.description}: {self.seconds:.4f} sec")
