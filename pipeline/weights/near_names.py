"""Names that are nearly the one that somebody asked for."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MAX_CANDIDATES = 5000  # are compared letter by letter, which takes a while
MAX_CHARACTERS = 60  # longer names are not compared
LENGTH_DIFFERENCE = 2
MOST = 3


def near_names(name: str, known: Iterable[str]) -> list[str]:
    """Return up to three known names like this one, the nearest first.

    >>> near_names("Wheat", ["wheat", "corn", "what", "heat"])
    ['wheat']
    >>> near_names("wheet", ["wheat", "corn", "sheep"])
    ['wheat']
    """
    folded = name.casefold().strip()
    if len(folded) > MAX_CHARACTERS:
        return []
    candidates = list[str]()
    same = list[str]()
    for one in known:
        if abs(len(one) - len(folded)) > LENGTH_DIFFERENCE:
            continue
        if one.casefold() == folded:
            same.append(one)
        elif len(candidates) < MAX_CANDIDATES and shares_an_end(folded, one.casefold()):
            candidates.append(one)
    return same[:MOST] or difflib.get_close_matches(folded, candidates, MOST, cutoff=0.6)


def shares_an_end(name: str, other: str) -> bool:
    """Return whether two names have their first two or last two letters in common."""
    return name[:2] == other[:2] or name[-2:] == other[-2:]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question with near names, or nothing."""
    near = near_names(name, known)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
