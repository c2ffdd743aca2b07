"""Measure rankings by the labels that documents carry, without learning from them.

Processes find the ranks of labels, and one of them adds these up in the order of the source. So the
measures do not depend on the number of processes. A topic that the model does not know takes part
in the ranking with the score 0, as a topic does in a stream that is carried for the first time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from learners.decisions.decided import Decisions
from learners.scores import Places, RankScores
from learners.segment import Steps
from pipeline.curves.decision_curve import DecisionCurve
from pipeline.curves.rank_curve import RankCurve
from pipeline.curves.topic_curve import LearningCurve, TopicCurve
from pipeline.engine.engine import Engine
from pipeline.engine.lane import Lane, new_curve
from pipeline.engine.ranked_segment import RankedSegment
from pipeline.log.block import Entry
from pipeline.reports.decision_report import decision_tables
from pipeline.storage.container import Arrays


@dataclass(frozen=True, slots=True)
class Labelled:
    """The labels of documents, as numbers. Topics that the model does not know follow behind."""

    topics: int  # room for these topics is needed
    topic_labels: list[list[int] | None]  # per document; None: not a round
    rank_labels: list[list[int] | None]


def labelled_documents(engine: Engine, documents: Sequence[Entry]) -> Labelled:
    """Return the labels that documents carry."""
    known, room = len(engine.topics), engine.topics.max_topics
    topic_labels = list[list[int] | None]()
    most = known
    for document in documents:
        numbers = topic_numbers(engine, document, room)
        topic_labels.append(numbers)
        most = max([most, *(number + 1 for number in numbers or ())])
    ranks = engine.rank_labels.ranks
    rank_labels = [
        None if document.rank is None or document.rank > ranks else [document.rank - 1]
        for document in documents
    ]
    return Labelled(most, topic_labels, rank_labels)


def topic_numbers(engine: Engine, document: Entry, room: int) -> list[int] | None:
    """Return the numbers of a document's topics; None if it is no round, as in a stream."""
    if document.topics is None:
        return None
    numbers, following = list[int](), len(engine.topics)
    for topic in document.topics:
        number = engine.topics.find(topic)
        if number is None:
            if following >= room:
                continue
            number, following = following, following + 1
        numbers.append(number)
    return None if document.topics and not numbers else numbers


def learning_steps(labels: Sequence[list[int] | None], known: int, grows: bool) -> Steps:
    """Return the steps that a curve measures: one per row that has a label.

    With `grows`, topics behind the known ones become known with their document.
    """
    rows = [row for row, numbers in enumerate(labels) if numbers is not None]
    chosen = [labels[row] or [] for row in rows]
    known_then = [max([known, *(n + 1 for n in numbers)]) if grows else known for numbers in chosen]
    ends = np.cumsum([0, *map(len, chosen)], dtype=np.int64)
    all_known = np.array(known_then, np.int32)
    return Steps(
        np.array(rows, np.int32),
        np.ones(len(rows), np.bool_),
        all_known,
        ends,
        np.array([number for numbers in chosen for number in numbers], np.int32),
        all_known if known else np.zeros(len(rows), np.int32),
    )


def placed(engine: Engine, labelled: Labelled, some: slice, ranked: RankedSegment) -> Arrays:
    """Return what `Evaluation.add` needs of some documents, as named arrays."""
    scores = ranked.scores
    arrays: Arrays = {}
    topic_steps = learning_steps(labelled.topic_labels[some], len(engine.topics), grows=True)
    rank_steps = learning_steps(labelled.rank_labels[some], engine.rank_labels.ranks, grows=False)
    arrays["topics/known"], arrays["topics/ranked"] = topic_steps.known, topic_steps.ranked
    arrays["topics/counts"] = np.diff(topic_steps.label_starts)
    arrays["topics/labels"] = topic_steps.labels
    arrays["ranks/labels"] = rank_steps.labels
    for number, lane in enumerate(engine.lanes):
        if lane.is_ordinal:
            matrix = RankScores.expect(scores[number]).matrix
            arrays[f"lane{number}/predicted"] = matrix[rank_steps.row]
        else:
            made = ranked.decisions_of(number)
            places = lane.places(topic_steps, scores[number], made)
            for name, array in zip(Places._fields, places, strict=True):
                arrays[f"lane{number}/{name}"] = array
            if made is not None:
                decided = b"".join(made.keep(topic_steps.row.tolist()))
                arrays[f"lane{number}/decided"] = np.frombuffer(decided, np.uint8)
    return arrays


