"""The engine: blocks in, rankings and learning curves out.

The engine is a deterministic state machine over the log: the same blocks give the same results.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TypeVar

from learners.cores import usable_cores
from learners.decisions.decided import Decisions
from learners.learner import Learner
from learners.scores import RowScores
from learners.specs import LaneSpec, resolved
from pipeline.curves.confidence import StreamDifferences
from pipeline.engine.block_parts import parts_of
from pipeline.engine.change_watch import ChangeWatch
from pipeline.engine.explanations import ExplainedDocument, strongest_terms
from pipeline.engine.label_watch import LabelWatch
from pipeline.engine.labels import RankLabels, TopicLabels
from pipeline.engine.lane import Lane, SharedSegment
from pipeline.engine.lane_group import GroupExplanation, GroupResult, LaneGroup
from pipeline.engine.lane_runner import LaneRunner
from pipeline.engine.pending_labels import (
    MAX_PENDING,
    MAX_PENDING_BYTES,
    Label,
    PendingLabels,
)
from pipeline.engine.ranked_segment import RankedSegment
from pipeline.engine.segment_builder import SegmentBuilder
from pipeline.engine.topic_index import TopicIndex
from pipeline.errors import UsageError
from pipeline.log.block import Block
from pipeline.text.feature_settings import FeatureSettings
from pipeline.text.features import Vocabulary
from pipeline.text.term_watch import TermWatch

T = TypeVar("T")

log = logging.getLogger(__name__)

# A lane that scores every topic holds at most this many scores at a time: 64 MiB.
MAX_SCORES = 1 << 23


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """The limits of a stream, and how its text becomes features."""

    features: FeatureSettings = field(default_factory=FeatureSettings)
    max_topics: int = 2048
    max_pending: int = MAX_PENDING
    max_pending_bytes: int = MAX_PENDING_BYTES

    def new_pending(self) -> PendingLabels:
        """Return what waits for one kind of label: nothing yet."""
        return PendingLabels(self.max_pending, self.max_pending_bytes)


class Engine:
    """Follows one stream with any number of lanes.

    A lane that combines other lanes needs them in the same engine. Lanes that are here only for
    that reason are `helpers`: they learn, but their rankings and curves are not shown. Another
    worker may show them, or they may be further on in the log.
    """

    def __init__(
        self,
        lanes: Sequence[LaneSpec],
        declared_topics: Sequence[str] = (),
        settings: EngineSettings | None = None,
        threads: int | None = None,
        build: Callable[[LaneSpec], Learner] = LaneSpec.build,
        helpers: Sequence[LaneSpec] = (),
    ) -> None:
        self.settings = settings or EngineSettings()
        self.vocabulary = Vocabulary(self.settings.features)
        self.topics = TopicIndex(declared_topics, self.settings.max_topics)
        all_lanes = [Lane(spec, build(spec)) for spec in resolved([*lanes, *helpers])]
        self.lanes, self.helpers = all_lanes[: len(lanes)], all_lanes[len(lanes) :]
        topic_lanes = [lane for lane in all_lanes if not lane.is_ordinal]
        ordinal_lanes = [lane for lane in all_lanes if lane.is_ordinal]
        new_pending = self.settings.new_pending
        self.topic_group = LaneGroup(topic_lanes, TopicLabels(self.topics), new_pending())
        self.rank_labels = RankLabels(ranks_of([lane.spec for lane in ordinal_lanes]))
        self.rank_group = LaneGroup(ordinal_lanes, self.rank_labels, new_pending())
        self.documents = 0
        self._can_explain = True
        self._label_watch = LabelWatch()
        self._term_watch = TermWatch()
        self._threads = threads or usable_cores()
        self._runner = self._new_runner()

    def _new_runner(self) -> LaneRunner:
        return LaneRunner(len(self.all_lanes), self._threads)

    @property
    def all_lanes(self) -> list[Lane]:
        """The lanes, then the helpers."""
        return [*self.lanes, *self.helpers]

    @property
    def lane_groups(self) -> list[LaneGroup]:
        """The groups that have lanes, topic lanes first."""
        return [group for group in (self.topic_group, self.rank_group) if group.lanes]

    def group_of(self, lane: Lane) -> LaneGroup:
        """Return the group that a lane belongs to."""
        return self.rank_group if lane.is_ordinal else self.topic_group

    @property
    def pending(self) -> PendingLabels:
        """The documents that wait for topics."""
        return self.topic_group.pending

    @property
    def rounds(self) -> int:
        """Rounds of the topic lanes, or of the ordinal lanes if there are no topic lanes."""
        return self.lane_groups[0].rounds if self.lanes else 0

    @property
    def ignored_labels(self) -> int:
        """Late labels of a kind that no lane learns."""
        groups = self.lane_groups
        return groups[0].pending.ignored_labels if len(groups) == 1 else 0

    @property
    def differences(self) -> StreamDifferences:
        """The differences in loss between any two lanes of the same group."""
        return StreamDifferences(
            [
                (
                    [self.lanes.index(lane) for lane in self._without_helpers(group, group.lanes)],
                    group.differences.of(self._without_helpers(group, range(len(group.lanes)))),
                )
                for group in self.lane_groups
            ]
        )

    def _without_helpers(self, group: LaneGroup, values: Sequence[T]) -> list[T]:
        """Of one value per lane of a group, return those whose lanes are not helpers."""
        pairs = zip(group.lanes, values, strict=True)
        return [value for lane, value in pairs if lane in self.lanes]

    def merge(self, other: Engine, order: Sequence[str]) -> None:
        """Take over the lanes of an engine that is at the same position of the same log.

        At the same position everything that lanes share is equal, and so are lanes that both
        engines have. `order` gives the names of all lanes in their new order.
        """
        if self.documents != other.documents:
            raise ValueError(
                "cannot merge two engines at different offsets of the log: one has processed "
                f"{self.documents} documents, the other {other.documents}"
            )
        if other.topic_group.lanes and not self.topic_group.lanes:
            self.topics = other.topics
        if other.rank_group.lanes and not self.rank_group.lanes:
            self.rank_labels = other.rank_labels
        shown_names = {lane.name for lane in (*self.lanes, *other.lanes)}
        shown_order = [name for name in order if name in shown_names]  # snapshots use this order
        self.topic_group.merge(other.topic_group, shown_order)
        self.rank_group.merge(other.rank_group, shown_order)
        self.close()
        other.close()
        all_lanes = [*self.topic_group.lanes, *self.rank_group.lanes]
        shown = [lane for lane in all_lanes if lane.name in shown_names]
        self.lanes = sorted(shown, key=lambda lane: order.index(lane.name))
        self.helpers = [lane for lane in all_lanes if lane.name not in shown_names]
        self._runner = self._new_runner()

    def close(self) -> None:
        """Stop the threads."""
        self._runner.close()

    def process(self, block: Block, to_explain: int = 0) -> Iterator[RankedSegment]:
        """Rank and learn a block; yield its documents with their scores, segment by segment.

        The last `to_explain` documents of each segment are also explained.
        """
        yield from self.process_together([block], to_explain)

    def process_together(
        self, blocks: Sequence[Block], to_explain: int = 0
    ) -> Iterator[RankedSegment]:
        """Rank and learn blocks that follow one another, in as few segments as possible."""
        groups, change_watch = self.lane_groups, ChangeWatch(self.lanes)
        has_dropped = False  # terms, since the vocabulary was full
        for part in parts_of(blocks, self.vocabulary, self._max_rows):
            vectors = part.vectors
            if vectors.keep is not None:
                has_dropped = True
                for group in groups:
                    group.forget(vectors.keep)
            builders = [group.new_builder(vectors) for group in groups]
            for entries, first in part.entries:
                for entry in entries:
                    for builder in builders:
                        builder.add(entry, first)
            if any(builders):
                yield self._follow(builders, len(vectors.rows), to_explain)
        self._label_watch.check(groups)
        change_watch.check(self.topics.names)
        self._term_watch.check(self.vocabulary, has_dropped)

    def _max_rows(self) -> int:
        """The most rows of a segment, so that no lane exceeds `MAX_SCORES`."""
        dense = [lane for lane in self.topic_group.lanes if not lane.has_sparse_scores]
        topics = max((lane.learner.scored_topics(len(self.topics)) for lane in dense), default=0)
        return max(1, MAX_SCORES // max(1, topics))

    def _follow(
        self, builders: Sequence[SegmentBuilder], rows: int, to_explain: int
    ) -> RankedSegment:
        """Rank and learn a segment with all lanes."""
        rows_to_explain = range(max(0, rows - to_explain), rows) if self._can_explain else range(0)
        results = [
            group.follow(builder, rows, rows_to_explain, self._runner, self._explain_row)
            for group, builder in zip(self.lane_groups, builders, strict=True)
        ]
        documents = builders[0].documents
        explained = list[ExplainedDocument]()
        if all(len(result.explanations) == len(rows_to_explain) for result in results):
            explained = [
                self._explained(builders, results, row, i) for i, row in enumerate(rows_to_explain)
            ]
        self.documents += len(documents)
        first, has_topic_lanes = results[0], bool(self.topic_group.lanes)
        return RankedSegment(
            documents,
            first.known_labels,
            self._in_lane_order([[result.rounds] * len(result.scores) for result in results]),
            self._in_lane_order([result.scores for result in results]),
            first.labelled if has_topic_lanes else [],
            self._without_helpers(self.topic_group, first.measures) if has_topic_lanes else [],
            explained,
            self._in_lane_order([result.decisions for result in results]),
            self._in_lane_order([result.emitted for result in results]),
            [lane.marks_documents for lane in self.lanes],
            first.steps if has_topic_lanes else None,
        )

    def _in_lane_order(self, by_group: Sequence[Sequence[T]]) -> list[T]:
        """Of one value per lane of each group, return those of `self.lanes`, in their order."""
        lanes = [lane for group in self.lane_groups for lane in group.lanes]
        value_of = dict(zip(map(id, lanes), chain.from_iterable(by_group), strict=True))
        return [value_of[id(lane)] for lane in self.lanes]

    def _explain_row(
        self, group: LaneGroup, shared: SharedSegment, row: int, known: int,
        scores: Sequence[RowScores], decisions: Sequence[Decisions | None],
    ) -> list[GroupExplanation]:  # fmt: skip
        """Explain the rankings of a row; return nothing if that fails, now and from then on.

        Explanations are only for display, so a failure must not stop ranking and learning.
        """
        if not self._can_explain:
            return []
        try:
            names, table = self.topics.names, self.vocabulary.table
            terms = strongest_terms(*shared.by_norm["none"].rows.row(row), table)
            explanation = group.explain(shared, row, known, scores, decisions, names, table)
            return [replace(explanation, terms=terms)]
        except Exception:
            log.exception(
                "rankings cannot be explained; from now on no documents are shown with their "
                "rankings, ranking and learning continue"
            )
            self._can_explain = False
            return []

    def _explained(
        self, builders: Sequence[SegmentBuilder], results: Sequence[GroupResult], row: int, i: int
    ) -> ExplainedDocument:
        """Combine the groups' i-th explanations, which are those of the document in this row."""
        explanations = [result.explanations[i] for result in results]
        labels = [builder.document_labels[row] for builder in builders]
        return ExplainedDocument(
            builders[0].documents[row],
            number=self.documents + row + 1,
            rounds=self._in_lane_order(
                [[result.rounds[row]] * len(result.scores) for result in results]
            ),
            topics=topics_in(labels[0]) if self.topic_group.lanes else (),
            rank=rank_in(labels[-1]) if self.rank_group.lanes else None,
            terms=explanations[0].terms,
            rankings=self._in_lane_order([one.rankings for one in explanations]),
            scores=self._in_lane_order([one.scores for one in explanations]),
            heads=self._in_lane_order([one.heads for one in explanations]),
        )


def ranks_of(lanes: Sequence[LaneSpec]) -> int:
    """Return the number of ranks in the stream; all ordinal lanes must agree on it."""
    names = {lane.settings["ranks"]: lane.name for lane in lanes if lane.is_ordinal}
    if len(names) > 1:
        (ranks, name), (other_ranks, other_name) = list(names.items())[:2]
        raise UsageError(
            f"Lane {name} has {ranks} ranks and lane {other_name} has {other_ranks}. A document "
            "has one rank, so give all ordinal lanes of a stream the same number of ranks."
        )
    return int(next(iter(names), 1))


def topics_in(label: Label | None) -> tuple[str, ...] | None:
    """Return a topic label as a tuple of names."""
    return None if label is None else tuple(map(str, label))


def rank_in(label: Label | None) -> int | None:
    """Return a rank label as a number."""
    return None if label is None else int(label[0])
