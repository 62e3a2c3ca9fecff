"""How a notebook opens on Colab: the badge that leads there, and the first code cell."""

from tools.manifest import needed, repository
from tools.notebook import FIRST_CELL


def badge(file_name):
    """The link, as an image, at the head of a notebook."""
    return (
        "[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]"
        f"(https://colab.research.google.com/github/{repository()}/blob/main/notebooks/{file_name})"
    )


def first_cell(entry):
    """The first code cell of an entry of course.toml: on Colab it installs what is missing there.

    Elsewhere the cell does nothing.
    """
    packages = [f"git+https://github.com/{repository()}", *needed("colab", [entry])]
    lines = [f"    !pip install --quiet --no-deps {package}" for package in packages]
    return FIRST_CELL + "\n".join(lines)
