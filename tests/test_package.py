"""The package as others meet it: its names, and what importing it costs."""

import ast
import importlib
import json
import pkgutil
import re
import runpy
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import d2lhybrid
from d2lhybrid import get_net
from tools import manifest

ROOT = Path(__file__).resolve().parents[1]


def test_importing_the_package_loads_nothing_large():
    large = ["torch", "matplotlib", "networkx", "numpy", "importlib.metadata", "asyncio"]
    code = f"import sys, d2lhybrid; print([m for m in {large} if m in sys.modules])"
    # -S: whatever site-packages imports at the start of Python is not our doing
    command = [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path}; {code}"]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "[]\n"


PUBLIC = {
    alias.name: (alias.asname, statement.module)
    for statement in ast.parse((ROOT / "d2lhybrid/__init__.pyi").read_text("utf-8")).body
    if isinstance(statement, ast.ImportFrom)
    for alias in statement.names
}


def test_the_list_of_public_names_is_what_the_package_gives_out():
    assert sorted(PUBLIC) == sorted(d2lhybrid.__all__)


def test_public_names_are_few_and_used_by_a_notebook_or_documented():
    pages = [(ROOT / name).read_text("utf-8") for name in ("README.md", "COMPARE.md")]
    quoted = re.findall(r"`([^`\n]+)`", "\n".join(pages))
    found = {word for code in quoted for word in re.findall(r"\w+", code)}
    for path in manifest.notebooks():
        cells = json.loads(path.read_text("utf-8"))["cells"]
        code = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
        tree = ast.parse(re.sub(r"(?m)^( *)[%!].*$", r"\1pass", code))  # IPython's own lines
        froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        froms = [node for node in froms if node.module == "d2lhybrid"]
        found |= {alias.name for node in froms for alias in node.names}
    assert PUBLIC.keys() - found == set()
    assert len(PUBLIC) <= 103


@pytest.mark.parametrize("name", PUBLIC)
def test_public_name(name):
    alias, module = PUBLIC[name]
    assert alias == name  # or a type checker takes it for private
    value = getattr(d2lhybrid, name)
    if not name.isupper():  # a constant has neither
        assert value.__name__ == name
        assert value.__doc__
    home = importlib.import_module(f"d2lhybrid.{module}")
    assert getattr(home, name) is value
    assert name in dir(d2lhybrid)
    assert vars(d2lhybrid)[name] is value  # kept, so that the second use costs nothing


def test_links_of_the_readme_lead_to_the_repository_from_pypi(monkeypatch):
    for name in ("", ".metadata", ".metadata.plugin", ".metadata.plugin.interface"):
        stub = SimpleNamespace(MetadataHookInterface=object)  # it need not be installed
        monkeypatch.setitem(sys.modules, f"hatchling{name}", stub)
    hook = runpy.run_path(str(ROOT / "hatch_build.py"))["Readme"]()
    hook.root, found = ROOT, {"urls": {"Repository": "https://x"}}
    hook.update(found)
    targets = re.findall(r"\]\(([^)]+)\)", found["readme"]["text"])
    assert {"https://x/raw/main/img/rewriting.png", "https://x/blob/main/COMPARE.md"} <= {*targets}
    assert [one for one in targets if not one.startswith(("https://", "#"))] == []


def test_the_version_is_the_distributions():
    assert metadata.version("d2lhybrid") == d2lhybrid.__version__


def test_unknown_name():
    with pytest.raises(AttributeError, match="hybrid_forward"):
        d2lhybrid.hybrid_forward  # noqa: B018
    with pytest.raises(ImportError):
        from d2lhybrid import hybrid_forward  # noqa: F401


def test_no_module_bears_the_name_of_a_public_function():
    modules = {module.name for module in pkgutil.iter_modules(d2lhybrid.__path__)}
    assert modules & set(d2lhybrid.__all__) == set()


def test_every_module_says_what_it_is_for():
    modules = [*pkgutil.walk_packages(d2lhybrid.__path__[:1], "d2lhybrid.")]
    assert len(modules) > 30
    for module in modules:
        if module.name.startswith(
            "d2lhybrid.cross_framework."
        ):  # programs: frameworks may be missing
            source = Path(module.module_finder.path, f"{module.name.split('.')[-1]}.py").read_text()
            assert ast.get_docstring(ast.parse(source)), module.name
        else:
            assert importlib.import_module(module.name).__doc__, module.name


def test_get_net():
    net = get_net()
    layers = [
        (type(layer).__name__, *getattr(layer, "weight", torch.empty(0)).shape) for layer in net
    ]
    relu = ("ReLU", 0)
    assert layers == [("Linear", 256, 512), relu, ("Linear", 128, 256), relu, ("Linear", 2, 128)]
    assert sum(p.numel() for p in net.parameters()) == 164_482
    assert net(torch.zeros(3, 512)).shape == (3, 2)
    assert not torch.equal(net[0].weight, get_net()[0].weight)
