"""What a measurement says about where it was made."""

import json
from types import SimpleNamespace

import torch

import d2lhybrid
from d2lhybrid.measure.machine import describe_machine, machine_line, software_line


def test_what_a_reader_must_know():
    with torch.no_grad():
        machine = describe_machine(torch.zeros(1))
    assert machine["gradients"] is False
    assert describe_machine()["gradients"] is True
    assert machine["device"] == "cpu"
    assert machine["threads"] == torch.get_num_threads()
    assert machine["versions"]["torch"] == torch.__version__
    assert machine["versions"]["d2lhybrid"] == d2lhybrid.__version__
    assert json.loads(json.dumps(machine)) == machine
    line = machine_line(machine)
    threads = "1 thread" if machine["threads"] == 1 else f"{machine['threads']} threads"
    for part in (machine["processor"], machine["date"][:10], threads):
        assert part in line
    for part in ("gradients off", f"torch {torch.__version__}"):
        assert part in software_line(machine)


def test_the_machine_names_the_devices_of_the_arguments():
    there = SimpleNamespace(device="mps:0")
    assert describe_machine(3, there, there)["device"] == "mps:0"
    assert describe_machine(3)["device"] == "cpu"
    assert "mps:0" in machine_line(describe_machine(there))
