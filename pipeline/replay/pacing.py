"""The speed at which a source is played, derived from the times of its events."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from pipeline.errors import UsageError

UNPACED = "max"

_FACTOR = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)x", re.ASCII)
_LEAP = re.compile(r"(?<=:\d\d):60")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read_speed(text: str) -> float | None:
    """Read `--speed`: a factor of the original speed, or None for as fast as possible.

    >>> read_speed("60x"), read_speed("0.5x"), read_speed("max")
    (60.0, 0.5, None)
    """
    if text == UNPACED:
        return None
    factor = _FACTOR.fullmatch(text)
    if factor is None or float(factor[1]) == 0:
        raise UsageError(
            f"--speed must be {UNPACED}, or a factor such as 60x (an hour in a minute), "
            f"1x or 0.5x. Got {text!r}."
        )
    return float(factor[1])


def seconds_of(time: str) -> float | None:
    """Convert an RFC 3339 time to seconds since 1970; None if there is no such day.

    >>> seconds_of("1970-01-01T01:00:00.25+01:00"), seconds_of("1972-06-30T23:59:60Z")
    (0.25, 78796800.0)
    >>> seconds_of("1987-02-30T00:00:00Z")
    """
    whole, leaps = _LEAP.subn(":59", time.upper(), count=1)
    try:
        moment = datetime.fromisoformat(whole) + timedelta(seconds=leaps)
        return (moment - _EPOCH).total_seconds()
    except (ValueError, OverflowError):
        return None


class Pace:
    """Computes when each event is due; the clock starts at the first event that has a time.

    An event without a time, or with a time before that of an earlier event, is due at once.
    """

    def __init__(self, factor: float) -> None:
        self._factor = factor
        self._started: tuple[float, float] | None = None  # by our clock, by the events' clock
        self._latest = 0.0

    def due(self, time: str | None, now: float) -> float:
        """Return when an event is due, on the same clock as `now`."""
        seconds = None if time is None else seconds_of(time)
        if self._started is None:
            if seconds is None:
                return now
            self._started, self._latest = (now, seconds), seconds
        ours, theirs = self._started
        self._latest = self._latest if seconds is None else max(self._latest, seconds)
        return ours + (self._latest - theirs) / self._factor
