"""The package's order: who may import whom, and who may name a framework."""

import ast
from pathlib import Path

import networkx
import pytest

from d2lhybrid.frameworks import FRAMEWORKS

PACKAGE = Path(__file__).resolve().parents[1] / "d2lhybrid"
# The lowest first. A module imports from lower floors, and from its own wing.
FLOORS = [
    {"nets", "program", "tables", "lesson"},
    {"frameworks"},
    {"book", "dataflow"},
    {"plot"},
    {"measure", "hybrid"},
    {"hardware", "limits", "side_by_side", "parallel"},
    {"bench", "own_model"},
    {"__main__"},
]
FLOOR = {wing: number for number, wings in enumerate(FLOORS) for wing in wings}


def modules():
    """Module name, relative to the package, such as `measure.timing` -> its file."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if parts and parts[0] != "earlier":  # what these hold is elsewhere
            found[".".join(parts)] = path
    return found


MODULES = modules()


def imports(name):
    """The modules of the package that a module imports, at its top or inside a function."""
    path = MODULES[name]
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            base += node.module.split(".") if node.module else []
            for alias in node.names:
                whole = ".".join([*base, alias.name])
                target = whole if whole in MODULES else ".".join(base)
                if target:  # else it is the package's own, such as __version__
                    yield target


def arrows():
    return [(name, target) for name in MODULES for target in imports(name)]


def wing(name):
    return name.split(".")[0]


def test_every_module_has_a_floor():
    assert {wing(name) for name in MODULES} == set(FLOOR)
    assert len(arrows()) > 60


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_nothing_from_a_higher_floor(name):
    for target in imports(name):
        assert target in MODULES, target
        same = wing(target) == wing(name)
        assert same or FLOOR[wing(target)] < FLOOR[wing(name)], f"{name} imports {target}"


def test_no_imports_form_a_circle():
    imported = networkx.DiGraph(arrows())
    assert list(networkx.simple_cycles(imported)) == []


WITHOUT = [n for n in MODULES if wing(n) not in ("frameworks", "hybrid", "side_by_side")]


@pytest.mark.parametrize("name", WITHOUT)
def test_a_framework_is_named_only_where_it_belongs(name):
    if name == "nets" or name.startswith("parallel."):
        return  # the course's networks are PyTorch's, and so is what runs or carries their values
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    named = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            named |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            named.add(node.module.split(".")[0])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            named |= {node.value.split(".")[0]} & FRAMEWORKS.keys()
    if name in ("measure.agreement", "measure.messages"):
        named -= {"numpy"}  # they compute with NumPy or send its arrays, whatever these were
    assert named & FRAMEWORKS.keys() == set()
