"""The engine: blocks in, rankings and curves out. A deterministic state machine over the log."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import chain, repeat
from typing import TypeVar

from learners.arrays import Floats, Ints
from learners.learner import Learner
from learners.scores import RowScores
from learners.specs import LaneSpec, resolved
from pipeline.curves.confidence import Comparison
from pipeline.engine.explanations import ExplainedDocument, strongest
from pipeline.engine.lane import Lane, SharedSegment
from pipeline.engine.lane_group import GroupExplanation, GroupResult, LaneGroup
from pipeline.engine.pending_labels import Label, PendingLabels
from pipeline.engine.schedule import RankLabels, Timeline, TopicLabels
from pipeline.engine.topic_index import TopicIndex
from pipeline.errors import UsageError
from pipeline.log.block import Block, Entry
from pipeline.text.features import FeatureSettings, Vectors, Vocabulary

T = TypeVar("T")

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
class RankedSegment:
    """Documents that were just ranked, in log order, and what each lane said of them."""

    documents: list[Entry]
    known: Ints  # topics that existed at each ranking
    rounds: list[list[int]]  # of each lane: rounds learned before each ranking
    scores: list[RowScores]  # of each lane
    # What brought the rounds of topic lanes that were learned here their labels, in log order; and
    # of each topic lane the measures of these rounds, a row each.
    labelled: list[Entry] = field(default_factory=list)
    measured: list[Floats] = field(default_factory=list)
    # As many of the last documents as was asked for, with why they were ranked as they were.
    explained: list[ExplainedDocument] = field(default_factory=list)


class Engine:
    """Follows one stream with any number of lanes.

    Lanes that combine others need them here. If they were not asked for, because another worker has
    them or they are further on in the log, they are `helpers`: they learn, but nobody is shown.
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
        every = [Lane(spec, build(spec)) for spec in resolved([*lanes, *helpers])]
        self.lanes, self.helpers = every[: len(lanes)], every[len(lanes) :]
        ordinal = [lane for lane in every if lane.is_ordinal]
        of_topics = [lane for lane in every if not lane.is_ordinal]
        most = self.settings.max_pending
        self.topic_group = LaneGroup(of_topics, TopicLabels(self.topics), most)
        self.rank_labels = RankLabels(ranks_of([lane.spec for lane in ordinal]))
        self.rank_group = LaneGroup(ordinal, self.rank_labels, most)
        self.documents = 0
        self._explains = True
        self._threads = threads or os.cpu_count() or 1
        self._pool = self._new_pool()

    def _new_pool(self) -> ThreadPoolExecutor | None:
        threads = min(len(self.all_lanes), self._threads)
        return ThreadPoolExecutor(threads) if threads > 1 else None

    @property
    def all_lanes(self) -> list[Lane]:
        """Its lanes, and behind them the helpers."""
        return [*self.lanes, *self.helpers]

    @property
    def lane_groups(self) -> list[LaneGroup]:
        """Those that have lanes."""
        return [group for group in (self.topic_group, self.rank_group) if group.lanes]

    def group_of(self, lane: Lane) -> LaneGroup:
        """The group that a lane belongs to."""
        return self.rank_group if lane.is_ordinal else self.topic_group

    @property
    def pending(self) -> PendingLabels:
        """The documents that wait for topics."""
        return self.topic_group.pending

    @property
    def rounds(self) -> int:
        """Rounds of the topic lanes; of the ordinal ones if there are no others."""
        return self.lane_groups[0].rounds if self.lanes else 0

    @property
    def ignored_labels(self) -> int:
        """Late labels of a kind that no lane learns."""
        groups = self.lane_groups
        return groups[0].pending.ignored_labels if len(groups) == 1 else 0

    @property
    def differences(self) -> Comparison:
        """How the losses of any two lanes of one group differ."""
        return Comparison(
            [
                (
                    [self.lanes.index(lane) for lane in self._shown(group, group.lanes)],
                    group.differences.of(self._shown(group, range(len(group.lanes)))),
                )
                for group in self.lane_groups
            ]
        )

    def _shown(self, group: LaneGroup, by_lane: Sequence[T]) -> list[T]:
        """Of what each lane of a group has, that of the lanes that are no helpers."""
        mine = zip(group.lanes, by_lane, strict=True)
        return [its for lane, its in mine if lane in self.lanes]

    def merge(self, other: Engine, order: Sequence[str]) -> None:
        """Take over the lanes of an engine that has followed the same log as far.

        All that lanes share is equal then, and so are lanes that both have; `order` says how the
        lanes stand afterwards.
        """
        if self.documents != other.documents:
            raise ValueError("the engines have not followed the same log as far")
        if other.topic_group.lanes and not self.topic_group.lanes:
            self.topics = other.topics
        if other.rank_group.lanes and not self.rank_group.lanes:
            self.rank_labels = other.rank_labels
        asked = {lane.name for lane in (*self.lanes, *other.lanes)}
        shown_first = [name for name in order if name in asked]  # as snapshots have them
        self.topic_group.merge(other.topic_group, shown_first)
        self.rank_group.merge(other.rank_group, shown_first)
        self.close()
        other.close()
        every = [*self.topic_group.lanes, *self.rank_group.lanes]
        shown = [lane for lane in every if lane.name in asked]
        self.lanes = sorted(shown, key=lambda lane: order.index(lane.name))
        self.helpers = [lane for lane in every if lane.name not in asked]
        self._pool = self._new_pool()

    def close(self) -> None:
        """Let the threads go."""
        if self._pool:
            self._pool.shutdown()

    def process(self, block: Block, to_explain: int = 0) -> Iterator[RankedSegment]:
        """Rank and learn a block; yields the rankings, in as many pieces as it takes.

        The rankings of the last `to_explain` documents of each piece are also explained.
        """
        entries = iter(block.entries)
        entry = next(entries, None)
        groups = self.lane_groups
        for vectors in self._bounded(self.vocabulary.vectors(block.counts, block.ready)):
            if vectors.keep is not None:
                for group in groups:
                    group.forget(vectors.keep)
            end = vectors.first + len(vectors.rows)
            timelines = [group.begin(vectors) for group in groups]
            while entry is not None and (entry.row is None or entry.row < end):
                for timeline in timelines:
                    timeline.add(entry)
                entry = next(entries, None)
            if any(timelines):
                yield self._follow(timelines, len(vectors.rows), to_explain)

    def _bounded(self, pieces: Iterable[Vectors]) -> Iterator[Vectors]:
        """The vectors in pieces of so few rows that the scores of a lane are not too many."""
        for vectors in pieces:
            most = len(vectors.rows)
            if not all(lane.has_sparse_scores for lane in self.topic_group.lanes):
                most = max(1, MOST_SCORES // max(1, len(self.topics)))
            yield from vectors.split(most)

    def _follow(self, timelines: Sequence[Timeline], rows: int, to_explain: int) -> RankedSegment:
        """Run all lanes over a stretch of the log."""
        explained = range(max(0, rows - to_explain), rows) if self._explains else range(0)
        stretches = [
            group.follow(timeline, rows, explained, self._run, self._why)
            for group, timeline in zip(self.lane_groups, timelines, strict=True)
        ]
        documents = timelines[0].ranked
        made = list[ExplainedDocument]()
        if all(len(stretch.said) == len(explained) for stretch in stretches):
            made = [
                self._explained(timelines, stretches, row, i) for i, row in enumerate(explained)
            ]
        self.documents += len(documents)
        first, of_topics = stretches[0], bool(self.topic_group.lanes)
        return RankedSegment(
            documents,
            first.known,
            self._in_order([[stretch.rounds] * len(stretch.scores) for stretch in stretches]),
            self._in_order([stretch.scores for stretch in stretches]),
            first.labelled if of_topics else [],
            self._shown(self.topic_group, first.measured) if of_topics else [],
            made,
        )

    def _in_order(self, by_group: Sequence[Sequence[T]]) -> list[T]:
        """What each lane of each group has, in the order of all lanes."""
        lanes = [lane for group in self.lane_groups for lane in group.lanes]
        found = dict(zip(map(id, lanes), chain.from_iterable(by_group), strict=True))
        return [found[id(lane)] for lane in self.lanes]

    def _run(
        self, lanes: Sequence[Lane], shared: SharedSegment, scores: Sequence[RowScores]
    ) -> list[Floats]:
        """Let the lanes follow a stretch; returns the measures of its rounds, lane by lane.

        Those that combine others come after them.
        """
        said = dict(zip((lane.name for lane in lanes), scores, strict=True))
        found: dict[str, Floats] = {}
        for stacking in (False, True):
            mine = [lane for lane in lanes if bool(lane.combines) == stacking]
            work = (
                mine,
                repeat(shared),
                [said[lane.name] for lane in mine],
                [[said[name] for name in lane.combines] for lane in mine],
            )
            if self._pool and len(shared) >= STEPS_WORTH_THREADS and len(mine) > 1:
                measured = self._pool.map(Lane.follow, *work)
            else:
                measured = map(Lane.follow, *work)
            found.update(zip((lane.name for lane in mine), measured, strict=True))
        return [found[lane.name] for lane in lanes]

    def _why(
        self, group: LaneGroup, shared: SharedSegment, row: int, known: int,
        scores: Sequence[RowScores],
    ) -> list[GroupExplanation]:  # fmt: skip
        """Why a document was ranked so; nothing, from then on, if that cannot be said.

        It is only for show: rankings and learning go on as if nobody had asked.
        """
        if not self._explains:
            return []
        try:
            names, table = self.topics.names, self.vocabulary.table
            terms = strongest(*shared.by_norm["none"].rows.row(row), table)
            said = group.explain(shared, row, known, scores, names, table)
            return [replace(said, terms=terms)]
        except Exception:
            log.exception("rankings cannot be explained, so no more documents are shown")
            self._explains = False
            return []

    def _explained(
        self, timelines: Sequence[Timeline], stretches: Sequence[GroupResult], row: int, place: int
    ) -> ExplainedDocument:
        """What all lanes said of the document of this row, and why."""
        said = [stretch.said[place] for stretch in stretches]
        labels = [timeline.ranked_labels[row] for timeline in timelines]
        return ExplainedDocument(
            timelines[0].ranked[row],
            number=self.documents + row + 1,
            rounds=self._in_order([[s.rounds[row]] * len(s.scores) for s in stretches]),
            topics=topics_in(labels[0]) if self.topic_group.lanes else (),
            rank=rank_in(labels[-1]) if self.rank_group.lanes else None,
            terms=said[0].terms,
            rankings=self._in_order([one.rankings for one in said]),
            scores=self._in_order([one.scores for one in said]),
        )


def ranks_of(lanes: Sequence[LaneSpec]) -> int:
    """How many ranks a document of the stream may have; all ordinal lanes must agree."""
    counts = {lane.settings["ranks"]: lane.name for lane in lanes if lane.is_ordinal}
    if len(counts) > 1:
        (one, name), (other, its) = list(counts.items())[:2]
        raise UsageError(
            f"Lane {name} has {one} ranks and lane {its} has {other}: a document has one rank, so "
            "all ordinal lanes of a stream must have the same number."
        )
    return int(next(iter(counts), 1))


def topics_in(label: Label | None) -> tuple[str, ...] | None:
    """A label of topics, as it came."""
    return None if label is None else tuple(map(str, label))


def rank_in(label: Label | None) -> int | None:
    """A label that is a rank."""
    return None if label is None else int(label[0])
