"""A clock that shows the time of the documents of a corpus, and only goes forward."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pipeline.events.event import Id
from pipeline.log.block import Entry

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAST_MS = (datetime.max.replace(tzinfo=UTC) - EPOCH) // timedelta(milliseconds=1)


def milliseconds(time: str) -> int | None:
    """Return an RFC 3339 time in milliseconds since 1970; None if there is no such date.

    There is none after the year 9999 of UTC, where a zone or a leap second can lead.

    Examples
    --------
    >>> milliseconds("1987-02-26T15:01:01.23Z"), milliseconds("1969-12-31T23:59:60z")
    (541350061230, 0)
    >>> milliseconds("1987-02-30T00:00:00Z")
    >>> milliseconds("9999-12-31T23:59:60Z")

    """
    time = time.upper()
    leap = time[17:19] == "60"  # a leap second, which datetime does not support
    try:
        moment = datetime.fromisoformat(f"{time[:17]}59{time[19:]}" if leap else time)
        since = moment - EPOCH
    except (ValueError, OverflowError):
        return None
    time_ms = since // timedelta(milliseconds=1) + 1000 * leap
    return time_ms if time_ms <= LAST_MS else None


def as_text(time_ms: int) -> str:
    """Return a time as RFC 3339 text, to the second."""
    return f"{EPOCH + timedelta(milliseconds=time_ms):%Y-%m-%dT%H:%M:%SZ}"


class CorpusClock:
    """The latest time of any event so far.

    A document without a time, or dated before an earlier document, gets the time that the clock
    shows, because a stream does not go back. Times before 1970 count as missing, because the time
    axis of Prometheus begins in 1970.
    """

    def __init__(self) -> None:
        self.first_ms: int | None = None
        self.now_ms: int | None = None
        self.undated = 0
        self.before_1970 = 0
        self.late = 0
        self.latest_by_ms = 0
        self.latest: Id = ""

    def see(self, entry: Entry) -> None:
        """Read the time of the next event of the stream."""
        time_ms = None if entry.time is None else milliseconds(entry.time)
        is_document = entry.row is not None
        if time_ms is None:
            self.undated += is_document
        elif time_ms < 0:
            self.before_1970 += is_document
        elif self.now_ms is None or time_ms >= self.now_ms:
            self.now_ms = time_ms
            self.first_ms = time_ms if self.first_ms is None else self.first_ms
        elif is_document:
            self.late += 1
            if self.now_ms - time_ms > self.latest_by_ms:
                self.latest_by_ms, self.latest = self.now_ms - time_ms, entry.id
