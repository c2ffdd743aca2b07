"""Rank the documents of a block, each as if it came next; nothing is learned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from learners.arrays import Ints
from learners.decisions.decided import Decisions
from learners.scores import RowScores
from learners.segment import Rows, Segment, Steps
from pipeline.engine.engine import MAX_SCORES, Engine
from pipeline.engine.lane import Lane, SharedSegment, share
from pipeline.engine.ranked_segment import RankedSegment
from pipeline.engine.ranking_events import RankingWriter
from pipeline.log.block import Block, Entry
from pipeline.models.frozen_lanes import FrozenLanes
from pipeline.ranking.evaluation import labelled_documents, placed
from pipeline.ranking.reasons import explained_events
from pipeline.storage.container import Arrays
from pipeline.text.next_vectors import NextVectors


class BlockRanker:
    """Ranks blocks with the lanes of one or several files.

    Nothing that it does changes a ranking, so any number of processes can have a copy of it.
    """

    def __init__(
        self, parts: Sequence[FrozenLanes], top: int, why: bool = False, evaluate: bool = False
    ) -> None:
        self._rankers = [LaneRanker(part.engine, top, why, evaluate) for part in parts]

    @property
    def lanes(self) -> list[str]:
        """The names of the lanes, in the order of the events of a document."""
        return [name for ranker in self._rankers for name in ranker.lane_names]

    def rank(
        self, block: Block, top: int | None = None, why: bool | None = None
    ) -> tuple[list[bytes], Arrays]:
        """Return the ranking events, document by document, and the places of labels.

        The places are for `Evaluation.add`. There are none unless labels are evaluated. `top` and
        `why` replace those of the ranker for this block.
        """
        documents = [entry for entry in block.entries if entry.row is not None]
        arrays: Arrays = {}
        by_ranker = list[list[bytes]]()
        for number, ranker in enumerate(self._rankers):
            events, places = ranker.rank(block, documents, top, why)
            by_ranker.append(events)
            arrays.update({f"{number}/{name}": array for name, array in places.items()})
        if len(by_ranker) == 1:
            return by_ranker[0], arrays
        pieces = [
            events[i * ranker.lanes : (i + 1) * ranker.lanes]
            for i in range(len(documents))
            for ranker, events in zip(self._rankers, by_ranker, strict=True)
        ]
        return list(chain.from_iterable(pieces)), arrays


class LaneRanker:
    """Ranks with the lanes of one file."""

    def __init__(self, engine: Engine, top: int, why: bool, evaluate: bool) -> None:
        self._engine = engine
        self._top = top
        self._why = why
        self._evaluate = evaluate
        self._vectors = NextVectors(engine.vocabulary)
        self._writer = RankingWriter([lane.name for lane in engine.lanes], top)
        for lane in engine.all_lanes:
            lane.learner.threads = 1  # other processes use the other cores
        # Learners grow with the first segment. That must not happen in every process.
        none = Rows(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0))
        self._score(none, self._topics)

    @property
    def lanes(self) -> int:
        """The number of events per document."""
        return len(self._engine.lanes)

    @property
    def lane_names(self) -> list[str]:
        """The names of the lanes, in the order of their events."""
        return [lane.name for lane in self._engine.lanes]

    @property
    def _topics(self) -> int:
        return len(self._engine.topics)

    def rank(
        self, block: Block, documents: Sequence[Entry], top: int | None, why: bool | None
    ) -> tuple[list[bytes], Arrays]:
        """Return the ranking events of the documents, and the places of their labels."""
        top = self._top if top is None else top
        why = self._why if why is None else why
        rows = self._vectors.vectors(block.counts, block.ready)
        labelled = labelled_documents(self._engine, documents if self._evaluate else [])
        events, arrays = list[bytes](), list[Arrays]()
        for some in self._bounded(len(documents), labelled.topics):
            part = rows.between(some.start, some.stop)
            shared, scores, decisions = self._score(part, labelled.topics)
            ranked = self._ranked(documents[some], scores, decisions)
            events += self._events(ranked, shared, top, why)
            if self._evaluate:
                arrays.append(placed(self._engine, labelled, some, ranked))
        return events, joined(arrays)

    def _bounded(self, rows: int, topics: int) -> Iterator[slice]:
        """Yield parts with so few rows that no lane exceeds `MAX_SCORES`."""
        lanes = self._engine.topic_group.lanes
        most = max(1, rows)
        if not all(lane.has_sparse_scores for lane in lanes):
            most = max(1, MAX_SCORES // max(1, topics))
        yield from (slice(start, min(start + most, rows)) for start in range(0, rows, most))

    def _score(
        self, rows: Rows, topics: int
    ) -> tuple[SharedSegment, dict[str, RowScores], dict[str, Decisions | None]]:
        """Return the scores and decisions of all lanes by name, with room for `topics` topics.

        `topics` may be more than the model knows: labels that it does not know have the score 0.
        """
        shared = share(
            self._segment(rows, self._topics),
            {lane.spec.norm for lane in self._engine.all_lanes},
        )
        scores: dict[str, RowScores] = {}
        decisions: dict[str, Decisions | None] = {}
        combined: dict[str, RowScores] = {}
        needed = {name for lane in self._engine.all_lanes for name in lane.combines}
        for lane in sorted(self._engine.all_lanes, key=lambda lane: bool(lane.combines)):
            given = lane.learner.new_scores(len(rows), topics)
            others = [combined[name] for name in lane.combines]
            lane.learner.follow(self._segment_for(lane, shared), given, others)
            made = self._decided(lane, shared, given)
            scores[lane.name], decisions[lane.name] = given, made
            if lane.name in needed:
                combined[lane.name] = lane.combined_scores(given, made)
        return shared, scores, decisions

    def _segment_for(self, lane: Lane, shared: SharedSegment) -> Segment:
        """Return the segment in the form that a lane needs."""
        segment = shared.by_norm[lane.spec.norm]
        return self._segment(segment.rows, lane.learner.ranks) if lane.is_ordinal else segment

    def _segment(self, rows: Rows, known: int) -> Segment:
        """Return a segment that ranks every row once, when `known` labels exist."""
        count = len(rows)
        all_known: Ints = np.full(count, known, np.int32)
        steps = Steps(
            np.arange(count, dtype=np.int32),
            np.zeros(count, np.bool_),
            all_known,
            np.zeros(count + 1, np.int64),
            np.zeros(0, np.int32),
            all_known,
        )
        return Segment(rows, steps, self._vectors.terms, known)

    def _ranked(
        self, documents: Sequence[Entry], scores: dict[str, RowScores],
        decisions: dict[str, Decisions | None],
    ) -> RankedSegment:  # fmt: skip
        """Return documents and scores as the engine does after it has ranked a segment."""
        engine, count = self._engine, len(documents)
        made = [decisions[lane.name] for lane in engine.lanes]
        return RankedSegment(
            list(documents),
            np.full(count, self._topics, np.int32),
            [[engine.group_of(lane).rounds] * count for lane in engine.lanes],
            [scores[lane.name] for lane in engine.lanes],
            decisions=made,
            emitted=[lane.emitted(one) for lane, one in zip(engine.lanes, made, strict=True)],
            marks=[lane.marks_documents for lane in engine.lanes],
        )

    def _decided(self, lane: Lane, shared: SharedSegment, scores: RowScores) -> Decisions | None:
        """Return what a lane decides about the documents; None if it assigns no topics."""
        segment = shared.by_norm[lane.spec.norm]
        made = lane.new_decisions(len(segment.rows))
        if made is not None:
            lane.decide(segment, scores, made)
        return made

    def _events(
        self, ranked: RankedSegment, shared: SharedSegment, top: int, why: bool
    ) -> list[bytes]:
        engine = self._engine
        if why:
            return explained_events(engine, ranked, shared, top)
        lanes = range(len(engine.lanes))
        return self._writer.write(ranked, engine.topics.names, lanes, top).to_strings()


def joined(parts: Sequence[Arrays]) -> Arrays:
    """Concatenate arrays of the same name."""
    if len(parts) <= 1:
        return dict(parts[0]) if parts else {}
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
