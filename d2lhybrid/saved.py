"""The reader's own compiler: `my_compiler.py`, of what is marked `# @save` in their notebooks.

    # @save
    def add(a, b):
        return a + b

    save_compiler()    # prints: your compiler: 1 definitions in this notebook, 2 lines

Notebook 13 gets it back from `load_compiler`.
"""

import ast
import linecache
import os
import re
import sys
import textwrap
from contextlib import suppress
from pathlib import Path
from types import ModuleType

FILE = Path("my_compiler.py")  # in the working folder, where the notebook is
HEAD = '"""My own compiler: what is marked `# @save` in the notebooks that I have run."""'
IMPORT = re.compile(r"(?:from .*)?import\b")
PASSES = ("fold_constants", "share_common", "drop_unused", "fuse", "plan_memory", "optimize")


def save_compiler() -> None:
    """Write the code marked `# @save` in the cells that have been run to `my_compiler.py`.

    The last version of each definition counts, and the imports that it needs go along with it. A
    definition of the same name in the file is replaced; everything else there stays. Prints how
    many definitions and lines come from this notebook, and where they are, or why they could not
    be written.
    """
    parts, own = {}, {}
    for cell in _cells():
        with suppress(SyntaxError):  # of a cell that did not run
            parts |= (here := _statements(cell))
            own |= {key: text for key, text in here.items() if re.match("(#.*\n)*# ?@save\n", text)}
    nodes = ast.walk(ast.parse("\n".join(own.values())))
    read = {node.id for node in nodes if isinstance(node, ast.Name)} - own.keys()
    needed = [key for key in parts if IMPORT.match(key)]
    needed = [key for key in needed if read & {*re.findall(r"\w+", key.partition("import ")[2])}]
    lines = re.findall(r"(?m)^ *[^ #\n].*", "\n".join(own.values()))
    print(f"your compiler: {len(own)} definitions in this notebook, {len(lines)} lines")
    try:
        if sys.platform == "emscripten":
            raise OSError("a web page keeps no files")
        before = _statements(FILE.read_text("utf-8")) if FILE.exists() else {}
        whole = dict.fromkeys([HEAD, *needed]) | before | own
        text = "".join(
            f"\n\n{text}\n" if text and text != key else f"{key}\n" for key, text in whole.items()
        )
        new = FILE.with_suffix(f".{os.getpid()}")  # another notebook may be reading the file
        new.write_text(text, "utf-8")
        new.replace(FILE)
        print(f"this machine: {FILE}, beside this notebook, has them now")
    except (OSError, SyntaxError) as error:
        print(f"this machine: {FILE} was not written: {error}")


def load_compiler() -> ModuleType:
    """Return the reader's compiler: what `my_compiler.py` defines, and the course's for the rest.

    The course's are the six passes, and `trace` under the name `record`. If the file has an error,
    nothing is taken from it. Prints which names are the reader's own.
    """
    from .hybrid import passes, recorder

    courses = {name: getattr(passes, name) for name in PASSES} | {"record": recorder.trace}
    module, why = ModuleType(FILE.stem), ""
    vars(module).update(courses)
    sys.modules[FILE.stem] = module  # where inspect and pickle look
    try:
        exec(compile(FILE.read_text("utf-8"), FILE, "exec"), vars(module))
    except Exception as error:  # whatever the reader's code may raise
        vars(module).update(courses)
        why = f" ({type(error).__name__}: {error})"
    own = [name for name in courses if getattr(module, name) is not courses[name]]
    rest = "; the rest is the course's" if len(own) < len(courses) else ""
    line = f"this machine: your own: {', '.join(own) or 'nothing'}{why}{rest}"
    print(textwrap.fill(line, 88, subsequent_indent="  "))
    return module


def _cells():
    """Return the texts of the cells that were run, in a notebook or on a page."""
    ipython = sys.modules.get("IPython")
    shell = ipython and ipython.get_ipython()
    if shell and (cells := shell.user_ns["In"][1:]):
        return cells
    # Without a history, as on a page, the lines are where tracebacks find those of no file.
    entries = [(name, entry) for name, entry in linecache.cache.items() if len(entry) == 4]
    return ["".join(entry[2]) for name, entry in entries if not os.path.exists(name)]


def _statements(source):
    """Return name -> text, with the comments above it, of each statement that defines one name.

    Any other statement is its own key. SyntaxError for what is no Python.
    """
    lines, found = source.splitlines(), {}
    for statement in ast.parse(source).body:
        first = min(one.lineno for one in [statement, *getattr(statement, "decorator_list", ())])
        while first > 1 and lines[first - 2].startswith("#"):
            first -= 1
        text = "\n".join(lines[first - 1 : statement.end_lineno])
        match statement:
            case ast.FunctionDef(name=key) | ast.ClassDef(name=key):
                pass
            case ast.Assign([ast.Name() | ast.Attribute() as target]):
                key = ast.unparse(target)
            case _:
                key = text
        found[key] = text
    return found
