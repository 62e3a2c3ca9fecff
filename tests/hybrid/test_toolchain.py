"""The C compiler: found, started without a shell, and its failures explained."""

import platform
import tempfile
import time
from pathlib import Path

import pytest
import torch

from d2lhybrid import hybridize, toolchain, trace
from d2lhybrid.hybrid.codegen import python_function
from d2lhybrid.toolchain import CompilationFailed, CompilerNotFound


@pytest.fixture
def unseen():
    """A function that was not compiled yet, so that the compiler must be started."""
    number = time.time_ns() % 10**9

    def function(x):
        return x * number

    return function


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder for temporary files, with a name that a shell would split."""
    folder = tmp_path / "a b; $(touch c) 'd' \"e\" & f"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_without_a_compiler(unseen, monkeypatch, tmp_path, x):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CompilerNotFound, match=r"Install the package gcc .*apt install gcc"):
        hybridize(unseen, x)
    assert torch.equal(python_function(trace(unseen, x))(x), unseen(x))


@pytest.mark.parametrize("there", [["cc", "gcc", "clang"], ["gcc", "clang"], ["clang"]])
def test_the_first_compiler_that_is_there_is_taken(monkeypatch, tmp_path, there):
    for name in there:
        script(tmp_path / name, "exit 0")
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert toolchain.find_compiler() == there[:1]


def test_a_compiler_that_does_not_exist(unseen, monkeypatch, x):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(CompilerNotFound, match="no-such-compiler"):
        hybridize(unseen, x)


def test_a_compiler_that_fails(unseen, monkeypatch, tmp_path, folder, x):
    monkeypatch.setenv("CC", script(tmp_path / "cc", "echo what is wrong >&2; exit 3"))
    with pytest.raises(CompilationFailed, match="what is wrong"):
        hybridize(unseen, x)
    assert not list(folder.iterdir())
    monkeypatch.delenv("CC")
    assert torch.equal(hybridize(unseen, x)(x), unseen(x)), "a failure is not remembered"


UNUSABLE = r"CC name a C compiler.* TMPDIR"
BAD_COMPILERS = {  # what it does: how, and the error
    "says nothing": ("exit 3", "failed with status 3"),
    "writes no text": (r"printf '\377\376' >&2; exit 1", "failed with status 1"),
    "makes nothing": ("exit 0", UNUSABLE),
    "makes garbage": (
        'for last; do case $last in *.so) echo garbage >"$last";; esac; done',
        UNUSABLE,
    ),
}


@pytest.mark.parametrize("does", BAD_COMPILERS)
def test_a_compiler_that_makes_no_such_library(unseen, monkeypatch, tmp_path, does, x):
    text, error = BAD_COMPILERS[does]
    monkeypatch.setenv("CC", script(tmp_path / "cc", text))
    with pytest.raises(CompilationFailed, match=error):
        hybridize(unseen, x)


def test_no_folder_for_temporary_files(unseen, monkeypatch, tmp_path, x):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(CompilationFailed, match="TMPDIR"):
        hybridize(unseen, x)


def test_the_processors_own_vectors_are_used(unseen, monkeypatch, tmp_path, x):
    log = tmp_path / "log"
    monkeypatch.setenv("CC", script(tmp_path / "cc", f'echo "$@" >>"{log}"\nexec cc "$@"'))
    hybridize(unseen, x)
    own = "-march=native" if platform.machine() in ("x86_64", "AMD64") else "-mcpu=native"
    assert own in log.read_text().split()


def test_the_command_may_be_a_path_with_blanks_or_have_arguments(monkeypatch, tmp_path, x):
    (tmp_path / "Program Files").mkdir()
    path = script(tmp_path / "Program Files" / "cc", 'exec cc "$@"')
    for number, command in enumerate([path, "cc -DSOMETHING='a b'"], time.time_ns() % 10**9):
        monkeypatch.setenv("CC", command)
        assert torch.equal(hybridize(lambda x, n=number: x * n, x)(x), x * number), command


@pytest.mark.parametrize("command", ["cc; touch {}", "cc && touch {}", "$(touch {})", "`touch {}`"])
def test_no_shell_reads_the_command(unseen, monkeypatch, tmp_path, x, command):
    monkeypatch.setenv("CC", command.format(tmp_path / "proof"))
    with pytest.raises((CompilerNotFound, CompilationFailed)):
        hybridize(unseen, x)
    assert not (tmp_path / "proof").exists()


def test_files_are_private_and_removed(unseen, monkeypatch, tmp_path, folder, x):
    report = tmp_path / "report"
    command = (
        f'for last; do case $last in *.c) ls -ld "$(dirname "$last")" >\'{report}\';; esac; done'
    )
    monkeypatch.setenv("CC", script(tmp_path / "cc", f'{command}\nexec cc "$@"'))
    fast = hybridize(unseen, x)
    assert torch.equal(fast(x), unseen(x))
    assert report.read_text().startswith("drwx------")
    assert str(folder) in report.read_text()
    assert not list(folder.iterdir())
    assert not Path("c").exists()


def test_the_same_source_is_compiled_once(unseen, monkeypatch, tmp_path, x):
    log = tmp_path / "log"
    monkeypatch.setenv("CC", script(tmp_path / "cc", f'echo once >>"{log}"\nexec cc "$@"'))
    first, second = hybridize(unseen, x), hybridize(unseen, x[:1])
    assert torch.equal(first(x), second(x))
    assert log.read_text().count("once") == 1