class Evaluation:
    """The measures of the lanes of one file, over all labelled documents so far."""

    def __init__(self, engine: Engine) -> None:
        self.lanes: list[Lane] = engine.lanes
        self.curves: list[LearningCurve] = [new_curve(lane.learner) for lane in engine.lanes]
        self.decision_curves = [
            DecisionCurve(lane.marks_documents) if lane.spec.assign else None for lane in self.lanes
        ]
        self._topics = len(engine.topics)
        self.unknown_labels = 0  # labels of topics that the model does not know

    def add(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Add the documents of a block, in the order of the source."""
        known = arrays["topics/known"]
        topics = max(self._topics, int(known.max(initial=0)))
        self.unknown_labels += int((arrays["topics/labels"] >= self._topics).sum())
        topic_steps = steps_of(
            known, arrays["topics/ranked"], arrays["topics/counts"], arrays["topics/labels"]
        )
        ranks = arrays["ranks/labels"]
        ones = np.ones(len(ranks), np.int64)
        rank_steps = steps_of(ones.astype(np.int32), ones.astype(np.int32), ones, ranks)
        for number, curve in enumerate(self.curves):
            if isinstance(curve, TopicCurve):
                places = Places(*(arrays[f"lane{number}/{name}"] for name in Places._fields))
                curve.follow_places(topic_steps, places, topics)
                decision_curve = self.decision_curves[number]
                if decision_curve is not None:
                    made = Decisions.unpack([arrays[f"lane{number}/decided"].tobytes()])
                    decision_curve.follow(with_rankings(topic_steps), made, topics)
            elif isinstance(curve, RankCurve):
                predicted = RankScores(len(ranks))
                predicted.matrix[:] = arrays[f"lane{number}/predicted"]
                curve.follow(rank_steps, predicted)

    def report(self, documents: int, settings: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """Return the measures by lane; numbers that do not exist are None."""
        return {
            lane.name: {
                "rounds": curve.rounds,
                "rounds_with_topics": curve.rounds_with_topics,
                "documents": documents,
                **curve.last().values,
                **curve.derived(),
                **decision_measures(lane, decided),
                "settings": {**settings, **lane.spec.settings},
            }
            for lane, curve, decided in zip(
                self.lanes, self.curves, self.decision_curves, strict=True
            )
        }


def decision_measures(lane: Lane, curve: DecisionCurve | None) -> dict[str, Any]:
    """Return the measures of the sets and probabilities of a lane, if it assigns topics."""
    if curve is None:
        return {}
    return {**curve.last().values, "decisions": decision_tables(lane.spec, curve)}


def with_rankings(steps: Steps) -> Steps:
    """Return learning steps with a step before them that ranks each of their rows."""
    ranks = np.zeros(len(steps), np.bool_)
    return Steps(
        np.concatenate((steps.row, steps.row)),
        np.concatenate((ranks, steps.learn)),
        np.concatenate((steps.known, steps.known)),
        np.concatenate((np.zeros(len(steps), np.int64), steps.label_starts)),
        steps.labels,
        np.concatenate((steps.ranked, steps.ranked)),
    )


def steps_of(
    known: npt.NDArray[np.int32],
    ranked: npt.NDArray[np.int32],
    counts: npt.NDArray[np.int64],
    labels: npt.NDArray[np.int32],
) -> Steps:
    """Return the learning steps of rows that follow each other."""
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    return Steps(
        np.arange(len(known), dtype=np.int32),
        np.ones(len(known), np.bool_),
        known,
        starts,
        labels,
        ranked,
    )
