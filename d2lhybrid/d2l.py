"""The book's names, corrected: `Timer`, `Benchmark`, `try_gpu` and the others.

Explained in notebook 05; the usual tool is PyTorch's own `torch.utils.benchmark`.
"""

from itertools import accumulate
from time import perf_counter

from .frameworks import synchronize


class Timer:
    """A stopwatch that starts when it is created; `times` lists all recorded times, in seconds.

    The clock is `time.perf_counter`, which never runs backwards, unlike the time of day.
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
        """The mean of the recorded times, in seconds; ZeroDivisionError if there are none."""
        return sum(self.times) / len(self.times)

    def sum(self) -> float:
        """The sum of all recorded times, in seconds."""
        return sum(self.times)

    def cumsum(self) -> list[float]:
        """The running total: the seconds that had passed by the end of each recorded time."""
        return list(accumulate(self.times))


class Benchmark:
    """Time a block of code once, and print `description: 0.0323 sec`.

        with Benchmark("Without torchscript"):
            for _ in range(1000):
                net(x)

    Afterwards, `seconds` holds the time. Nothing is printed for a block that raises an exception.
    Or, as in the book's next edition, time a function: call it `warmup` times, and then `repeats`
    times. `time` is the mean of the latter in seconds, and printing shows `desc: 0.03 ms/call`.

        print(Benchmark(lambda: net(x), desc="Without torchscript"))

    A single run is weak evidence. To find out which of two programs is faster, measure as in
    notebook 06.
    """

    def __init__(self, description="Done", warmup: int = 3, repeats: int = 10, desc: str = "time"):
        self.description, self.time = description, None
        if callable(description):
            self.description = desc
            for _ in range(warmup):
                description()
            self.__enter__()
            for _ in range(repeats):
                description()
            synchronize()
            self.time = self.timer.stop() / repeats

    def __repr__(self):
        time = "not timed" if self.time is None else f"{1000 * self.time:.2f} ms/call"
        return f"{self.description}: {time}"

    def __enter__(self):
        synchronize()  # do not time work that was queued before
        self.timer = Timer()
        return self

    def __exit__(self, exception_type, exception, traceback):
        synchronize()  # wait for the work of this block
        self.seconds = self.timer.stop()
        if exception_type is None:
            print(f"{str(self.description).rstrip(': ')}: {self.seconds:.4f} sec")


# Devices. torch is imported only here: the clocks do without it.


def cpu():
    """The CPU, as a `torch.device`."""
    import torch

    return torch.device("cpu")


def gpu(i: int = 0):
    """GPU number `i`, as a `torch.device`, whether or not this machine has it."""
    import torch

    return torch.device("cuda", i)


def num_gpus() -> int:
    """The number of GPUs that torch can use."""
    import torch

    return torch.cuda.device_count()


def try_gpu(i: int = 0):
    """GPU number `i` if this machine has it, else the CPU."""
    return gpu(i) if i < num_gpus() else cpu()


def try_all_gpus() -> list:
    """All GPUs of this machine, or a list with only the CPU if it has none."""
    return [gpu(i) for i in range(num_gpus())] or [cpu()]
