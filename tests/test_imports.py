"""The package's order: who may import whom, and who may name a framework."""

import ast
import sys
from pathlib import Path

import networkx
import pytest

from d2lhybrid.frameworks import FRAMEWORKS

ROOT = Path(__file__).resolve().parents[1]
# The lowest first. A module imports from lower floors, and from its own wing.
FLOORS = {
    "d2lhybrid": "exercises+tables+nets+course_data speaking predictions text "
    "frameworks workers benchmark d2l plot toolchain here roofline hybrid saved "
    "threads world machine cross_framework cli __main__",
    "tools": "files manifest notebook+environment+colab translate "
    "reading+checking+handouts+authoring+glossary+run_notebooks "
    "site_chart+site_guesses+site_take site_routes site_gpu site_results "
    "site_landing+site_pages+site_run site book commands",
    "grading": "judge submissions+sandbox pages",
}
FLOOR = {
    f"{package}.{wing}": number
    for package, floors in FLOORS.items()
    for number, wings in enumerate(floors.split())
    for wing in wings.split("+")
}


def modules(package):
    """Module name, such as `d2lhybrid.benchmark.timing` -> its file."""
    found = {}
    for path in (ROOT / package).rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if len(parts) > 1:
            found[".".join(parts)] = path
    return found


MODULES = modules("d2lhybrid") | modules("tools") | modules("grading")


def imports(name):
    """The modules of its package that a module imports, at its top or inside a function."""
    path = MODULES[name]
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            base += node.module.split(".") if node.module else []
            for alias in node.names:
                whole = ".".join([*base, alias.name])
                target = whole if whole in MODULES else ".".join(base)
                if target not in FLOORS:  # else it is the package's own, such as __version__
                    yield target


def arrows():
    return [(name, target) for name in MODULES for target in imports(name)]


def wing(name):
    return ".".join(name.split(".")[:2])


def test_every_module_has_a_floor():
    assert {wing(name) for name in MODULES} == set(FLOOR)
    assert len(arrows()) > 60


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_nothing_from_a_higher_floor(name):
    for target in imports(name):
        assert target in MODULES, target
        same = wing(target) == wing(name)
        assert same or FLOOR[wing(target)] < FLOOR[wing(name)], f"{name} imports {target}"


def test_benchmark_could_leave_the_package():
    """What `compare` needs imports nothing else of the package."""
    alone = {f"d2lhybrid.{wing}" for wing in ("benchmark", "workers", "frameworks", "tables")}
    assert {wing(target) for name, target in arrows() if wing(name) in alone} <= alone


def test_no_imports_form_a_circle():
    imported = networkx.DiGraph(arrows())
    assert list(networkx.simple_cycles(imported)) == []


@pytest.mark.parametrize("name", [name for name in MODULES if not name.startswith("d2lhybrid")])
def test_a_tool_needs_nothing_but_python(name):
    if name in ("tools.run_notebooks", "grading.pages"):
        return  # they are started in the environment
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    named = {a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names}
    froms = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and not n.level]
    named |= {node.module for node in froms}
    assert {one.split(".")[0] for one in named} <= {*sys.stdlib_module_names, "tools", "grading"}


OF_FRAMEWORKS = ("d2lhybrid.frameworks", "d2lhybrid.roofline", "d2lhybrid.hybrid")
OF_FRAMEWORKS += ("d2lhybrid.cross_framework",)
WITHOUT = [name for name in modules("d2lhybrid") if wing(name) not in OF_FRAMEWORKS]


@pytest.mark.parametrize("name", WITHOUT)
def test_a_framework_is_named_only_where_it_belongs(name):
    known = (
        "d2lhybrid.nets",
        "d2lhybrid.speaking",
        "d2lhybrid.d2l",
        "d2lhybrid.here",
        "d2lhybrid.cli.example",
    )
    if name in known or wing(name) in ("d2lhybrid.threads", "d2lhybrid.world"):
        return  # networks are PyTorch's, and so is what runs or carries their values
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    named = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            named |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            named.add(node.module.split(".")[0])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            named |= {node.value.split(".")[0]} & FRAMEWORKS.keys()
    if name in (
        "d2lhybrid.benchmark.agreement",
        "d2lhybrid.workers",
        "d2lhybrid.machine.memory",
    ):
        named -= {"numpy"}  # they compute with NumPy or send its arrays, whatever these were
    assert named & FRAMEWORKS.keys() == set()
