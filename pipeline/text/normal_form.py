"""The composed forms of a text (Unicode's NFC and NFKC), in time linear in its length.

`unicodedata.normalize` sorts the combining marks of a letter by insertion. On a run of n marks in
the wrong order that takes n^2 steps, and an event of 1 MB would keep a process busy for minutes.
So long runs are sorted here first, mark by mark into one list per combining class. Sorted runs are
a matter of one pass for `normalize`, and the result is the same: canonical ordering is what it does
itself. No text is changed, cut or refused.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import Literal

Form = Literal["NFC", "NFKC"]  # canonical, or with compatibility characters replaced
DECOMPOSED: dict[Form, Literal["NFD", "NFKD"]] = {"NFC": "NFD", "NFKC": "NFKD"}
LONGEST_RUN = 30  # marks that are left to `normalize`; Unicode's stream-safe form allows as many


def is_non_starter(character: str, form: Form = "NFC") -> bool:
    """Return whether a character decomposes to combining marks only (it may be one itself)."""
    return all(map(unicodedata.combining, unicodedata.normalize(DECOMPOSED[form], character)))


@cache
def non_starters(form: Form = "NFC") -> frozenset[str]:
    """Return all characters of which a run can be out of order.

    Some have no combining class of their own, but decompose to marks that have one (U+0F73).
    Planes without such characters are skipped, to save time.
    """
    planes = (*range(0x300, 0x1F000), *range(0xE0000, 0xE1000))
    return frozenset(
        character
        for character in map(chr, planes)
        if unicodedata.combining(character) or unicodedata.decomposition(character)
        if is_non_starter(character, form)
    )


def composed(text: str, form: Form = "NFC") -> str:
    r"""Return a text in composed form, as `unicodedata.normalize(form, text)` does.

    Examples
    --------
    >>> composed("cafe\u0301") == "caf\u00e9"
    True

    """
    if text.isascii():
        return text
    # A run that is too long covers one of these characters, whatever its place in the text.
    if not non_starters(form).isdisjoint(text[LONGEST_RUN :: LONGEST_RUN + 1]):
        text = with_sorted_runs(text, form)
    return unicodedata.normalize(form, text)


def with_sorted_runs(text: str, form: Form) -> str:
    """Return a text with all runs of more than `LONGEST_RUN` marks in canonical order."""
    marks = non_starters(form)
    parts: list[str] = []
    done = 0  # the text before this place is in `parts`
    for place in range(LONGEST_RUN, len(text), LONGEST_RUN + 1):
        if place < done or text[place] not in marks:
            continue
        start = place
        while start > done and text[start - 1] in marks:
            start -= 1
        stop = place + 1
        while stop < len(text) and text[stop] in marks:
            stop += 1
        if stop - start > LONGEST_RUN:
            parts += text[done:start], in_canonical_order(text[start:stop], form)
            done = stop
    return "".join((*parts, text[done:]))


def in_canonical_order(run: str, form: Form = "NFC") -> str:
    """Return the marks of a run by combining class; marks of one class keep their order."""
    decomposed = DECOMPOSED[form]
    parts = {character: unicodedata.normalize(decomposed, character) for character in set(run)}
    classes = {mark: unicodedata.combining(mark) for part in parts.values() for mark in part}
    by_class: dict[int, list[str]] = {class_: [] for class_ in sorted(set(classes.values()))}
    for character in run:
        for mark in parts[character]:
            by_class[classes[mark]].append(mark)
    return "".join(mark for marks in by_class.values() for mark in marks)
