"""`course.py read`: the notebooks in JupyterLab, on copies that a reader may change."""

import itertools
import json
import os

from . import environment, manifest, notebook
from .files import ROOT, WORK, folder_of
from .translate import in_language, languages


def read(language="en"):
    """Open JupyterLab at the first notebook, on copies in work/ (or work/zh/, and so on)."""
    environment.set_up()
    # Those without a wheel for this system have been asked for once, and are not missed again.
    missing = [n for n in manifest.needed("frameworks") if not environment.record(n).exists()]
    if missing:
        print(f"Some notebooks need {', '.join(missing)}, up to 700 MB. In another window, type")
        print(f"    {'py' if os.name == 'nt' else 'python3'} course.py frameworks", flush=True)
    folder = folder_of(WORK, language)
    for path in manifest.notebooks():
        copy_to_work(path, folder, language)
    first = manifest.notebooks()[0].name
    command = [
        *(environment.VENV_PYTHON, "-m", "jupyterlab"),
        f"--ServerApp.root_dir={ROOT}",
        f"--LabApp.default_url=/lab/tree/{(folder / first).relative_to(ROOT).as_posix()}",
        # JupyterLab's questions about news and updates are answered there; all else is as ever.
        f"--LabApp.app_settings_dir={ROOT / 'templates' / 'jupyterlab'}",
        f"--LabApp.workspaces_dir={WORK / '.workspaces'}",  # no tabs of another folder
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")  # in a container there may be no other user
    return environment.run(command, cwd=ROOT)


def predictions():
    """How well do you know your machine? Write a page about your predictions into work/."""
    environment.set_up()
    folders = [folder_of(WORK, language) for language in ("en", *languages())]
    kept = [folder for folder in folders if (folder / "predictions.json").exists()]
    command = [environment.VENV_PYTHON, "-m", "grading.pages", *(kept or [WORK])]
    return environment.run(command, cwd=ROOT)


def copy_to_work(path, folder=WORK, language="en"):
    """Copy a notebook without its outputs to a folder, unless a reader has changed the copy there.

    The copy's metadata say what was handed out. When the course's notebook has changed since, a
    copy that a reader has changed stays, and the new one stands beside it under another name.
    """
    new = notebook.without_outputs(notebook.without_badge(in_language(path, language)))
    now = notebook.fingerprint(new)
    new["metadata"] = {**notebook.agreed_metadata(new), "handed_out": now}
    for number in itertools.count(1):
        copy = folder / (path.name if number == 1 else f"{path.stem}-{number}.ipynb")
        try:
            there = json.loads(copy.read_bytes())
            handed_out, is_now = there["metadata"]["handed_out"], notebook.fingerprint(there)
        except FileNotFoundError:
            handed_out = is_now = None
        except (ValueError, LookupError, TypeError, AttributeError):  # a reader's, and damaged
            continue
        if handed_out == is_now:  # nothing of a reader's is in it
            notebook.save(new, copy)
        if handed_out in (is_now, now):
            break
    if number > 1:
        print(f"{path.stem} has changed in the course since you edited your copy.")
        print(f"Your copy is as you left it; the new one is {copy.relative_to(ROOT)}", flush=True)
