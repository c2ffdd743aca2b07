"""A group: the lanes that learn from one kind of label, and what they share.

Their rounds are the same, the same documents wait for the same labels, and their losses can be
compared. Topic lanes are one group of a stream, ordinal lanes another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from learners.arrays import Floats, Ints, Longs
from learners.scores import RowScores
from learners.segment import Segment
from pipeline.curves.confidence import LaneDifferences
from pipeline.engine.explanations import RankedTopic, WeightedTerm, explain
from pipeline.engine.lane import Lane, SharedSegment, share
from pipeline.engine.pending_labels import PendingLabels
from pipeline.engine.schedule import Labels, Timeline
from pipeline.log.block import Entry
from pipeline.text.features import Vectors
from pipeline.text.terms import TermTable

Run = Callable[[Sequence[Lane], SharedSegment, Sequence[RowScores]], list[Floats]]


@dataclass(frozen=True, slots=True)
class GroupExplanation:
    """What the lanes of a group said of a document, and why: the first places, and all scores."""

    rankings: list[tuple[RankedTopic, ...]]
    scores: list[Floats]
    terms: tuple[WeightedTerm, ...] = ()  # the heaviest of the document


@dataclass(frozen=True, slots=True)
class GroupResult:
    """What the lanes of a group made of a stretch of the log."""

    rounds: list[int]  # rounds learned before each ranking
    known: Ints  # labels that existed then
    scores: list[RowScores]  # of each lane
    labelled: list[Entry]  # what brought the rounds that were learned here their labels
    measured: list[Floats]  # of each lane the measures of these rounds, a row each
    said: list[GroupExplanation] = field(default_factory=list)  # of the documents to explain


class LaneGroup:
    """Lanes of one kind that follow a stream together."""

    def __init__(self, lanes: Sequence[Lane], labels: Labels, max_pending: int) -> None:
        self.lanes = list(lanes)
        self.labels = labels
        self.pending = PendingLabels(max_pending)
        self.rounds = 0
        self.differences = self._no_differences()

    def _no_differences(self) -> LaneDifferences:
        if not self.lanes:
            return LaneDifferences(0)
        curve = self.lanes[0].curve
        return LaneDifferences(len(self.lanes), curve.compared, curve.spans)

    def begin(self, vectors: Vectors) -> Timeline:
        """The steps of a stretch, to be filled."""
        return Timeline(vectors, self.labels, self.pending)

    def forget(self, keep: Longs) -> None:
        """Drop the terms that left the vocabulary."""
        self.pending.forget(keep)
        for lane in self.lanes:
            lane.learner.forget(keep)

    def follow(
        self, timeline: Timeline, rows: int, to_explain: Sequence[int], run: Run, why: Why
    ) -> GroupResult:
        """Run the lanes over a stretch of the log, then let its unlabelled documents wait."""
        segment = timeline.segment()
        scores = [lane.learner.new_scores(len(segment.rows), segment.topics) for lane in self.lanes]
        for i, document in enumerate(timeline.late):
            for mine, then in zip(scores, document.scores, strict=True):
                mine.put(rows + i, then)
        shared = share(segment, {lane.spec.norm for lane in self.lanes})
        said = list[GroupExplanation]()
        done, measured = 0, list[list[Floats]]()
        ranking_steps = np.flatnonzero(~segment.steps.learn)
        for row in to_explain:
            # Cut right after the ranking: nothing of this document was learned yet.
            ranked = int(ranking_steps[row]) + 1
            measured.append(run(self.lanes, shared.between(done, ranked), scores))
            said += why(self, shared, row, timeline.ranked_known[row], scores)
            done = ranked
        measured.append(run(self.lanes, shared.between(done, len(shared)), scores))
        by_lane = [np.concatenate(pieces) for pieces in zip(*measured, strict=True)]
        self.differences.follow(by_lane)
        self._let_wait(timeline, segment, scores)
        rounds = [self.rounds + before for before in timeline.rounds_before]
        self.rounds += len(timeline.labelled)
        known = np.array(timeline.ranked_known, np.int32)
        return GroupResult(rounds, known, scores, timeline.labelled, by_lane, said)

    def explain(
        self, shared: SharedSegment, row: int, known: int, scores: Sequence[RowScores],
        names: Sequence[str], table: TermTable,
    ) -> GroupExplanation:  # fmt: skip
        """Why the document of this row was ranked as it was just now."""
        given = [mine.row(row, known) for mine in scores]
        rankings = [
            explain(lane, shared, row, mine, names, table)
            for lane, mine in zip(self.lanes, given, strict=True)
        ]
        return GroupExplanation(rankings, given)

    def _let_wait(self, timeline: Timeline, segment: Segment, scores: list[RowScores]) -> None:
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

    def merge(self, other: LaneGroup, order: Sequence[str]) -> None:
        """Take over the lanes of a group that has followed the same log as far."""
        if self.lanes and other.lanes:
            if self.rounds != other.rounds:
                raise ValueError("the engines have not followed the same log as far")
            mine = {lane.name for lane in self.lanes}
            new = [place for place, lane in enumerate(other.lanes) if lane.name not in mine]
            for key, document in self.pending.documents.items():
                its = other.pending.documents[key].scores
                document.scores += [its[place] for place in new]
            lanes = [*self.lanes, *(other.lanes[place] for place in new)]
            names = [lane.name for lane in lanes]
            self.differences.append(
                other.differences, [names.index(lane.name) for lane in other.lanes]
            )
        elif other.lanes:  # what lanes share is with the other, then
            self.labels, self.pending, self.rounds = other.labels, other.pending, other.rounds
            self.differences = other.differences
            lanes = other.lanes
        else:
            lanes = self.lanes
        rank = {name: place for place, name in enumerate(order)}  # helpers come last
        places = sorted(range(len(lanes)), key=lambda at: rank.get(lanes[at].name, len(rank)))
        for document in self.pending.documents.values():
            document.scores = [document.scores[place] for place in places]
        self.lanes = [lanes[place] for place in places]
        self.differences.arrange(places)


Why = Callable[[LaneGroup, SharedSegment, int, int, Sequence[RowScores]], list[GroupExplanation]]
