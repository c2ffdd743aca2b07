"""The feed between a run and its live page: it sees every block, and takes samples for the page.

The run's thread calls the feed; the page's thread reads `sample` at any time. A sample never
changes, and a single assignment replaces it, so that neither thread waits for the other. A run does
the same work whether or not a browser shows it.
"""

from __future__ import annotations

import logging
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from itertools import islice
from typing import Concatenate, ParamSpec

import numpy as np

from pipeline.curves.change_text import change_entry, change_text
from pipeline.curves.topic_curve import Point
from pipeline.engine.engine import Engine
from pipeline.engine.explanations import ExplainedDocument, rank_of
from pipeline.engine.lane import Lane
from pipeline.engine.lane_group import LaneGroup
from pipeline.engine.ranked_segment import RankedSegment
from pipeline.log.block import Block
from pipeline.page.decisions import PageDecisions
from pipeline.page.samples import (
    FROZEN,
    RANKS,
    RUNNING,
    STARTING,
    TOPICS,
    GroupSample,
    LaneSample,
    ReadProgress,
    Sample,
    ShownDocument,
    TimedPoint,
    TrueTopic,
    milliseconds,
)

log = logging.getLogger(__name__)
P = ParamSpec("P")

SAMPLE_SECONDS = 0.25  # between two samples
RATE_SECONDS = 10.0  # the current rate is the mean over this time
LAST_DOCUMENTS = 6
LAST_CHANGES = 10  # of each lane
DOCUMENTS_PER_SECOND = 2.0  # that are shown; nobody can read more
NO_TERMS = np.empty(0, np.int32)
NO_VALUES = np.empty(0)
NO_TOPICS = np.empty(0, np.int64)
TRUE_TOPICS = 20  # relevant topics shown per document; it may have a thousand


def harmless(
    act: Callable[Concatenate[PageFeed, P], None],
) -> Callable[Concatenate[PageFeed, P], None]:
    """Keep an error of the page from ending the run: log it, and stop updating the page."""

    @wraps(act)
    def guarded(feed: PageFeed, /, *args: P.args, **kwargs: P.kwargs) -> None:
        if feed.sample.state == FROZEN:
            return
        try:
            act(feed, *args, **kwargs)
        except Exception:
            log.exception("the live page failed and no longer updates; the run continues")
            last = feed.sample
            feed.sample = replace(last, version=last.version + 1, state=FROZEN)

    return guarded


class Feed:
    """The calls that a run makes, block by block. This class ignores them; see `PageFeed`."""

    def begin(self, engine: Engine, progress: ReadProgress) -> None:
        """Start with an engine, new or restored; called again if the engine or its lanes change."""

    def wanted(self, last: bool = False) -> int:
        """Return how many documents of the next block to explain; `last`: it is the last block."""
        return 0

    def take(self, ranked: RankedSegment) -> None:
        """Take a segment of a block that was ranked and learned."""

    def advance(self, block: Block, progress: ReadProgress) -> None:
        """Take note that a block is done, and of the progress by then."""

    def idle(self, progress: ReadProgress | None = None) -> None:
        """Take note that there is no block for now, and of the progress if it may have changed."""

    def end(self, state: str, seconds: float | None = None, note: str = "") -> None:
        """Take note that the run is over."""


