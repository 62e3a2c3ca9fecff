"""The script for a GPU starts where there is none: it says so, and its dry run writes a file."""

import json

import pytest
import torch

from benchmarks import gpu


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_says_so():
    with pytest.raises(SystemExit, match="2"):
        gpu.main([])


def test_dry_run_writes_each_way_and_both_clocks(monkeypatch, tmp_path):
    monkeypatch.setattr(gpu, "TOLERANCE", {torch.float32: 0.01})
    monkeypatch.setattr(gpu, "BATCH", 1e-4)
    gpu.main(["--device", "cpu", "--json", str(tmp_path / "r.json")])
    data = json.loads((tmp_path / "r.json").read_text())
    assert (data["device"], data["left_out"]) == ("cpu (dry run)", [])
    assert data["machine"]["device"] == "cpu"
    assert [*data["limits"]] == ["one operation", "copy", "float32 product", "bfloat16 product"]
    for one in data["limits"].values():
        assert 0 < one["work"] / one["queued"][1] < 1e14, one
    assert len(data["results"]) == len(gpu.NETWORKS)
    for one in data["results"].values():
        assert [*one["compared"]] == ["eager", "torch.compile", "with CUDA graphs"]
        for way, (low, middle, high) in one["queued"].items():
            assert 0 <= low <= middle <= (high or 1), way
