"""What only CUDA can do, in `Gpu`, and the same on the CPU, in `DryRun`. For `bench --gpu`.

    gpu = DryRun()  # or Gpu()
    start = gpu.mark(gpu.first)  # in the queue of the first stream
    torch.mm(x, x, out=y)
    end = gpu.mark(gpu.first)
    gpu.synchronize()
    gpu.seconds(start, end)  # what the product took on the GPU

A mark is what CUDA calls an event: the GPU notes the time when it comes to it. See notebook 18, and
*CUDA semantics* in PyTorch's documentation.
"""

import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from time import perf_counter
from typing import Any

import torch


class Gpu:
    """The first GPU, or the first two. `first` is the stream in use, `second` another one."""

    def __init__(self, count: int = 1):
        self.devices = [torch.device("cuda", i) for i in range(count)]
        self.name = torch.cuda.get_device_name(0)
        self.first, self.second = torch.cuda.current_stream(), torch.cuda.Stream()

    @staticmethod
    def count() -> int:
        """How many there are in this machine."""
        return torch.cuda.device_count() if torch.cuda.is_available() else 0

    def synchronize(self) -> None:
        """Wait until all streams of these GPUs are done."""
        for device in self.devices:
            torch.cuda.synchronize(device)

    def mark(self, stream: Any) -> Any:
        """Put a mark into the queue of a stream."""
        event = torch.cuda.Event(enable_timing=True)
        event.record(stream)
        return event

    def seconds(self, start: Any, end: Any) -> float:
        """The time from one mark to a later one. Both must have been passed: synchronize first."""
        return start.elapsed_time(end) / 1000  # from milliseconds

    def wait(self, stream: Any, mark: Any) -> None:
        """What is put into the stream from now on begins after the mark. This returns at once."""
        stream.wait_event(mark)

    def on(self, stream: Any) -> AbstractContextManager:
        """A block whose jobs go into the stream."""
        return torch.cuda.stream(stream)

    def pinned(self, *shape: int) -> torch.Tensor:
        """Memory of the CPU that a GPU can fill by itself."""
        return torch.zeros(shape, pin_memory=True)

    def compiled(self, net: torch.nn.Module, with_graphs: bool) -> Callable:
        """The network by torch.compile. With graphs a run overwrites the result of the last one."""
        mode = "reduce-overhead" if with_graphs else "default"
        return torch.compile(net, dynamic=False, mode=mode)

    def captured(self, jobs: Callable[[], Any]) -> Callable[[], None]:
        """One call that does all jobs again, with the same memory, in the stream in use."""
        side = torch.cuda.Stream()
        side.wait_stream(self.first)
        with torch.cuda.stream(side):  # libraries prepare themselves in first calls
            for _ in range(3):
                jobs()
        self.first.wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):  # waits for all, and has a stream of its own
            jobs()
        return graph.replay

    def describe(self) -> dict[str, Any]:
        """All GPUs of this machine, and the versions of what drives them."""
        found = map(torch.cuda.get_device_properties, range(self.count()))
        question, driver = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], ""
        with suppress(OSError, subprocess.SubprocessError):
            said = subprocess.run(question, capture_output=True, text=True, timeout=30, check=True)
            driver = said.stdout.partition("\n")[0].strip()
        return {
            "gpus": [{"name": gpu.name, "memory": gpu.total_memory} for gpu in found],
            "peer_access": self.count() > 1 and torch.cuda.can_device_access_peer(0, 1),
            "driver": driver or None,
            "cuda": torch.version.cuda,
        }


class DryRun:
    """Like `Gpu`, on the CPU, which has done each job when its call returns. It is no GPU."""

    name, first, second = "cpu (dry run)", "first", "second"

    def __init__(self, count: int = 1):
        self.devices = [torch.device("cpu")] * count

    @staticmethod
    def count():
        return 2

    def synchronize(self):
        pass

    def mark(self, stream):
        return perf_counter()

    def seconds(self, start, end):
        return end - start

    def wait(self, stream, mark):
        pass

    def on(self, stream):
        return nullcontext()

    def pinned(self, *shape):
        return torch.zeros(shape)

    def compiled(self, net, with_graphs):
        return torch.compile(net, dynamic=False, backend="eager")  # needs no compiler for C++

    def captured(self, jobs):
        return jobs

    def describe(self):
        return {"gpus": [], "peer_access": False, "driver": None, "cuda": None}
