"""A lane group: the lanes of a stream that learn from the same kind of label.

The topic lanes of a stream are one group and its ordinal lanes are another. The lanes of a group
have the same rounds and the same pending documents, so their losses can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from learners.arrays import Floats, Ints, Longs
from learners.decisions.decided import Decisions
from learners.scores import RowScores, StoredScores
from learners.segment import Segment, Steps
from pipeline.curves.confidence import LaneDifferences
from pipeline.engine.explanations import RankedTopic, WeightedTerm, explain_ranking
from pipeline.engine.labels import Labels
from pipeline.engine.lane import Lane, SharedSegment, share
from pipeline.engine.lane_runner import LaneRunner
from pipeline.engine.pending_labels import PendingLabels
from pipeline.engine.segment_builder import SegmentBuilder
from pipeline.log.block import Entry
from pipeline.text.features import Vectors
from pipeline.text.terms import TermTable


@dataclass(frozen=True, slots=True)
class GroupExplanation:
    """Why the lanes of a group ranked a document as they did."""

    rankings: list[tuple[RankedTopic, ...]]  # per lane: the first topics
    scores: list[Floats]  # per lane: the scores of all topics known at the ranking
    heads: list[Ints]  # per lane: the first topics, if they are not in order of the scores
    terms: tuple[WeightedTerm, ...] = ()  # the terms with the largest values in its vector


@dataclass(frozen=True, slots=True)
class GroupResult:
    """What the lanes of a group produced for a segment."""

    rounds: list[int]  # rounds learned before each ranking
    known_labels: Ints  # labels that existed at each ranking
    scores: list[RowScores]  # per lane
    decisions: list[Decisions | None]  # per lane: None if it assigns no topics
    emitted: list[Decisions | None]  # the same, with the candidates in the order of the ranking
    labelled: list[Entry]  # the document or late label that each round learned from
    measures: list[Floats]  # per lane: one row per round
    steps: Steps
    explanations: list[GroupExplanation] = field(default_factory=list)


class LaneGroup:
    """Lanes that learn from the same labels, in lockstep."""

    def __init__(self, lanes: Sequence[Lane], labels: Labels, pending: PendingLabels) -> None:
        self.lanes = list(lanes)
        self.labels = labels
        self.pending = pending
        self.rounds = 0
        self.differences = self._no_differences()

    def _no_differences(self) -> LaneDifferences:
        if not self.lanes:
            return LaneDifferences(0)
        curve = self.lanes[0].curve
        return LaneDifferences(len(self.lanes), curve.compared, curve.spans)

    def new_builder(self, vectors: Vectors) -> SegmentBuilder:
        """Return an empty builder for the segment of these vectors."""
        return SegmentBuilder(vectors, self.labels, self.pending)

    def forget(self, keep: Longs) -> None:
        """Drop the terms that left the vocabulary; `keep` are the terms that stay."""
        self.pending.forget(keep)
        for lane in self.lanes:
            lane.learner.forget(keep)

    def follow(
        self, builder: SegmentBuilder, rows: int, to_explain: Sequence[int], runner: LaneRunner,
        explain: ExplainRow,
    ) -> GroupResult:  # fmt: skip
        """Rank and learn a segment with all lanes, then store its unlabelled documents.

        `rows` is the number of documents of the segment, and `to_explain` are the rows to explain.
        """
        segment = builder.build()
        scores = [lane.learner.new_scores(len(segment.rows), segment.topics) for lane in self.lanes]
        decisions = [lane.new_decisions(len(segment.rows)) for lane in self.lanes]
        for i, document in enumerate(builder.late_documents):
            for lane_scores, stored in zip(scores, document.scores, strict=True):
                lane_scores.put(rows + i, stored)
        for i, made in enumerate(decisions):
            if made is not None and builder.late_documents:
                made.put(rows, [late.scores[i].decision for late in builder.late_documents])
        shared = share(segment, {lane.spec.norm for lane in self.lanes})
        explanations = list[GroupExplanation]()
        done, measured = 0, list[list[Floats]]()
        ranking_steps = np.flatnonzero(~segment.steps.learn)
        for row in to_explain:
            # Cut right after the ranking, before anything is learned from this document.
            stop = int(ranking_steps[row]) + 1
            measured.append(runner.run(self.lanes, shared.between(done, stop), scores, decisions))
            explanations += explain(self, shared, row, builder.known_labels[row], scores, decisions)
            done = stop
        rest = shared.between(done, len(shared))
        measured.append(runner.run(self.lanes, rest, scores, decisions))
        measures = [np.concatenate(parts) for parts in zip(*measured, strict=True)]
        self.differences.follow(measures)
        for lane in self.lanes:
            curve = lane.curve
            curve.changes.name_documents(builder.labelled, curve.rounds - len(builder.labelled))
        self._store_unlabelled(builder, segment, scores, decisions)
        rounds = [self.rounds + before for before in builder.rounds_before]
        self.rounds += len(builder.labelled)
        emitted = [lane.emitted(made) for lane, made in zip(self.lanes, decisions, strict=True)]
        for lane, made in zip(self.lanes, emitted, strict=True):
            if lane.decision_curve is not None and made is not None:
                lane.decision_curve.name_documents(made, builder.documents, builder.labelled)
        known_labels = np.array(builder.known_labels, np.int32)
        return GroupResult(
            rounds, known_labels, scores, decisions, emitted, builder.labelled, measures,
            segment.steps, explanations,
        )  # fmt: skip

    def explain(
        self, shared: SharedSegment, row: int, known: int, scores: Sequence[RowScores],
        decisions: Sequence[Decisions | None], topics: Sequence[str], table: TermTable,
    ) -> GroupExplanation:  # fmt: skip
        """Explain the rankings of the document in this row; nothing may be learned from it yet."""
        row_scores = [lane_scores.row(row, known) for lane_scores in scores]
        heads = [lane.head(made, row) for lane, made in zip(self.lanes, decisions, strict=True)]
        rankings = [
            explain_ranking(lane, shared, row, lane_scores, head, topics, table)
            for lane, lane_scores, head in zip(self.lanes, row_scores, heads, strict=True)
        ]
        return GroupExplanation(rankings, row_scores, heads)

    def _store_unlabelled(
        self, builder: SegmentBuilder, segment: Segment, scores: list[RowScores],
        decisions: list[Decisions | None],
    ) -> None:  # fmt: skip
        """Store the vectors, scores and decisions of the documents that still wait for a label."""
        waiting = [
            (document, document.row)
            for key, document in builder.unlabelled
            if document.row is not None and self.pending.documents.get(key) is document
        ]
        for document, row in waiting:
            terms, values = segment.rows.row(row)
            known = builder.known_labels[row]
            document.terms, document.values = terms.copy(), values.copy()
            document.known = known
            document.scores = [lane_scores.keep(row, known) for lane_scores in scores]
            document.row = None
        for i, made in enumerate(decisions):
            if made is not None:
                kept = made.keep([row for _, row in waiting])
                for (document, _), decision in zip(waiting, kept, strict=True):
                    scored = document.scores[i]
                    document.scores[i] = StoredScores(scored.values, scored.topics, decision)

    def merge(self, other: LaneGroup, order: Sequence[str]) -> None:
        """Take over the lanes of a group that is at the same position of the same log.

        Lanes that both groups have are equal. `order` gives the names of the lanes in their new
        order; lanes that it does not name, the helpers, come last.
        """
        if self.lanes and other.lanes:
            lanes = self._merge_shared(other)
        elif other.lanes:
            self.labels, self.pending, self.rounds = other.labels, other.pending, other.rounds
            self.differences = other.differences
            lanes = other.lanes
        else:
            lanes = self.lanes
        position = {name: i for i, name in enumerate(order)}
        indices = sorted(
            range(len(lanes)), key=lambda i: position.get(lanes[i].name, len(position))
        )
        for document in self.pending.documents.values():
            document.scores = [document.scores[i] for i in indices]
        self.lanes = [lanes[i] for i in indices]
        self.differences.arrange(indices)

    def _merge_shared(self, other: LaneGroup) -> list[Lane]:
        """Add the scores and differences of the other group's lanes; return all lanes."""
        if self.rounds != other.rounds:
            raise ValueError(
                f"cannot merge lanes after {self.rounds} rounds with lanes after {other.rounds} "
                "rounds: both must have followed the log to the same position"
            )
        if self.pending.documents.keys() != other.pending.documents.keys():
            raise ValueError(
                "cannot merge lanes that wait for labels of different documents: a snapshot of an "
                "older version kept more documents than max_pending_bytes allows; start again from "
                "the beginning of the log with an empty snapshot folder"
            )
        own_names = {lane.name for lane in self.lanes}
        new = [i for i, lane in enumerate(other.lanes) if lane.name not in own_names]
        for key, document in self.pending.documents.items():
            other_scores = other.pending.documents[key].scores
            document.scores += [other_scores[i] for i in new]
        lanes = [*self.lanes, *(other.lanes[i] for i in new)]
        names = [lane.name for lane in lanes]
        self.differences.append(other.differences, [names.index(lane.name) for lane in other.lanes])
        return lanes


# Returns one explanation, or none if rankings cannot be explained.
ExplainRow = Callable[
    [LaneGroup, SharedSegment, int, int, Sequence[RowScores], Sequence[Decisions | None]],
    list[GroupExplanation],
]
