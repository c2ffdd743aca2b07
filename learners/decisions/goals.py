"""What a lane aims at when it assigns topics: `f1`, `micro`, `macro`, `precision:P`, `recall:R`."""

from __future__ import annotations

from typing import NamedTuple

from learners.options import OptionError

F1, MICRO, MACRO, PRECISION, RECALL = range(5)
RULES = {"f1": F1, "micro": MICRO, "macro": MACRO, "precision": PRECISION, "recall": RECALL}
EXPECTED = "f1, micro, macro, precision:P or recall:R with P and R between 0 and 1"


class Goal(NamedTuple):
    """The measure that sets of topics are made for."""

    rule: int
    level: float = 0.0  # the wanted precision or recall; 0 for the other rules


def parse_goal(text: str) -> Goal:
    """Read a goal.

    Examples
    --------
    >>> parse_goal("precision:0.9")
    Goal(rule=3, level=0.9)
    >>> parse_goal("best")
    Traceback (most recent call last):
    ...
    learners.options.OptionError: The 'assign' option must be f1, micro, macro, precision:P or \
recall:R with P and R between 0 and 1. Got 'best'.

    """
    name, colon, number = text.partition(":")
    rule = RULES.get(name)
    try:
        level = float(number) if colon else 0.0
    except ValueError:
        level = -1.0
    needs_level = rule in (PRECISION, RECALL)
    fits = 0.0 < level < 1.0 if needs_level else not colon
    if rule is None or not fits:
        hint = ""
        if needs_level and 10.0 <= level < 100.0:  # a percentage
            hint = f" Did you mean {name}:{level / 100.0:g}?"
        raise OptionError(f"The 'assign' option must be {EXPECTED}. Got {text[:80]!r}.{hint}")
    return Goal(rule, level)
