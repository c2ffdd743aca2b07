"""How hostile inputs are made, and read; see `hostile_inputs`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from pipeline.corpora.source import SourceError
from pipeline.events.event import MalformedEvent

LARGEST = 1 << 30  # no limit of the size of an event: only the time counts here


def repeated(unit: str, before: str = "", after: str = "") -> Callable[[int], str]:
    """Inputs that repeat a text."""
    return lambda size: before + unit * (size // len(unit.encode())) + after


def each(label: str, parts: str, before: str, after: str) -> dict[str, Callable[[int], str]]:
    """Inputs that repeat one of these parts between a beginning and an end.

    The parts are one per line, with _ for a blank.
    """
    lines = parts.replace("_", " ").strip("\n").split("\n")
    return {f"{label} {part!r}": repeated(part, before, after) for part in lines}


def refused_or(read: Callable[[], object]) -> None:
    """Read an input that may be refused; other errors are errors of the reader."""
    with suppress(MalformedEvent, SourceError):
        read()
