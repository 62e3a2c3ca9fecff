"""Words for readers who cannot see a picture."""

from collections.abc import Iterable


def joined(words: Iterable[str]) -> str:
    """Words as a sentence lists them: 'a, b and c'."""
    *most, last = [word.replace("\n", " ") for word in words]
    if not most:
        return last
    if any("," in word for word in [*most, last]):
        return f"{'; '.join(most)}; and {last}"
    return f"{', '.join(most)} and {last}"
