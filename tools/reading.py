"""`course.py read`: the notebooks in JupyterLab, on copies that a reader may change."""

import itertools
import json
import os
import sys

from . import environment, manifest, notebook
from .files import ROOT, WORK, folder_of
from .translate import in_language


def read(language="en"):
    """Open JupyterLab at the first notebook, on copies in work/ (or work/zh/, and so on)."""
    environment.set_up()
    # Those without a wheel for this system have been asked for once, and are not missed again.
    wanted = [one for one in manifest.needed("frameworks") if not environment.mark(one).exists()]
    if missing := [name for name in wanted if not environment.is_installed(name)]:
        print(f"Some notebooks need {', '.join(missing)}. To install that, up to 700 MB more:")
        python = "py" if os.name == "nt" else "python3"
        print(f"    {python} course.py frameworks")
        print("You can do so now, in another window.", flush=True)
    kernel = kernel_metadata()
    folder = folder_of(WORK, language)
    for path in manifest.notebooks():
        copy_to_work(path, kernel, folder, language)
    first = manifest.notebooks()[0].name
    # JupyterLab's questions about news and updates are answered here; everything else is as ever.
    settings = WORK / ".jupyterlab"
    settings.mkdir(parents=True, exist_ok=True)
    silence = {"fetchNews": "false", "checkForUpdates": False}
    silence = {"@jupyterlab/apputils-extension:notification": silence}
    (settings / "overrides.json").write_text(json.dumps(silence))
    command = [
        *(environment.VENV_PYTHON, "-m", "jupyterlab"),
        f"--ServerApp.root_dir={ROOT}",
        f"--LabApp.default_url=/lab/tree/{(folder / first).relative_to(ROOT).as_posix()}",
        f"--LabApp.app_settings_dir={settings}",
        f"--LabApp.workspaces_dir={settings / 'workspaces'}",  # no tabs of another folder
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")  # in a container there may be no other user
    return environment.run(command, cwd=ROOT)


def copy_to_work(path, kernel, folder=WORK, language="en"):
    """Copy a notebook without its outputs to a folder, unless a reader has changed the copy there.

    The copy's metadata say what was handed out. When the course's notebook has changed since, a
    copy that a reader has changed stays, and the new one stands beside it under another name.
    """
    new = notebook.without_outputs(notebook.without_badge(in_language(path, language)))
    now = notebook.fingerprint(new)
    new["metadata"] = {**notebook.agreed_metadata(new), **kernel, "handed_out": now}
    for number in itertools.count(1):
        copy = folder / (path.name if number == 1 else f"{path.stem}-{number}.ipynb")
        try:
            there = json.loads(copy.read_bytes())
            handed_out = there["metadata"].get("handed_out")
            as_it_is = notebook.fingerprint(there)
        except FileNotFoundError:
            handed_out = as_it_is = None
        except (ValueError, LookupError, TypeError, AttributeError):  # a reader's, and damaged
            handed_out, as_it_is = None, "damaged"
        if handed_out == as_it_is:  # nothing of a reader's is in it
            notebook.save(new, copy)
            break
        if handed_out == now:
            break
    if number > 1:
        print(f"{path.stem} has changed in the course since you changed your copy.")
        print(f"Your copy is as you left it; the new one is {copy.relative_to(ROOT)}", flush=True)


def kernel_metadata():
    """What JupyterLab writes into a notebook on opening it, if it is not there already."""
    program = """if 1:
        import json
        from ipykernel.ipkernel import IPythonKernel
        from jupyter_client.kernelspec import get_kernel_spec
        spec = get_kernel_spec("python3")
        spec = {"display_name": spec.display_name, "language": spec.language, "name": "python3"}
        print(json.dumps({"kernelspec": spec, "language_info": IPythonKernel.language_info}))"""
    answer = environment.answer_of(program)
    if answer is None:
        sys.exit(f"{environment.VENV} does not work. Remove that folder, and start this again.")
    return json.loads(answer)
