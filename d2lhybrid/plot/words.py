"""Words and numbers of pictures, with matplotlib or without."""

from collections.abc import Iterable


def joined(words: Iterable[str]) -> str:
    """Words as a sentence lists them: 'a, b and c'."""
    *most, last = [word.replace("\n", " ") for word in words]
    if not most:
        return last
    if any("," in word for word in [*most, last]):
        return f"{'; '.join(most)}; and {last}"
    return f"{', '.join(most)} and {last}"


def decimal(number: float) -> str:
    """A number without an exponent: 1,000 or 0.1."""
    return f"{number:,.12f}".rstrip("0").rstrip(".")
