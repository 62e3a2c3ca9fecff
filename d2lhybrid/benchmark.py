"""The book's stopwatch, corrected: `Timer` collects times, `Benchmark` times one block."""

from itertools import accumulate
from time import perf_counter

from .device import synchronize


class Timer:
    """A stopwatch that keeps every time it took. It starts when it is made.

    The clock is `time.perf_counter`: it never runs backwards and no one can set it, unlike
    the time of day. `times` holds the recorded times in seconds.
    """

    def __init__(self):
        self.times = []
        self.start()

    def start(self):
        """Start, or start again."""
        self.tik = perf_counter()

    def stop(self):
        """Record the seconds since the last start, and return them."""
        self.times.append(perf_counter() - self.tik)
        return self.times[-1]

    def avg(self):
        """The mean of the recorded times, in seconds; ZeroDivisionError where there is none."""
        return sum(self.times) / len(self.times)

    def sum(self):
        """All recorded times together, in seconds."""
        return sum(self.times)

    def cumsum(self):
        """The running total: the seconds passed by the end of each recorded time."""
        return list(accumulate(self.times))


class Benchmark:
    """Time a block of code once, and print `description: 0.0323 sec`.

        with Benchmark("Without torchscript"):
            for _ in range(1000):
                net(x)

    `seconds` holds the time afterwards. A block that raises gets no time printed: it did not
    do the work. One run of one block is a weak witness; to find out which of two programs
    is faster, measure as notebook 05 does.
    """

    def __init__(self, description="Done"):
        self.description = description

    def __enter__(self):
        synchronize()  # work that a GPU still has in its queue is not ours
        self.timer = Timer()
        return self

    def __exit__(self, exception_type, exception, traceback):
        synchronize()  # and the work that we gave it is
        self.seconds = self.timer.stop()
        if exception_type is None:
            print(f"{self.description}: {self.seconds:.4f} sec")
