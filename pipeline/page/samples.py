"""A sample: what the live page shows of a run at one moment. Immutable, and of bounded size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from pipeline.curves.confidence import StreamDifferences
from pipeline.engine.explanations import ExplainedDocument
from pipeline.page.decisions import DecisionSample, DocumentDecision

STARTING = "starting"
RUNNING = "running"
ENDED = "ended"
INTERRUPTED = "interrupted"
FAILED = "failed"
FROZEN = "frozen"  # the page failed and no longer updates; the run continues

TOPICS = "topics"
RANKS = "ranks"


class ReadProgress(NamedTuple):
    """How much of its source a run has read: events, or records of a log."""

    read: int
    total: int | None  # in the source by now; None: not known
    put_aside: int = 0  # dead letters among those read
    behind: tuple[str, ...] = ()  # lanes that are still catching up and are not shown yet


class TimedPoint(NamedTuple):
    """A point of a lane's curve, with its time."""

    stamp: int  # version of the first sample that has it
    round: int
    labelled: int  # rounds with at least one label up to here
    document_ms: int | None  # time of the last document before or in this round
    wall_ms: int | None  # when the round was learned, by the machine's clock
    values: dict[str, float | None]  # by measure


class GroupSample(NamedTuple):
    """A lane group: the lanes that learn from one kind of label, and what they share."""

    kind: str  # TOPICS or RANKS
    lanes: tuple[int, ...]  # indices among all lanes
    losses: Sequence[str]  # by which the lanes are compared
    rounds: int
    waiting: int  # documents without a label of this kind yet
    unmatched: int = 0  # late labels of this kind that have not found a document


class TrueTopic(NamedTuple):
    """A relevant topic of a document, and its rank in the ranking of each lane."""

    topic: str
    ranks: tuple[int | None, ...]  # None: the topic was not in the ranking


@dataclass(frozen=True, slots=True)
class ShownDocument:
    """One of the last documents."""

    stamp: int  # version of the first sample that has it in this form
    explained: ExplainedDocument
    true: tuple[TrueTopic, ...] | None  # None: not labelled yet
    untold: int = 0  # further relevant topics, which are not sent
    rank: int | None = None  # the true rank; None: not labelled yet, or no lane learns ranks
    decisions: tuple[DocumentDecision | None, ...] = ()  # per lane; None: it assigns no topics


@dataclass(frozen=True, slots=True)
class LaneSample:
    """The current measures of a lane, and its curve so far."""

    name: str
    learner: str
    explains: bool  # whether it has weights for terms
    measures: Sequence[str]  # of its curve
    ranks: int | None  # number of ranks; None: it ranks topics
    rounds: int
    rounds_with_topics: int
    values: dict[str, float | None]  # measures averaged over all rounds, and derived ones
    points: tuple[TimedPoint, ...]
    changes: tuple[tuple[int, str], ...] = ()  # the round of each of the last ones, and a text


@dataclass(frozen=True, slots=True)
class Sample:
    """Everything that the page shows. A later sample has a higher version."""

    version: int
    state: str
    source: str
    counted: str = "events"  # the unit of the source: events, or records
    begun: int = 0  # first version with these lanes; earlier versions show other lanes
    note: str = ""
    documents: int = 0
    rounds: int = 0
    topics: int = 0
    terms: int = 0
    groups: tuple[GroupSample, ...] = ()
    stream_time: str | None = None  # time of the last document, as written in its event
    wall_ms: int | None = None  # when this sample was taken
    progress: ReadProgress = field(default=ReadProgress(0, None))
    average_rate: float | None = None  # documents per second since the run began
    rate: float | None = None  # documents per second in the last seconds (RATE_SECONDS)
    lanes: tuple[LaneSample, ...] = ()
    differences: StreamDifferences = field(default_factory=lambda: StreamDifferences([]))
    last_documents: tuple[ShownDocument, ...] = ()  # oldest first
    decisions: tuple[DecisionSample | None, ...] = ()  # per lane; None: it assigns no topics


def milliseconds(time: str | None) -> int | None:
    """Return an RFC 3339 time in milliseconds since 1970; None if there is no such date.

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
