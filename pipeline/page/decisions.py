"""What the live page shows of lanes that assign topics: sets, quality, and documents to review.

Everything is bounded: a fixed number of bins, topics and documents per lane. The weights of a topic
are looked up now and then, because that takes long if there are many terms.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from learners.decisions.decided import Decisions
from pipeline.curves.review_queue import SHOWN_ASSIGNED, QueuedDocument
from pipeline.curves.topic_quality import QualityOfTopic
from pipeline.engine.decision_texts import DIGITS, as_objects
from pipeline.engine.engine import Engine
from pipeline.engine.explanations import TOPICS as EXPLAINED_TOPICS
from pipeline.engine.lane import Lane
from pipeline.engine.ranked_segment import RankedSegment
from pipeline.reports.decision_report import ENOUGH_DOCUMENTS, responsible_terms, topic_object

WORST_TOPICS, BEST_TOPICS = 10, 10
TRUSTED_F1 = 0.5  # a topic with a lower F1 is not among the best, however few others there are
REST = 50.0  # a lookup of weights is followed by a pause this many times as long


class DocumentDecision(NamedTuple):
    """What a lane decided about a document."""

    assigned: Sequence[str]
    untold: int  # further assigned topics, which are not sent
    certainty: float
    review: bool | None  # None: the lane marks no documents
    probabilities: Sequence[float]  # of the first topics of the ranking


class ReviewDocument(NamedTuple):
    """A document that was marked for review."""

    number: int  # among all documents that the lane decided about, from 1
    id: str
    certainty: float
    assigned: Sequence[str]
    untold: int
    likely: Sequence[tuple[str, float]]  # the most likely topics, with their probabilities


class WorstTopic(NamedTuple):
    """A topic that a lane assigns badly."""

    name: str
    quality: QualityOfTopic
    terms: Sequence[tuple[str, float]] | None  # of the largest weights; None: not looked up yet


class DecisionSample(NamedTuple):
    """The decisions of a lane so far."""

    goal: str
    risk: float
    order: str  # of the first topics: by score or by probability
    values: Mapping[str, float | None]
    recent: Mapping[str, float | None]
    reliability: Sequence[Mapping[str, float]]
    review_gain: Sequence[tuple[float, float | None]]
    worst: Sequence[WorstTopic]
    best: Sequence[tuple[str, QualityOfTopic]]
    unused: int  # topics that would be candidates for the worst and the best, but are not used
    to_review: Sequence[ReviewDocument]  # oldest first


def document_decision(
    made: Decisions, row: int, names: Sequence[str], has_marks: bool
) -> DocumentDecision:
    """Return what was decided about a row."""
    decided, probabilities = as_objects(made, row, names, has_marks)
    assigned = decided["assigned"]
    return DocumentDecision(
        tuple(assigned[:SHOWN_ASSIGNED]),
        max(0, len(assigned) - SHOWN_ASSIGNED),
        decided["certainty"],
        decided.get("review"),
        tuple(probabilities[:EXPLAINED_TOPICS]),
    )


def review_document(queued: QueuedDocument, names: Sequence[str]) -> ReviewDocument:
    """Return a document of a lane's queue, with the names of its topics."""
    return ReviewDocument(
        queued.number,
        queued.id,
        round(queued.certainty, DIGITS),
        [names[topic] for topic in queued.assigned],
        queued.untold,
        [(names[topic], round(probability, DIGITS)) for topic, probability in queued.likely],
    )


class PageDecisions:
    """Collects what the page shows of decisions, in the thread of the run."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._terms: dict[tuple[str, int], Sequence[tuple[str, float]]] = {}  # oldest first
        self._next_lookup = clock()

    def begin(self) -> None:
        """Forget everything: the lanes are others now."""
        self._terms.clear()

    def take(
        self, engine: Engine, ranked: RankedSegment
    ) -> list[tuple[DocumentDecision | None, ...]]:
        """Return the decisions about the explained documents.

        The result has one element per explained document, and in it one per lane.
        """
        names, count = engine.topics.names, len(ranked.documents)
        lanes = range(len(engine.lanes))
        decisions = [(ranked.emitted_by(i), ranked.has_marks(i)) for i in lanes]
        return [
            tuple(
                None if made is None else document_decision(made, row, names, has_marks)
                for made, has_marks in decisions
            )
            for row in range(count - len(ranked.explained), count)
        ]

    def sample(self, engine: Engine, is_last: bool) -> tuple[DecisionSample | None, ...]:
        """Return the decisions of each lane so far; None for lanes that assign no topics."""
        worst = {
            lane.name: curve.topics.worst(curve.rounds, WORST_TOPICS, ENOUGH_DOCUMENTS)
            for lane in engine.lanes
            if (curve := lane.decision_curve) is not None
        }
        shown = [(name, one.topic) for name, topics in worst.items() for one in topics]
        self._terms = {key: terms for key, terms in self._terms.items() if key in shown}
        if is_last:
            self._look_up(engine, shown)
        elif shown and self._clock() >= self._next_lookup:
            missing = [key for key in shown if key not in self._terms]
            oldest = next(iter(self._terms), shown[0])
            started = time.perf_counter()
            self._look_up(engine, [missing[0] if missing else oldest])
            self._next_lookup = self._clock() + REST * (time.perf_counter() - started)
        return tuple(self._lane_sample(engine, lane, worst.get(lane.name)) for lane in engine.lanes)

    def _lane_sample(
        self, engine: Engine, lane: Lane, worst: Sequence[QualityOfTopic] | None
    ) -> DecisionSample | None:
        curve = lane.decision_curve
        if curve is None or worst is None:
            return None
        names = engine.topics.names
        return DecisionSample(
            lane.spec.assign,
            lane.spec.risk,
            lane.spec.order,
            curve.last().values,
            curve.recent().values,
            curve.reliability(),
            curve.review_gain(),
            [
                WorstTopic(names[one.topic], one, self._terms.get((lane.name, one.topic)))
                for one in worst
            ],
            [
                (names[one.topic], one)
                for one in curve.topics.best(curve.rounds, BEST_TOPICS, ENOUGH_DOCUMENTS)
                if one.f1 >= TRUSTED_F1
            ],
            curve.topics.unused(curve.rounds, ENOUGH_DOCUMENTS),
            [review_document(one, names) for one in curve.queue or ()],
        )

    def _look_up(self, engine: Engine, keys: Sequence[tuple[str, int]]) -> None:
        """Look up the terms of the largest weights, for topics of lanes."""
        for lane in engine.lanes:
            topics = [topic for name, topic in keys if name == lane.name]
            weights = responsible_terms(engine, lane, topics)
            for topic in topics:
                self._terms.pop((lane.name, topic), None)  # so that it becomes the newest one
                self._terms[lane.name, topic] = weights.get(topic, ())


def decision_object(sample: DecisionSample | None) -> dict[str, Any] | None:
    """Return the decisions of a lane as a JSON object."""
    if sample is None:
        return None
    return {
        **sample._asdict(),
        "enough_documents": ENOUGH_DOCUMENTS,
        "trusted_from": TRUSTED_F1,
        "to_review": [document._asdict() for document in sample.to_review],
        "worst": [
            {**topic_object(one.quality, one.name), "terms": one.terms} for one in sample.worst
        ],
        "best": [topic_object(quality, name) for name, quality in sample.best],
    }
