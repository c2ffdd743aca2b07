"""Text from outside on a terminal or in a log: names of sources, topics, lanes, files, ids.

Such text may hold control characters (which move the cursor, hide or forge lines), and characters
that turn the direction of writing. They are shown escaped.
"""

from __future__ import annotations

import json


def printable(text: str, max_characters: int | None = None) -> str:
    r"""Return a text in one line, with everything escaped that is not printed, perhaps cut.

    >>> print(printable("a\x1b[2Jb\nc\u202ed"))
    a\x1b[2Jb\nc\u202ed
    """
    if max_characters is not None and len(text) > max_characters:
        text = f"{text[:max_characters]}..."
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def printable_lines(text: str) -> str:
    """Return a text in which the ends of lines are meant; everything else is escaped."""
    return "\n".join(map(printable, text.split("\n")))


def printable_json(text: str) -> str:
    r"""Return JSON with everything escaped that is not printed, as JSON escapes it.

    >>> print(printable_json('{"name": "a\x9bb\u202ec"}'))
    {"name": "a\u009bb\u202ec"}
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
