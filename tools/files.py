"""Where the course's files are, and how one of them is replaced."""

import os
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "notebooks"
TRANSLATIONS = ROOT / "translations"
# What the commands make, and git ignores.
WORK, HANDOUT, SLIDES, MARKS = (ROOT / name for name in ("work", "handout", "slides", "marks"))


def folder_of(folder, language):
    """Where a folder keeps what is made in a language."""
    return folder if language == "en" else folder / language


def write(path, content):
    """Replace what a file holds: all of it, or nothing if the disk is full or this is killed."""
    path = Path(os.path.realpath(path))
    beside = path.with_name(f"{path.name}.new")
    try:
        beside.write_bytes(content)
        if path.exists():
            shutil.copymode(path, beside)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
