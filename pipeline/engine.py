"""The engine: blocks in, rankings and curves out. A deterministic state machine over the log."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import repeat

import numpy as np

from learners.learner import Learner
from learners.scores import Scores
from learners.segment import Floats, Ints, Longs, Rows, Segment, Steps
from learners.specs import LaneSpec
from pipeline.blocks import Block, Entry
from pipeline.comparison import LaneDifferences
from pipeline.explanations import Explained, explain, strongest
from pipeline.features import FeatureSettings, Vectors, Vocabulary
from pipeline.lanes import Lane, SharedSegment, share
from pipeline.pending import PendingDocument, PendingLabels
from pipeline.topics import TopicIndex

log = logging.getLogger(__name__)

# Below this many steps handing lanes to threads costs more than it saves.
STEPS_WORTH_THREADS = 32
MOST_SCORES = 1 << 23  # of a lane at a time, if it scores every topic: 64 MiB


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """The ceilings and the features of a stream."""

    features: FeatureSettings = field(default_factory=FeatureSettings)
    max_topics: int = 2048
    max_pending: int = 10_000


@dataclass(frozen=True, slots=True)
class Ranked:
    """Documents that were just ranked, in log order, and the scores that each lane gave them."""

    documents: list[Entry]
    rounds: list[int]  # rounds learned before each ranking
    known: Ints  # topics that existed then
    scores: list[Scores]  # of each lane
    # What brought the rounds that were learned here their labels, in log order; and of each lane
    # the measures of these rounds, a row each.
    labelled: list[Entry] = field(default_factory=list)
    measured: list[Floats] = field(default_factory=list)
    # As many of the last documents as was asked for, with why they were ranked as they were.
    explained: list[Explained] = field(default_factory=list)


class Timeline:
    """Gathers the steps of a stretch of the log, matching labels with their documents."""

    def __init__(self, vectors: Vectors, topics: TopicIndex, pending: PendingLabels) -> None:
        self._vectors = vectors
        self._topics = topics
        self._pending = pending
        self._steps: list[int] = []  # of each: row, whether it learns, topics known, labels so far
        self._labels: list[int] = []
        self.ranked: list[Entry] = []
        self.ranked_known: list[int] = []
        self.ranked_topics: list[tuple[str, ...] | None] = []  # None: labels have not come yet
        self.rounds_before: list[int] = []
        self.labelled: list[Entry] = []  # documents or late labels, one a round
        self.waiting: list[tuple[str, PendingDocument]] = []  # documents here without labels
        self.late: list[PendingDocument] = []  # their rows come after those of this stretch

    def add(self, entry: Entry) -> None:
        """Take the next entry of the log."""
        if entry.row is None:
            self._add_label(entry)
            return
        row = entry.row - self._vectors.first
        known = len(self._topics.names)
        self._steps += row, False, known, len(self._labels)
        self.ranked.append(entry)
        self.ranked_known.append(known)
        self.rounds_before.append(len(self.labelled))
        key = str(entry.id)
        topics = entry.topics
        if self._pending.early:
            topics = self._pending.take_label(key, topics)
        self.ranked_topics.append(topics)
        if topics is not None:
            if self._pending.documents:
                self._pending.drop_document(key)  # a label can only mean the newest of its id
            self._learn_row(entry, row, topics)
            return
        document = PendingDocument(row)
        self.waiting.append((key, document))
        self._pending.add_document(key, document)

    def _add_label(self, entry: Entry) -> None:
        if entry.topics is None:
            self._pending.ignored_labels += 1  # a rank alone, and no lane here learns ranks
            return
        document = self._pending.documents.pop(str(entry.id), None)
        if document is None:
            self._pending.add_label(str(entry.id), entry.topics)
            return
        row = document.row
        if row is None:
            row = len(self._vectors.rows) + len(self.late)
            self.late.append(document)
        self._learn_row(entry, row, entry.topics)

    def _learn_row(self, entry: Entry, row: int, topics: Sequence[str]) -> None:
        numbers = self._topics.numbers(topics)
        if topics and not numbers:
            return  # all of them past the ceiling: no round, rather than one without topics
        self._labels += numbers
        self._steps += row, True, len(self._topics.names), len(self._labels)
        self.labelled.append(entry)

    def __bool__(self) -> bool:
        return bool(self._steps)

    def segment(self) -> Segment:
        """The steps so far, with the vectors they need."""
        row, learn, known, label_ends = np.array(self._steps, np.int64).reshape(-1, 4).T
        steps = Steps(
            row.astype(np.int32),
            learn.astype(np.bool_),
            known.astype(np.int32),
            np.concatenate(([0], label_ends)),
            np.array(self._labels, np.int32),
        )
        rows = with_late_rows(self._vectors.rows, self.late)
        return Segment(rows, steps, self._vectors.terms, len(self._topics))


def with_late_rows(rows: Rows, late: list[PendingDocument]) -> Rows:
    """The rows, and behind them those of earlier documents whose labels have come."""
    if not late:
        return rows
    lengths = [len(document.terms) for document in late]
    starts = np.concatenate((rows.starts, rows.starts[-1] + np.cumsum(lengths)))
    terms = np.concatenate([rows.terms, *(document.terms for document in late)])
    values = np.concatenate([rows.values, *(document.values for document in late)])
    return Rows(starts, terms, values)


class Engine:
    """Follows one stream with any number of lanes."""

    def __init__(
        self,
        lanes: Sequence[LaneSpec],
        declared_topics: Sequence[str] = (),
        settings: EngineSettings | None = None,
        threads: int | None = None,
        build: Callable[[LaneSpec], Learner] = LaneSpec.build,
    ) -> None:
        self.settings = settings or EngineSettings()
        self.vocabulary = Vocabulary(self.settings.features)
        self.topics = TopicIndex(declared_topics, self.settings.max_topics)
        self.pending = PendingLabels(self.settings.max_pending)
        self.lanes = [Lane(spec, build(spec)) for spec in lanes]
        self.differences = LaneDifferences(len(self.lanes))
        self.documents = 0
        self.rounds = 0
        self._explains = True
        self._threads = threads or os.cpu_count() or 1
        self._pool = self._new_pool()

    def _new_pool(self) -> ThreadPoolExecutor | None:
        threads = min(len(self.lanes), self._threads)
        return ThreadPoolExecutor(threads) if threads > 1 else None

    def join(self, other: Engine, order: Sequence[str]) -> None:
        """Take over the lanes of an engine that has followed the same log as far.

        All that lanes share is equal then; `order` says how the lanes stand afterwards.
        """
        if (self.documents, self.rounds) != (other.documents, other.rounds):
            raise ValueError("the engines have not followed the same log as far")
        lanes = [*self.lanes, *other.lanes]
        places = sorted(range(len(lanes)), key=lambda place: order.index(lanes[place].name))
        for key, document in self.pending.documents.items():
            scores = [*document.scores, *other.pending.documents[key].scores]
            document.scores = [scores[place] for place in places]
        self.close()
        other.close()
        self.lanes = [lanes[place] for place in places]
        self.differences.join(other.differences, places)
        self._pool = self._new_pool()

    def close(self) -> None:
        """Let the threads go."""
        if self._pool:
            self._pool.shutdown()

    def process(self, block: Block, to_explain: int = 0) -> Iterator[Ranked]:
        """Rank and learn a block; yields the rankings, in as many pieces as it takes.

        The rankings of the last `to_explain` documents of each piece are also explained.
        """
        entries = iter(block.entries)
        entry = next(entries, None)
        for vectors in self._bounded(self.vocabulary.vectors(block)):
            if vectors.keep is not None:
                self._forget(vectors.keep)
            end = vectors.first + len(vectors.rows)
            timeline = Timeline(vectors, self.topics, self.pending)
            while entry is not None and (entry.row is None or entry.row < end):
                timeline.add(entry)
                entry = next(entries, None)
            if timeline:
                yield self._follow(timeline, len(vectors.rows), to_explain)

    def _bounded(self, pieces: Iterable[Vectors]) -> Iterator[Vectors]:
        """The vectors in pieces of so few rows that the scores of a lane are not too many."""
        for vectors in pieces:
            most = len(vectors.rows)
            if not all(lane.is_sparse for lane in self.lanes):
                most = max(1, MOST_SCORES // max(1, len(self.topics)))
            yield from vectors.pieces(most)

    def _forget(self, keep: Longs) -> None:
        self.pending.forget(keep)
        for lane in self.lanes:
            lane.learner.forget(keep)

    def _follow(self, timeline: Timeline, rows: int, to_explain: int) -> Ranked:
        """Run the lanes over a stretch of the log, then let its unlabelled documents wait."""
        segment = timeline.segment()
        scores = [lane.new_scores(len(segment.rows), segment.topics) for lane in self.lanes]
        for i, document in enumerate(timeline.late):
            for mine, then in zip(scores, document.scores, strict=True):
                mine.put(rows + i, then)
        shared = share(segment, {lane.spec.norm for lane in self.lanes})
        explained = list[Explained]()
        done, measured = 0, list[list[Floats]]()
        ranking_steps = np.flatnonzero(~segment.steps.learn)
        for row in range(max(0, rows - to_explain), rows):
            # Cut right after the ranking: nothing of this document was learned yet.
            ranked = int(ranking_steps[row]) + 1
            measured.append(self._run(shared.between(done, ranked), scores))
            explained += self._explained(timeline, shared, row, scores)
            done = ranked
        measured.append(self._run(shared.between(done, len(shared)), scores))
        by_lane = [np.concatenate(pieces) for pieces in zip(*measured, strict=True)]
        self.differences.follow(by_lane)
        self._let_wait(timeline, segment, scores)
        rounds = [self.rounds + before for before in timeline.rounds_before]
        self.documents += len(timeline.ranked)
        self.rounds += len(timeline.labelled)
        known = np.array(timeline.ranked_known, np.int32)
        return Ranked(timeline.ranked, rounds, known, scores, timeline.labelled, by_lane, explained)

    def _run(self, shared: SharedSegment, scores: list[Scores]) -> list[Floats]:
        """Let the lanes follow a stretch; returns the measures of its rounds, lane by lane."""
        if self._pool and len(shared) >= STEPS_WORTH_THREADS:
            return list(self._pool.map(Lane.follow, self.lanes, repeat(shared), scores))
        return list(map(Lane.follow, self.lanes, repeat(shared), scores))

    def _explained(
        self, timeline: Timeline, shared: SharedSegment, row: int, scores: list[Scores]
    ) -> list[Explained]:
        """Why a document was ranked so; nothing, from then on, if that cannot be said.

        It is only for show: rankings and learning go on as if nobody had asked.
        """
        if not self._explains:
            return []
        try:
            return [self._explain(timeline, shared, row, scores)]
        except Exception:
            log.exception("rankings cannot be explained, so no more documents are shown")
            self._explains = False
            return []

    def _explain(
        self, timeline: Timeline, shared: SharedSegment, row: int, scores: list[Scores]
    ) -> Explained:
        """Why the document of this row was ranked as it was just now."""
        names, table = self.topics.names, self.vocabulary.table
        given = [mine.row(row, timeline.ranked_known[row]) for mine in scores]
        return Explained(
            timeline.ranked[row],
            number=self.documents + row + 1,
            round=self.rounds + timeline.rounds_before[row],
            topics=timeline.ranked_topics[row],
            terms=strongest(*shared.by_norm["none"].rows.row(row), table),
            rankings=[
                explain(lane, shared, row, mine, names, table)
                for lane, mine in zip(self.lanes, given, strict=True)
            ],
            scores=given,
        )

    def _let_wait(self, timeline: Timeline, segment: Segment, scores: list[Scores]) -> None:
        """Keep what a late label will need of the documents that still wait for one."""
        for key, document in timeline.waiting:
            row = document.row
            if row is None or self.pending.documents.get(key) is not document:
                continue
            terms, values = segment.rows.row(row)
            known = timeline.ranked_known[row]
            document.terms, document.values = terms.copy(), values.copy()
            document.known, document.scores = known, [mine.keep(row, known) for mine in scores]
            document.row = None
