"""`python -m d2lhybrid`: the files that it writes, and those that it refuses."""

import json
import re
from pathlib import Path

import pytest
from measure_helpers import Clock, example

from d2lhybrid import Comparison, Sweep, bench
from d2lhybrid.__main__ import main


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (["--json", "none/a.json"], "argument --json: .*No such file or directory: 'none/a.json'"),
        (["--json", "."], r"argument --json: .*'\.'"),
        (["--plot", "none/a.png"], "argument --plot: .*No such file or directory: 'none/a.png'"),
        (["--plot", "a.xyz"], "argument --plot: .*'a.xyz' must end in .png, .pdf or .svg"),
        (["--json", "a.json", "--plot", "a"], "argument --plot: 'a' must end in"),
    ],
)
def test_files_that_cannot_be_written_are_refused_at_once(
    file, message, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bench, "compare_ways", lambda batches: pytest.fail("it measured"))
    with pytest.raises(SystemExit) as stop:
        main(["bench", *file])
    assert stop.value.code == 2
    assert re.search(message, capsys.readouterr().err)
    assert not any(tmp_path.iterdir())


def test_a_result_stays_until_there_is_a_new_one(tmp_path, monkeypatch):
    def interrupted(batches):
        raise KeyboardInterrupt

    monkeypatch.setattr(bench, "compare_ways", interrupted)
    file = tmp_path / "a.json"
    file.write_text("{}")
    with pytest.raises(KeyboardInterrupt):
        main(["bench", "--json", str(file)])
    assert file.read_text() == "{}"


def test_the_bench_writes_what_it_shows(monkeypatch, tmp_path, capsys):
    clock = Clock()
    swept = {1: example(clock), 8: example(clock)}
    monkeypatch.setattr(
        bench, "compare_ways", lambda batches: Sweep({n: swept[n] for n in batches})
    )
    files = [str(tmp_path / "r.json"), str(tmp_path / "r.png")]
    main(["bench", "--json", files[0], "--plot", files[1]])
    result = Comparison.from_dict(json.loads(Path(files[0]).read_text()))
    assert str(result) == capsys.readouterr().out.rstrip("\n")
    assert Path(files[1]).read_bytes().startswith(b"\x89PNG")
    main(["bench", "--batch", "1", "8", "--json", files[0]])
    assert list(Sweep.from_dict(json.loads(Path(files[0]).read_text()))) == [1, 8]
    with pytest.raises(SystemExit):
        main(["bench", "--batch", "0"])
