"""How much is kept on the broker: of the log, and of the Kafka topics that workers create."""

from __future__ import annotations

import re
from typing import NamedTuple

from pydantic import field_validator

from consumers.section import Section

FOREVER, SNAPSHOTS, BROKER = "forever", "snapshots", "broker"
SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
BYTES = {"kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
         "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}  # fmt: skip
AMOUNT = re.compile(r"([0-9]{1,12}) ?([A-Za-z]{1,3})")


class LogLimit(NamedTuple):
    """How much of the log is kept at least, if it is there; None: no such wish."""

    seconds: int | None = None
    bytes: int | None = None


class LogSettings(Section):
    """What is deleted of the log: nothing, or what is old enough and behind enough snapshots."""

    keep: str = FOREVER

    @field_validator("keep")
    @classmethod
    def _check_keep(cls, value: str) -> str:
        parse_keep(value)
        return value

    @property
    def is_trimmed(self) -> bool:
        """Whether workers delete records of the log."""
        return self.keep != FOREVER

    @property
    def limit(self) -> LogLimit:
        """What is kept beyond what recovery needs."""
        return parse_keep(self.keep)


class RetentionSettings(Section):
    """For how long records are kept in the Kafka topics that the workers create."""

    rankings: str = BROKER
    dead_letters: str = FOREVER
    scores: str = "7d"

    @field_validator("rankings", "dead_letters", "scores")
    @classmethod
    def _check_time(cls, value: str) -> str:
        retention_ms(value)
        return value


def retention_ms(text: str) -> int | None:
    """A retention as the broker has it; None: what the broker does by default.

    >>> retention_ms("7d"), retention_ms("forever"), retention_ms("broker")
    (604800000, -1, None)
    """
    if text in (BROKER, FOREVER):
        return None if text == BROKER else -1
    match = AMOUNT.fullmatch(text)
    if match is None or match[2] not in SECONDS or not int(match[1]):
        raise ValueError(
            f"found {text[:40]!r}; expected {FOREVER}, {BROKER} (what the broker does by default) "
            f"or a time such as 30d ({', '.join(SECONDS)})"
        )
    return int(match[1]) * SECONDS[match[2]] * 1000


def parse_keep(text: str) -> LogLimit:
    """Read an amount of the log to keep; raises ValueError if it is none.

    >>> parse_keep("30d").seconds, parse_keep("100GB").bytes, parse_keep("snapshots")
    (2592000, 100000000000, LogLimit(seconds=None, bytes=None))
    """
    if text in (FOREVER, SNAPSHOTS):
        return LogLimit()
    match = AMOUNT.fullmatch(text)
    number, unit = (int(match[1]), match[2]) if match else (0, "")
    if number and unit in SECONDS:
        return LogLimit(seconds=number * SECONDS[unit])
    if number and unit in BYTES:
        return LogLimit(bytes=number * BYTES[unit])
    raise ValueError(
        f"found {text[:40]!r}; expected {FOREVER}, {SNAPSHOTS}, a time such as 30d "
        f"({', '.join(SECONDS)}) or a size such as 100GB ({', '.join(BYTES)})"
    )
