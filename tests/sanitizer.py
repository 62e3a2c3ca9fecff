"""The sanitizer, as nbval applies it: tests/sanitize.cfg says what may differ between machines."""

import re
from pathlib import Path

from nbval.plugin import get_sanitize_patterns

TEXT = (Path(__file__).parent / "sanitize.cfg").read_text(encoding="utf-8")
PATTERNS = get_sanitize_patterns(TEXT)


def sanitize(text):
    """The text with all that may differ replaced: each pattern, in the order of the file."""
    for pattern, replacement in PATTERNS:
        text = re.sub(pattern, replacement, text)
    return text