class PageFeed(Feed):
    """Collects what the page shows of a run, and keeps the newest sample."""

    def __init__(
        self,
        source: str,
        clock: Callable[[], float] = time.monotonic,
        counted: str = "events",
    ) -> None:
        readable = source.encode("utf-8", "replace").decode()
        self.sample = Sample(1, STARTING, readable, counted)
        self._clock = clock
        self._epoch = time.time() - clock()  # when the clock was 0, in seconds since 1970
        self._engine: Engine | None = None
        self._begun = 0
        self._points: list[list[TimedPoint]] = []
        self._documents: deque[ShownDocument] = deque(maxlen=LAST_DOCUMENTS)
        self._decisions = PageDecisions(clock)
        self._allowance = float(LAST_DOCUMENTS)
        self._allowed_at = clock()
        self._rates: deque[tuple[float, int]] = deque()
        self._stream_time: str | None = None
        self._progress = ReadProgress(0, None)
        self._began = self._sampled_at = clock()
        self._unsampled = False
        self._documents_before = 0

    @property
    def _next(self) -> int:
        return self.sample.version + 1

    def _wall_ms(self) -> int:
        return round(1000 * (self._epoch + self._clock()))

    @harmless
    def begin(self, engine: Engine, progress: ReadProgress) -> None:
        """Show an engine as it is; points of lanes that were shown before keep their times."""
        known = {lane.name: lane.points for lane in self.sample.lanes}
        self._engine = engine
        self._begun = self._next
        self._began = self._clock()
        self._progress = progress
        self._points = [[] for _ in engine.lanes]
        self._take_points(engine, None)
        for points, lane in zip(self._points, engine.lanes, strict=True):
            for place, (point, before) in enumerate(
                zip(points, known.get(lane.name, ()), strict=False)
            ):
                if (point.round, point.values) == (before.round, before.values):
                    points[place] = before._replace(stamp=point.stamp)
        self._decisions.begin()
        self._documents.clear()  # their rankings are in the order of the lanes before
        self._documents_before = engine.documents
        self._rates.clear()
        self._rates.append((self._began, engine.documents))
        self._make(RUNNING)

    def wanted(self, last: bool = False) -> int:
        """All documents of a slow stream; about two per second of a fast one, and its last ones."""
        if self.sample.state == FROZEN:
            return 0
        if last:
            return LAST_DOCUMENTS
        now = self._clock()
        earned = (now - self._allowed_at) * DOCUMENTS_PER_SECOND
        self._allowance = min(self._allowance + earned, float(LAST_DOCUMENTS))
        self._allowed_at = now
        return max(0, int(self._allowance))

    @harmless
    def take(self, ranked: RankedSegment) -> None:
        """Add the new points of the curves, and the documents that were explained."""
        if self._engine is None:
            return
        self._allowance -= len(ranked.explained)
        self._take_points(self._engine, ranked)
        decisions = self._decisions.take(self._engine, ranked)
        for explained, decided in zip(ranked.explained, decisions, strict=True):
            shown = self._shown(explained, explained.topics, explained.rank)
            self._documents.append(replace(shown, decisions=decided))
        if ranked.documents:
            self._stream_time = ranked.documents[-1].time

    @harmless
    def advance(self, block: Block, progress: ReadProgress) -> None:
        """Add late labels to the shown documents, and take a sample if it is time for one."""
        self._progress = progress
        if any(shown.true is None or self._waits_for_rank(shown) for shown in self._documents):
            self._label_documents(block)
        self._unsampled = True
        if self._clock() - self._sampled_at >= SAMPLE_SECONDS:
            self._make(RUNNING)

    @harmless
    def idle(self, progress: ReadProgress | None = None) -> None:
        """Show what was not shown yet, and let the current rate fall."""
        if self._engine is None:
            return
        if progress is not None and progress != self._progress:
            self._progress = progress
            self._unsampled = True
        since = self._clock() - self._sampled_at
        if self._unsampled or (since >= RATE_SECONDS / 10 and self.sample.rate):
            self._make(RUNNING)

    @harmless
    def end(self, state: str, seconds: float | None = None, note: str = "") -> None:
        """Take the last sample, and release the engine."""
        self._make(state, seconds, note)
        self._engine = None

    def _take_points(self, engine: Engine, ranked: RankedSegment | None) -> None:
        """Add the points that the curves have kept since the last call."""
        for number, lane in enumerate(engine.lanes):
            points = self._points[number]
            if lane.curve.kept == len(points):
                continue
            wall = None if ranked is None else self._wall_ms()
            rows = lane.curve.rows()[len(points) : lane.curve.kept]
            labelled = rows[:, lane.curve.labelled_column].astype(int).tolist()
            for point, count in zip(lane.curve.points(len(points)), labelled, strict=True):
                when = self._document_ms(point, number, ranked)
                points.append(TimedPoint(self._next, point.round, count, when, wall, point.values))

    def _document_ms(self, point: Point, lane: int, ranked: RankedSegment | None) -> int | None:
        """Return the time of the last document before or in the round of a point.

        If the document came with its labels, it is the document that the round learned. A late
        label has no time of its own; then it is the document that came before the label.
        """
        if ranked is None:
            return None  # learned before this feed began
        place = bisect_right(ranked.rounds[lane], point.round - 1) - 1
        return milliseconds(ranked.documents[place].time if place >= 0 else self._stream_time)

    def _shown(
        self, explained: ExplainedDocument, topics: Sequence[str] | None, rank: int | None
    ) -> ShownDocument:
        if topics is None or self._engine is None:
            return ShownDocument(self._next, explained, None, rank=rank)
        true = []
        for topic in islice(topics, TRUE_TOPICS):
            number = self._engine.topics.find(topic)
            ranks = (
                None if number is None or lane.is_ordinal else rank_of(number, scores, head)
                for lane, scores, head in zip(
                    self._engine.lanes, explained.scores, explained.heads, strict=True
                )
            )
            true.append(TrueTopic(topic, tuple(ranks)))
        untold = len(topics) - len(true)
        return ShownDocument(self._next, explained, tuple(true), untold, rank)

    def _waits_for_rank(self, shown: ShownDocument) -> bool:
        """Return whether the document has no rank yet, and some lane learns ranks."""
        return (
            shown.rank is None and self._engine is not None and bool(self._engine.rank_group.lanes)
        )

    def _label_documents(self, block: Block) -> None:
        """Add the late labels of this block to the shown documents."""
        late = [entry for entry in block.entries if entry.row is None]
        topics_by_id = {str(entry.id): entry.topics for entry in late if entry.topics is not None}
        rank_by_id = {str(entry.id): entry.rank for entry in late if entry.rank is not None}
        for place, shown in enumerate(self._documents):
            key = str(shown.explained.document.id)
            topics = topics_by_id.get(key) if shown.true is None else None
            rank = rank_by_id.get(key) if self._waits_for_rank(shown) else None
            if topics is not None or rank is not None:
                self._documents[place] = self._labelled(shown, topics, rank)

    def _labelled(
        self, shown: ShownDocument, topics: Sequence[str] | None, rank: int | None
    ) -> ShownDocument:
        """Return a document with a new label; a label of the other kind stays as it was."""
        if topics is None:
            return replace(shown, stamp=self._next, rank=rank)
        labelled = self._shown(shown.explained, topics, shown.rank if rank is None else rank)
        return replace(labelled, decisions=shown.decisions)

    def _make(self, state: str, seconds: float | None = None, note: str = "") -> None:
        """Take the next sample."""
        engine, now = self._engine, self._clock()
        if engine is None:
            self.sample = replace(self.sample, version=self._next, state=state, note=note)
            return
        seconds = now - self._began if seconds is None else seconds
        new_documents = engine.documents - self._documents_before
        rate = self._recent_rate(now, engine.documents)
        self.sample = Sample(
            version=self._next,
            state=state,
            source=self.sample.source,
            counted=self.sample.counted,
            begun=self._begun,
            note=note,
            documents=engine.documents,
            rounds=engine.rounds,
            topics=len(engine.topics),
            terms=len(engine.vocabulary),
            groups=tuple(group_sample(engine, group) for group in engine.lane_groups),
            stream_time=self._stream_time,
            wall_ms=self._wall_ms(),
            progress=self._progress,
            average_rate=new_documents / seconds if seconds > 0 else None,
            rate=rate if state == RUNNING else None,
            lanes=tuple(
                lane_sample(lane, points, engine.topics.names)
                for lane, points in zip(engine.lanes, self._points, strict=True)
            ),
            differences=engine.differences.copy(),
            last_documents=tuple(self._documents),
            decisions=self._decisions.sample(engine, is_last=state != RUNNING),
        )
        self._sampled_at = now
        self._unsampled = False

    def _recent_rate(self, now: float, documents: int) -> float | None:
        """Return the documents per second in the last `RATE_SECONDS`."""
        self._rates.append((now, documents))
        while len(self._rates) > 2 and self._rates[0][0] < now - RATE_SECONDS:
            self._rates.popleft()
        then, before = self._rates[0]
        return (documents - before) / (now - then) if now > then else None


