"""Why a document was ranked as it was: the terms that carried each of its first topics.

A prototype learner scores a topic by a sum over the terms of the document: the term's value in the
document's vector times its weight in the topic's prototype. Each summand is the contribution of a
term. They are taken between the ranking and the learning of the document, so that the weights are
those that it was ranked with, and all contributions together are the score (with `arow` but for
the prior that a topic has without any term).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from learners.arrays import Floats, Ints
from pipeline.engine.lane import Lane, SharedSegment
from pipeline.log.block import Entry
from pipeline.text.terms import TermTable, word_of

TOPICS = 5  # of each ranking that are explained
TERMS = 5  # of each topic, and of the document itself


class WeightedTerm(NamedTuple):
    """A term and what it amounts to: its value in a vector, or its contribution to a score."""

    term: str
    amount: float


class RankedTopic(NamedTuple):
    """A topic in a ranking, its score, and the strongest terms behind it, if terms are."""

    topic: str
    score: float
    terms: tuple[WeightedTerm, ...] | None


@dataclass(frozen=True, slots=True)
class ExplainedDocument:
    """A document that was just ranked, and why each lane ranked it so."""

    document: Entry
    number: int  # which document of the stream it is, from 1
    rounds: list[int]  # of each lane: rounds learned before
    topics: tuple[str, ...] | None  # its labels, if they are known by now
    rank: int | None  # the same, if ordinal lanes are there
    terms: tuple[WeightedTerm, ...]  # the heaviest of its vector
    rankings: list[tuple[RankedTopic, ...]]  # of each lane: the first topics
    scores: list[Floats]  # of each lane: of all topics that were known then


def explain(
    lane: Lane,
    segment: SharedSegment,
    row: int,
    scores: Floats,
    topics: Sequence[str],
    table: TermTable,
) -> tuple[RankedTopic, ...]:
    """The first places of a row's ranking, whose `scores` the lane has just given."""
    terms, values = segment.by_norm[lane.spec.norm].rows.row(row)
    if lane.is_ordinal:
        return (rank_place(lane, terms, values, scores, table),)
    first = np.argsort(-scores, kind="stable")[:TOPICS]
    amounts = lane.learner.contributions(terms, values, first)
    places = []
    for i, topic in enumerate(first.tolist()):
        why = None if amounts is None else strongest(terms, amounts[:, i], table)
        places.append(RankedTopic(topics[topic], float(scores[topic]), why))
    return tuple(places)


def rank_place(
    lane: Lane, terms: Ints, values: Floats, said: Floats, table: TermTable
) -> RankedTopic:
    """The rank that an ordinal lane said, with the terms behind its score."""
    rank, score = int(said[0]), float(said[1])
    amounts = lane.learner.contributions(terms, values, np.array([rank - 1]))
    why = None if amounts is None else strongest(terms, amounts[:, 0], table)
    return RankedTopic(f"rank {rank}", score, why)


def strongest(terms: Ints, amounts: Floats, table: TermTable) -> tuple[WeightedTerm, ...]:
    """The terms of the greatest amounts, whatever their sign; none that amounts to nothing."""
    order = np.argsort(-np.abs(amounts), kind="stable")[:TERMS]
    return tuple(
        WeightedTerm(word_of(table, int(terms[i])), float(amounts[i]))
        for i in order.tolist()
        if amounts[i] != 0.0
    )


def rank_of(topic: int, scores: Floats) -> int | None:
    """The rank of a topic, from 1, ties by index; None if it was not known yet."""
    if topic >= len(scores):
        return None
    mine = scores[topic]
    level = np.count_nonzero(scores[:topic] == mine)
    return 1 + int(np.count_nonzero(scores > mine) + level)
