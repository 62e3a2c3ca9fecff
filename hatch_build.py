"""What PyPI shows of the package: README, with links that lead to the repository."""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Readme(MetadataHookInterface):
    """Hatchling asks it for the fields that pyproject.toml calls dynamic."""

    def update(self, metadata):
        """Set the field `readme`."""
        text = Path(self.root, "README.md").read_text("utf-8")
        text = with_links(text, metadata["urls"]["Repository"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def with_links(text, repository):
    """A text of the repository's root for another place: its pictures and links get addresses."""
    text = re.sub(r"(!\[[^]]*\]\()(?!https?:)", rf"\1{repository}/raw/main/", text)
    return re.sub(r"(\]\()(?!https?:|#)", rf"\1{repository}/blob/main/", text)