def group_sample(engine: Engine, group: LaneGroup) -> GroupSample:
    """Return the sample of a lane group."""
    return GroupSample(
        kind=RANKS if group is engine.rank_group else TOPICS,
        lanes=tuple(place for place, lane in enumerate(engine.lanes) if lane in group.lanes),
        losses=group.differences.losses,
        rounds=group.rounds,
        waiting=len(group.pending.documents),
        unmatched=group.pending.labels_without_document,
    )


def lane_sample(lane: Lane, points: Sequence[TimedPoint], topics: Sequence[str]) -> LaneSample:
    """Return the sample of a lane; `topics` are the names of all topics."""
    changes = lane.curve.changes.kept[-LAST_CHANGES:]
    return LaneSample(
        name=lane.name,
        learner=lane.spec.learner,
        measures=lane.curve.measures,
        ranks=lane.learner.ranks or None,
        explains=lane.learner.contributions(NO_TERMS, NO_VALUES, NO_TOPICS) is not None,
        rounds=lane.curve.rounds,
        rounds_with_topics=lane.curve.rounds_with_topics,
        values={**lane.curve.last().values, **lane.curve.derived()},
        points=tuple(points),
        changes=tuple(
            (change.round, change_text(change_entry(change, topics), lane.curve.watched))
            for change in changes
        ),
    )
