"""The C compiler: found, started without a shell, and its failures explained."""

import os
import platform
import subprocess
import sys
import tempfile
import time

import pytest
import torch

from d2lhybrid import hybridize, toolchain
from d2lhybrid.toolchain import CompilationFailed, CompilerNotFound


@pytest.fixture
def unseen():
    """A function that was not compiled yet, so that the compiler must be started."""
    number = time.time_ns() % 10**9
    return lambda x: x * number


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


def test_hybridize_without_a_c_compiler_raises_with_advice(unseen, monkeypatch, tmp_path, x):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(toolchain, "find_spec", lambda name: None)
    with pytest.raises(CompilerNotFound, match=r"pip install ziglang.*apt install gcc"):
        hybridize(unseen, x)
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(CompilerNotFound, match="no-such-compiler"):
        hybridize(unseen, x)


@pytest.mark.parametrize("there", [["cc", "gcc", "clang"], ["gcc", "clang"], ["clang"], []])
def test_the_first_compiler_that_is_there_is_taken(monkeypatch, tmp_path, there):
    for name in there:
        script(tmp_path / name, "exit 0")
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(toolchain, "find_spec", lambda name: name == "ziglang")
    assert toolchain.find_compiler() == (there[:1] or [sys.executable, "-m", "ziglang", "cc"])


BAD_COMPILERS = {  # what it does: how, and the error
    "fails": ("echo what is wrong >&2; exit 3", "failed with status 3:\nwhat is wrong"),
    "writes no text": (r"printf '\377\376' >&2; exit 1", "failed with status 1"),
    "makes nothing": ("exit 0", "TMPDIR"),
    "makes garbage": ('for last; do case $last in *.so) echo no >"$last";; esac; done', "TMPDIR"),
}


@pytest.mark.parametrize("does", BAD_COMPILERS)
def test_a_compiler_that_makes_no_library(unseen, monkeypatch, tmp_path, folder, does, x):
    text, error = BAD_COMPILERS[does]
    monkeypatch.setenv("CC", script(tmp_path / "cc", text))
    with pytest.raises(CompilationFailed, match=error):
        hybridize(unseen, x)
    assert not list(folder.iterdir())
    monkeypatch.delenv("CC")
    assert torch.equal(hybridize(unseen, x)(x), unseen(x)), "a failure is not remembered"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux's full device")
def test_a_full_disk_is_not_taken_for_a_missing_compiler(unseen, monkeypatch, tmp_path, folder, x):
    says = "echo 'cc: error writing to /tmp/x.s: No space left on device' >&2; exit 1"
    monkeypatch.setenv("CC", script(tmp_path / "cc", says))
    with pytest.raises(OSError, match=r"No space left on device: make room in .*TMPDIR"):
        hybridize(unseen, x)
    monkeypatch.setattr(toolchain.Path, "write_text", lambda *_, **__: os.write(full, b"x"))
    with open("/dev/full", "w") as file:
        full = file.fileno()
        with pytest.raises(OSError, match="make room"):
            hybridize(unseen, x)


def test_the_command_may_be_a_path_with_blanks_or_have_arguments(monkeypatch, tmp_path, x):
    (tmp_path / "Program Files").mkdir()
    path = script(tmp_path / "Program Files" / "cc", 'exec cc "$@"')
    for number, command in enumerate([path, "cc -DSOMETHING='a b'"], time.time_ns() % 10**9):
        monkeypatch.setenv("CC", command)
        assert torch.equal(hybridize(lambda x, n=number: x * n, x)(x), x * number), command


@pytest.mark.parametrize("command", ["cc; touch {}", "$(touch {})", "`touch {}`"])
def test_no_shell_reads_the_command(unseen, monkeypatch, tmp_path, x, command):
    monkeypatch.setenv("CC", command.format(tmp_path / "proof"))
    with pytest.raises(CompilerNotFound):
        hybridize(unseen, x)
    assert not (tmp_path / "proof").exists()


def test_compiled_once_for_this_processor_in_a_private_folder(
    unseen, monkeypatch, tmp_path, folder, x
):
    log = tmp_path / "log"
    look = 'echo "$@"; for last; do case $last in *.c) ls -ld "$(dirname "$last")";; esac; done'
    monkeypatch.setenv("CC", script(tmp_path / "cc", f"({look}) >>'{log}'\nexec cc \"$@\""))
    first, second = hybridize(unseen, x), hybridize(unseen, x[:1])
    assert torch.equal(first(x), second(x))
    asked, called, private = log.read_text().splitlines()
    assert asked == "-dumpmachine"
    own = "-march=native" if platform.machine() in ("x86_64", "AMD64") else "-mcpu=native"
    assert own in called.split()
    assert str(folder) in called
    assert private.startswith("drwx------")
    assert not list(folder.iterdir())


# What differs between systems ---------------------------------------------------------------


@pytest.fixture
def written(monkeypatch, tmp_path):
    """A function that compiles a source for a target and gives the arguments and what was read."""

    def write(source, target):
        files = tmp_path / "arguments", tmp_path / "source.c"
        keep = f'echo "$@" >{files[0]}; for one; do case $one in *.c) cp "$one" {files[1]};; esac'
        says = f"if [ $1 = -dumpmachine ]; then echo {target}; exit; fi"
        monkeypatch.setenv("CC", script(tmp_path / f"cc {target}", f"{says}; {keep}; done; exit 1"))
        with pytest.raises(CompilationFailed):
            toolchain.load_library(source)
        return files[0].read_text().split(), files[1].read_text("utf-8")

    return write


DECLARED = "struct s {\n    int a;\n} all;\nstatic int g(void) { return 0; }\n"
DECLARED += "typedef int number;\nenum { one };\nconst struct s *f(void)\n{\n    return &all;\n}\n"


TARGETS = {  # what the compiler says: whether its code runs here, and on Windows
    f"{platform.machine()}-{sys.platform}": (True, os.name == "nt"),
    "riscv64-linux-gnu": (False, False),
    "arm64-apple-macos13" if platform.machine() == "x86_64" else "x86_64-macos": (False, False),
    "sparc-w64-mingw32": (False, True),
    "sparc-unknown-windows-gnu": (False, True),
}


@pytest.mark.parametrize("target", TARGETS)
def test_the_target_decides_options_and_exports(written, target):
    here, windows = TARGETS[target]
    exported = DECLARED.replace("struct s {", "__declspec(dllexport) struct s {")
    exported = exported.replace("const struct", "__declspec(dllexport) const struct")
    arguments, source = written(DECLARED, target)
    assert source == (exported if windows else DECLARED)
    assert ["-shared" in arguments, "-fPIC" in arguments] == [True, not windows]
    assert any(one.endswith("=native") for one in arguments) == here


@pytest.mark.skipif(os.name == "nt", reason="asks a shell")
def test_zig_needs_no_home_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("ZIG_GLOBAL_CACHE_DIR", raising=False)
    for home in (tmp_path, tmp_path / "none"):
        monkeypatch.setenv("HOME", str(home))
        said = toolchain.run(["sh", "-c", "echo $ZIG_GLOBAL_CACHE_DIR"]).stdout.strip()
        assert os.path.isdir(said) == (home != tmp_path)


def test_source_is_written_as_utf_8_whatever_the_locale_is():
    source = r"int f(void) { return 1; } /* gr\u00f6\u00dfer */"
    code = f'from d2lhybrid import load_library; load_library("{source}")'
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    subprocess.run([sys.executable, "-c", code], env=os.environ | locale, check=True)
