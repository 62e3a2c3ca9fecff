"""What lets a page of the site run in a browser: Python, the packages, an editor, in html/run/.

It is made of what pages/package-lock.json and requirements-site.txt pin. Without npm there is
none, and the pages have no button.
"""

import shutil
import subprocess
import zipfile
from pathlib import Path

from . import environment, manifest
from .files import ROOT

PAGES = ROOT / "pages"
MODULES = PAGES / "node_modules"
PYODIDE = ["pyodide.asm.wasm", "python_stdlib.zip"]
LIBRARIES = ["networkx", "lazy_loader"]  # what the package imports there
LOADED = [*PYODIDE, "packages.zip", "worker.js"]  # by run.js, before Python starts


def runs(page):
    """Whether a page is that of a notebook whose code runs in a browser."""
    found = [one["name"] for one in manifest.entries() if one.get("in_browser")]
    return page.removeprefix("notebooks/") in found


def make(folder, python):
    """Make the folder. `python` is that of the pages' environment, which has `LIBRARIES`."""
    if not install():
        print("The pages cannot run their code: that needs npm and, the first time, the internet.")
        return
    folder.mkdir(parents=True)
    for path in [*(MODULES / "pyodide" / name for name in PYODIDE), PAGES / "run" / "run.css"]:
        shutil.copy(path, folder)
    bundle = ["--bundle", "--minify", "--log-level=warning", f"--outdir={folder}"]
    bundle += ["--external:node:*", "--external:ws"]  # Pyodide imports these in Node.js alone
    command = ["node", MODULES / "esbuild" / "bin" / "esbuild", *bundle]
    for form, names in {"esm": ["run", "worker"], "iife": ["start"]}.items():
        scripts = [f"run/{name}.js" for name in names]
        subprocess.run([*command, f"--format={form}", *scripts], cwd=PAGES, check=True)
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    installed = Path(subprocess.check_output([python, "-c", ask], text=True).strip())
    pack(folder / "packages.zip", installed)
    (folder / "LICENSES.txt").write_text(licenses(installed), "utf-8")


def size(folder):
    """How many bytes a page loads before Python starts."""
    return sum((folder / name).stat().st_size for name in LOADED)


def install():
    """Install what pages/package-lock.json pins, unless it is there; returns whether it is."""
    npm, done = shutil.which("npm"), MODULES / "made-from"
    if not npm:
        return False
    lock = (PAGES / "package-lock.json").read_bytes()
    if not (done.is_file() and done.read_bytes() == lock):
        if environment.run([npm, "ci", "--loglevel=error"], cwd=PAGES):
            return False
        done.write_bytes(lock)
    return True


def pack(path, installed):
    """Put the course's package, its libraries without their tests, and the runner into one file.

    `installed` is the folder in which the libraries are, with their metadata and licenses.
    """
    folders = [(ROOT, ROOT / "d2lhybrid")]
    folders += [(installed, one) for name in LIBRARIES for one in installed.glob(f"{name}*")]
    files = {"executor.py": PAGES / "run" / "executor.py", "course.toml": ROOT / "course.toml"}
    for base, folder in folders:
        for file in folder.rglob("*"):
            if file.is_file() and not {"tests", "__pycache__"} & {*file.parts}:
                files[file.relative_to(base).as_posix()] = file
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, file in sorted(files.items()):
            packed.writestr(zipfile.ZipInfo(name), file.read_bytes(), zipfile.ZIP_DEFLATED)


def licenses(installed):
    """The licenses of what a page loads, and where its source text is."""
    parts = [
        "Pyodide: Mozilla Public License 2.0, https://mozilla.org/MPL/2.0/\n"
        "Its source: https://github.com/pyodide/pyodide",
        "CPython: Python Software Foundation License 2, https://docs.python.org/3/license.html",
    ]
    patterns = [f"{name}-*/**/LICENSE*" for name in LIBRARIES]
    files = [*(one for pattern in patterns for one in installed.glob(pattern))]
    for path in [*files, *MODULES.rglob("LICENSE*")]:
        parts.append(f"{'/'.join(path.parts[-3:])}\n\n{path.read_text('utf-8')}")
    return f"\n{'-' * 80}\n".join(parts)
