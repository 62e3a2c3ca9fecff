"""API.md: the public names, for readers.

All is read from the files' texts, so that nothing of the package need be installed.
"""

import ast
import itertools
import json
import re

from . import manifest
from .files import ROOT, write

PACKAGE = ROOT / "d2lhybrid"
INTRODUCTION = """\
# The public names

Each is imported from the package itself, for example `from d2lhybrid import compare`. Here they \
stand by folder, with the notebooks that import them. A link opens the \
file in which a name is defined; more about it stands there, and `help(compare)` prints it.

This page is made by `python3 course.py api` from the package and the notebooks.
"""


def write_page():
    """Write API.md, the page of the public names."""
    write(ROOT / "API.md", page().encode())


def page():
    """The text of API.md: for each folder a table of names, what they are, and where they occur."""
    used = {path.name[:2]: imported(path) for path in manifest.notebooks()}
    parts = [INTRODUCTION]
    for folder, modules in by_folder().items():
        rows = ["| name | what it is | notebooks |", "| --- | --- | --- |"]
        for module, name in modules:
            file, said = definition(module, name)
            link = f"[`{name}`]({file.relative_to(ROOT).as_posix()})"
            where = ", ".join(number for number, names in used.items() if name in names)
            rows.append(" | ".join(["", link, said.replace("|", "\\|"), where, ""]).strip())
        parts.append("\n".join([f"## {folder or 'd2lhybrid'}\n", f"{about(folder)}\n", *rows, ""]))
    return "\n".join(parts)


def about(folder):
    """What a folder of the package says of itself."""
    return documentation(ast.parse(file_of(folder).read_text("utf-8")))


def by_folder():
    """Folder -> pairs of a module in it and a public name that the module defines."""
    found = {}
    for module, names in public_names().items():
        head = module.split(".")[0]
        folder = head if (PACKAGE / head).is_dir() else ""  # it stands beside the folders
        found.setdefault(folder, []).extend((module, name) for name in names)
    return found


def public_names():
    """Module -> the public names that it defines, from the package's list."""
    body = ast.parse((PACKAGE / "__init__.pyi").read_text("utf-8")).body
    froms = [node for node in body if isinstance(node, ast.ImportFrom)]
    return {node.module: [alias.name for alias in node.names] for node in froms}


def imported(path):
    """The names that a notebook's code imports from the package."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    code = "\n".join("".join(one["source"]) for one in cells if one["cell_type"] == "code")
    tree = ast.parse(re.sub(r"(?m)^( *)[%!].*$", r"\1pass", code))  # IPython's own lines
    froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    ours = [node for node in froms if node.module.split(".")[0] == PACKAGE.name]
    return {alias.name for node in ours for alias in node.names}


def file_of(module):
    """The file of a module or folder of the package; the package's own of an empty name."""
    path = PACKAGE.joinpath(*module.split(".")) if module else PACKAGE
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def definition(module, name):
    """The file that defines a name, and the first paragraph of its documentation."""
    file, _, text = statement(module, name)
    return file, paragraph(text)


def statement(module, name):
    """The file that defines a name, the statement that does, and its whole documentation."""
    file = file_of(module)
    body = ast.parse(file.read_text("utf-8")).body
    for node, after in itertools.zip_longest(body, body[1:]):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            return file, node, ast.get_docstring(node)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return file, node, after.value.value  # a text below a constant says what it is
        if isinstance(node, ast.ImportFrom) and name in [alias.name for alias in node.names]:
            base = module.split(".") if file.name == "__init__.py" else module.split(".")[:-1]
            return statement(".".join([*base, node.module]), name)
    raise LookupError(f"d2lhybrid.{module} does not define {name}")


def signature(node):
    """How what a statement defines is written where it is used, such as `unit_for(time: float)`."""
    if isinstance(node, ast.Assign):
        return ast.unparse(node.targets[0])
    if isinstance(node, ast.FunctionDef):
        result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        return f"{node.name}({ast.unparse(node.args)}){result}"
    for one in node.body:
        if isinstance(one, ast.FunctionDef) and one.name == "__init__":
            arguments = ast.unparse(one.args).removeprefix("self").removeprefix(", ")
            return f"{node.name}({arguments})"
    fields = [ast.unparse(one) for one in node.body if isinstance(one, ast.AnnAssign)]
    return f"{node.name}({', '.join(fields)})" if fields else node.name


def members(node):
    """A class's public methods and properties: how each is written, and its documentation."""
    for one in node.body if isinstance(node, ast.ClassDef) else []:
        if isinstance(one, ast.FunctionDef) and not one.name.startswith("_"):
            if "property" in " ".join(map(ast.unparse, one.decorator_list)):
                written = one.name
            else:
                written = signature(one).replace("(self)", "()")
                written = re.sub(r"\((?:self|cls), ", "(", written)
            yield written, ast.get_docstring(one)


def documentation(node):
    return paragraph(ast.get_docstring(node))


def paragraph(text):
    return " ".join(text.partition("\n\n")[0].split())
