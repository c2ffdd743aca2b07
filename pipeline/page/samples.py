"""What the live page knows of a run at one moment: immutable, and of bounded size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from pipeline.curves.confidence import StreamDifferences
from pipeline.engine.explanations import ExplainedDocument

STARTING = "starting"
RUNNING = "running"
ENDED = "ended"
INTERRUPTED = "interrupted"
FAILED = "failed"
FROZEN = "frozen"  # the page itself had a fault; the run goes on

TOPICS = "topics"
RANKS = "ranks"


class ReadProgress(NamedTuple):
    """How far a run has come through its source: events, or records of a log."""

    read: int  # so far
    total: int | None  # there are by now, if that is known
    put_aside: int = 0  # malformed ones among those read
    behind: tuple[str, ...] = ()  # lanes that still catch up, and are shown once they have


class TimedPoint(NamedTuple):
    """A point of a lane's curve, and when it was."""

    stamp: int  # the sample that it first appeared in
    round: int
    document_ms: int | None  # the time of the document that the stream had come to
    wall_ms: int | None  # when the round was learned, by this machine's clock
    values: dict[str, float | None]  # by measure


class GroupSample(NamedTuple):
    """The lanes that learn from one kind of label, and what they share."""

    kind: str  # TOPICS or RANKS
    lanes: tuple[int, ...]  # their places among all lanes
    losses: Sequence[str]  # that they are compared by
    rounds: int
    waiting: int  # documents that wait for a late label of this kind


class TrueTopic(NamedTuple):
    """A topic that a document has, and the rank that each lane gave it."""

    topic: str
    ranks: tuple[int | None, ...]  # None: not known yet when the document was ranked


@dataclass(frozen=True, slots=True)
class ShownDocument:
    """One of the last documents."""

    stamp: int  # the sample that it first appeared in, or in which its labels did
    explained: ExplainedDocument
    true: tuple[TrueTopic, ...] | None  # None: labels have not come yet
    untold: int = 0  # true topics beyond those
    rank: int | None = None  # the true one; None: it has not come yet, or no lane learns ranks


@dataclass(frozen=True, slots=True)
class LaneSample:
    """Where a lane stands, and its curve so far."""

    name: str
    learner: str
    explains: bool  # whether terms are behind its rankings
    measures: Sequence[str]  # that its curve has
    ranks: int | None  # how many it tells apart; None: it ranks topics
    rounds: int
    rounds_with_topics: int
    values: dict[str, float | None]  # measures as they stand, and what is derived of all rounds
    points: tuple[TimedPoint, ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """Everything that the page shows. A later sample has a greater version."""

    version: int
    state: str
    source: str
    counted: str = "events"  # what the source consists of
    begun: int = 0  # the first version of these lanes; what was told before means others
    note: str = ""
    documents: int = 0
    rounds: int = 0
    topics: int = 0
    terms: int = 0
    courses: tuple[GroupSample, ...] = ()
    stream_time: str | None = None  # of the last document, as it was written
    wall_ms: int | None = None  # when this sample was made
    progress: ReadProgress = field(default=ReadProgress(0, None))
    average_rate: float | None = None  # documents a second since the run began
    rate: float | None = None  # documents a second, of late
    lanes: tuple[LaneSample, ...] = ()
    differences: StreamDifferences = field(default_factory=lambda: StreamDifferences([]))
    last_documents: tuple[ShownDocument, ...] = ()  # oldest first


def milliseconds(time: str | None) -> int | None:
    """A time as in RFC 3339 in milliseconds since 1970; None if no calendar has it.

    Examples
    --------
    >>> milliseconds("1970-01-01T01:00:00.5+01:00")
    500
    >>> milliseconds("1987-02-30T00:00:00Z")

    """
    if time is None:
        return None
    try:
        since = datetime.fromisoformat(time.upper()) - datetime(1970, 1, 1, tzinfo=UTC)
    except (ValueError, OverflowError):
        return None  # the 30th of February, a leap second, the year 0
    return round(since.total_seconds() * 1000)
