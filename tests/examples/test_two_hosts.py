"""The program for two machines, on one: torchrun starts two processes of it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import two_hosts


@pytest.mark.skipif(os.name == "nt", reason="gloo does not work in all of torch on Windows")
def test_two_processes_train_alike_and_time_sums(tmp_path):
    file = tmp_path / "a_copy.py"  # it needs nothing else
    file.write_bytes(Path(two_hosts.__file__).read_bytes())
    loopback = {"linux": "lo", "darwin": "lo0"}.get(sys.platform, "lo")
    options = f"--standalone --nproc-per-node 2 {file} --sizes 4 4000 --repeats 2 --steps 3"
    process = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", *options.split()],
        env=os.environ | {"GLOO_SOCKET_IFNAME": loopback},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    assert "processes: 2, with gloo;" in process.stdout
    assert "all processes end with the same bits: True" in process.stdout
    difference = re.search("largest difference .*: (.*)", process.stdout)[1]
    assert float(difference) < two_hosts.ROUNDING
    rows = re.findall(r"^ +([0-9,]+) +([\d.]+) +([\d.]+)$", process.stdout, re.MULTILINE)
    assert [size for size, *_ in rows] == ["4", "4,000"]
    assert all(measured == fitted for _, measured, fitted in rows)  # a line through two points


def test_ring_seconds_and_fitted_are_inverse():
    assert two_hosts.ring_seconds(1000, ranks=4, alpha=0.1, beta=0.001) == pytest.approx(6 * 0.35)
    times = [two_hosts.ring_seconds(size, 5, 0.1, 0.001) for size in (10, 1000)]
    assert two_hosts.fitted(10, times[0], 1000, times[1], 5) == pytest.approx((0.1, 0.001))
