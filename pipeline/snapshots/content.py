"""The JSON content of a snapshot, checked: its values are believed only after that."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pipeline.storage.container import DamagedError

MOST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Description:
    """What the owner of a folder must know of a snapshot: where it was taken, and of which lanes.

    It is small, so that the descriptions of many files can be kept.
    """

    position: int  # the offset of the next record to read
    all_lanes: tuple[str, ...]  # helpers included
    lanes: tuple[str, ...]  # without helpers, which may have their own snapshots elsewhere
    settings: dict[str, dict[str, Any]]  # of each lane
    log: str | None  # the identity of the log; None if a worker did not take the snapshot
    published: tuple[str, ...]  # lanes whose rankings are published up to the position
    passing: bool  # needed only until there is a newer snapshot of its lanes
    began: int = 0  # the offset of the log at which its lanes began


def describe(content: dict[str, Any], name: str) -> Description:
    """Return the description of a snapshot, or raise `DamagedError`; messages call it `name`."""
    with damage_of(name):
        lanes = content["settings"]["lanes"]
        helpers = texts(content.get("helpers", []))
        log, position = content.get("log"), whole(content["position"])
        check_exchange(content.get("exchange", {"begun": 0, "scores": None}), position)
        return Description(
            position,
            tuple(lanes),
            tuple(lane for lane in lanes if lane not in helpers),
            {lane: dict(settings) for lane, settings in lanes.items()},
            None if log is None else text(log),
            tuple(texts(content.get("published", []))),
            content.get("passing", False) is True,
            whole(content.get("began", 0), position),
        )


def check_exchange(exchange: dict[str, Any], position: int) -> None:
    """Raise an error unless a shard finds its place in the exchanges of scores by these offsets."""
    whole(exchange["begun"], position)
    if exchange["scores"] is not None:
        whole(exchange["scores"])


@contextmanager
def damage_of(name: str) -> Iterator[None]:
    """Turn every error that wrong content can cause into a `DamagedError` that names the file.

    The checks name what is wrong. This is for what no check expected: a value of another type, or a
    key that is missing.
    """
    try:
        yield
    except KeyError as error:
        raise DamagedError(f"{name} is damaged: {error} is missing") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise DamagedError(f"{name} is damaged: {error}") from error


@contextmanager
def part(name: str) -> Iterator[None]:
    """Put the name of a part of a snapshot before the message of an error in it."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: {error}") from error


def whole(value: object, most: int = MOST) -> int:
    """Return a value that must be an integer from 0 to `most`."""
    if type(value) is not int or not 0 <= value <= most:
        found = value if isinstance(value, int | float) else type(value).__name__
        raise ValueError(f"expected an integer from 0 to {most}, found {found}")
    return value


def text(value: object) -> str:
    """Return a value that must be a string."""
    if not isinstance(value, str):
        raise TypeError(f"expected a string, found {type(value).__name__}")
    return value


def texts(values: object) -> list[str]:
    """Return a value that must be a list of strings; before it is written, it may be a tuple."""
    if not isinstance(values, list | tuple):
        raise TypeError(f"expected a list, found {type(values).__name__}")
    return [text(value) for value in values]


def distinct_texts(values: object, most: int) -> list[str]:
    """Return a value that must be a list of at most `most` strings, none of them twice."""
    strings = texts(values)
    if len(set(strings)) != len(strings) or len(strings) > most:
        raise ValueError(f"expected up to {most:,} different strings, found {len(strings):,}")
    return strings
