"""The first code cell of each notebook, the one that Colab runs first."""

from .manifest import needed, repository

FIRST_CELL = 'import sys\n\nif "google.colab" in sys.modules:\n'


def first_cell(entry):
    """The cell for an entry of course.toml: on Colab it installs what is missing there.

    Elsewhere the cell does nothing.
    """
    packages = [f"git+https://github.com/{repository()}", *needed("colab", [entry])]
    return FIRST_CELL + "\n".join(f"    !pip install --quiet --no-deps {p}" for p in packages)
