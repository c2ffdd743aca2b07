"""The heaviest terms of a topic, and the topics that a term weighs most for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from learners.arrays import Floats, Longs
from pipeline.errors import UsageError
from pipeline.models.frozen_lanes import FrozenLanes, load_frozen_lanes
from pipeline.text.terms import word_of, words_of
from pipeline.weights.lane_weights import LaneWeights, lane_weights, number_of_term, why_nonlinear
from pipeline.weights.near_names import did_you_mean

MAX_NAMED = 20  # names of topics in a message


class WeightedName(NamedTuple):
    """A term or a topic with a weight; of a term also in how many texts it occurs."""

    name: str
    weight: float
    documents: int | None = None


@dataclass(frozen=True, slots=True)
class Heaviest:
    """The heaviest weights of one lane, or the reason why there are none to show."""

    lane: str
    learner: str
    file: str
    reason: str | None = None
    bias: float | None = None  # of a topic
    documents: int | None = None  # with the term
    weights: int = 0  # that are not 0
    raising: tuple[WeightedName, ...] = ()  # the largest weight first
    lowering: tuple[WeightedName, ...] = ()  # the smallest weight first


def heaviest_terms(
    path: Path, topic: str, lanes: Sequence[str], top: int, warn: Callable[[str], None]
) -> list[Heaviest]:
    """Return the heaviest terms of a topic, lane by lane."""
    parts = load_frozen_lanes(path, lanes, warn)
    topic_parts = [part for part in parts if part.engine.topic_group.lanes]
    known = dict.fromkeys(name for part in topic_parts for name in part.engine.topics.names)
    if topic_parts and topic not in known:
        raise UsageError(unknown_topic(path, topic, list(known)))
    return answered([one for part in parts for one in topic_in(part, topic, top)])


def heaviest_topics(
    path: Path, term: str, lanes: Sequence[str], top: int, warn: Callable[[str], None]
) -> list[Heaviest]:
    """Return the topics that a term weighs most for, lane by lane."""
    parts = load_frozen_lanes(path, lanes, warn)
    if all(number_of_term(part.engine.vocabulary, term) is None for part in parts):
        words = dict.fromkeys(
            word for part in parts for word in words_of(part.engine.vocabulary.table)
        )
        raise UsageError(
            f"{path} has no term {term!r}.{did_you_mean(term, words)} Terms of texts are in lower "
            f"case and have no punctuation; the model has {len(words):,}."
        )
    return answered([one for part in parts for one in term_in(part, term, top)])


def unknown_topic(path: Path, topic: str, known: list[str]) -> str:
    """Return the message about a topic that a model does not have."""
    hint = did_you_mean(topic, known)
    if not hint and known:
        more = f", and {len(known) - MAX_NAMED:,} more" if len(known) > MAX_NAMED else ""
        hint = f" It has: {', '.join(known[:MAX_NAMED])}{more}."
    return f"{path} has no topic {topic!r}.{hint or ' It has no topics yet.'}"


def answered(found: list[Heaviest]) -> list[Heaviest]:
    """Return what was found, or raise UsageError if no lane has anything to show."""
    if not found:
        raise UsageError("The model has no lanes, so there is nothing to show.")
    reasons = [one.reason for one in found if one.reason]
    if len(reasons) == len(found):
        raise UsageError("\n  ".join(reasons))
    return found


def topic_in(part: FrozenLanes, topic: str, top: int) -> Iterator[Heaviest]:
    """Yield the heaviest terms of a topic for each lane of a file."""
    names = part.engine.topics.names
    for lane in part.engine.lanes:
        own = lane_weights(part, lane)
        reason = None
        if own is None:
            reason = why_nonlinear(lane)
        elif lane.is_ordinal:
            reason = f"Lane {lane.name} learns ranks, not topics; --term shows its weights."
        elif topic not in names:
            reason = f"Lane {lane.name} does not know the topic yet."
        if own is None or reason:
            yield Heaviest(lane.name, lane.spec.learner, part.name, reason)
            continue
        column = names.index(topic)
        terms, weights = weights_in_column(own, column)
        table, documents = own.vocabulary.table, own.documents
        raising, lowering = extremes(weights, top)
        yield Heaviest(
            lane.name,
            lane.spec.learner,
            part.name,
            bias=float(own.biases[column]),
            weights=len(weights),
            raising=tuple(
                WeightedName(word_of(table, terms[i]), float(weights[i]), int(documents[terms[i]]))
                for i in raising
            ),
            lowering=tuple(
                WeightedName(word_of(table, terms[i]), float(weights[i]), int(documents[terms[i]]))
                for i in lowering
            ),
        )


def weights_in_column(own: LaneWeights, column: int) -> tuple[list[int], Floats]:
    """Return the terms that have a weight in a column, and these weights."""
    terms, weights = [np.empty(0, np.int64)], [np.empty(0)]
    for first, rows in own.blocks():
        chosen = rows.columns == column
        terms.append(first + rows.row_numbers()[chosen])
        weights.append(rows.values[chosen])
    return np.concatenate(terms).tolist(), np.concatenate(weights)


def term_in(part: FrozenLanes, term: str, top: int) -> Iterator[Heaviest]:
    """Yield the topics that a term weighs most for, for each lane of a file."""
    number = number_of_term(part.engine.vocabulary, term)
    for lane in part.engine.lanes:
        own = lane_weights(part, lane)
        if own is None or number is None:
            reason = (
                why_nonlinear(lane) if own is None else f"Lane {lane.name} does not know the term."
            )
            yield Heaviest(lane.name, lane.spec.learner, part.name, reason)
            continue
        rows = own.rows(np.array([number], np.int64))
        raising, lowering = extremes(rows.values, top)
        names = [own.columns[column] for column in rows.columns.tolist()]
        yield Heaviest(
            lane.name,
            lane.spec.learner,
            part.name,
            documents=int(own.documents[number]),
            weights=len(rows.values),
            raising=tuple(WeightedName(names[i], float(rows.values[i])) for i in raising),
            lowering=tuple(WeightedName(names[i], float(rows.values[i])) for i in lowering),
        )


def extremes(weights: Floats, top: int) -> tuple[list[int], list[int]]:
    """Return the places of the largest weights above 0, and of the smallest below 0."""
    rising: Longs = np.argsort(weights, kind="stable")
    falling: Longs = np.argsort(-weights, kind="stable")
    return (
        [i for i in falling[:top].tolist() if weights[i] > 0.0],
        [i for i in rising[:top].tolist() if weights[i] < 0.0],
    )
