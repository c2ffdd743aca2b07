"""Why a document was ranked as it was: the terms that contributed most to its first topics.

A prototype learner's score of a topic is a sum over the terms of the document. Each summand, the
contribution of a term, is the term's value in the document's vector times its weight in the
topic's prototype. Contributions are computed after the document is ranked and before anything is
learned from it, so the weights are those of the ranking. They add up to the score, except with
`arow`, which adds a prior for each topic.
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

TOPICS = 5  # topics explained per ranking
TERMS = 5  # terms per topic, and terms of the document itself


class WeightedTerm(NamedTuple):
    """A term with its value in a vector, or with its contribution to a score."""

    term: str
    weight: float


class RankedTopic(NamedTuple):
    """A topic in a ranking: its score, and the terms that contributed most to the score.

    `terms` is None if the learner's scores are not sums over terms.
    """

    topic: str
    score: float
    terms: tuple[WeightedTerm, ...] | None


@dataclass(frozen=True, slots=True)
class ExplainedDocument:
    """A document that was just ranked, and why each lane ranked it as it did."""

    document: Entry
    number: int  # its number in the stream, from 1
    rounds: list[int]  # per lane: rounds learned before the ranking
    topics: tuple[str, ...] | None  # its labels; None if they are not known yet
    rank: int | None  # its rank, if there are ordinal lanes and the rank is known
    terms: tuple[WeightedTerm, ...]  # the terms with the largest values in its vector
    rankings: list[tuple[RankedTopic, ...]]  # per lane: the first topics
    scores: list[Floats]  # per lane: the scores of all topics known at the ranking
    heads: list[Ints]  # per lane: the first topics, if they are not in order of the scores


def explain_ranking(
    lane: Lane,
    segment: SharedSegment,
    row: int,
    scores: Floats,
    head: Ints,
    topics: Sequence[str],
    table: TermTable,
) -> tuple[RankedTopic, ...]:
    """Return the first topics of a row's ranking; `scores` are the lane's scores of the row.

    `head` are its first topics, if they are not in order of the scores.
    """
    terms, values = segment.by_norm[lane.spec.norm].rows.row(row)
    if lane.is_ordinal:
        return (explain_rank(lane, terms, values, scores, table),)
    first = np.argsort(-scores, kind="stable")[: max(TOPICS, len(head))]
    first[: len(head)] = head
    first = first[:TOPICS]
    contributions = lane.learner.contributions(terms, values, first)
    ranked_topics = []
    for i, topic in enumerate(first.tolist()):
        strongest = (
            None if contributions is None else strongest_terms(terms, contributions[:, i], table)
        )
        ranked_topics.append(RankedTopic(topics[topic], float(scores[topic]), strongest))
    return tuple(ranked_topics)


def explain_rank(
    lane: Lane, terms: Ints, values: Floats, prediction: Floats, table: TermTable
) -> RankedTopic:
    """Return the rank and score that an ordinal lane predicted, with the terms behind the score."""
    rank, score = int(prediction[0]), float(prediction[1])
    contributions = lane.learner.contributions(terms, values, np.array([rank - 1]))
    strongest = (
        None if contributions is None else strongest_terms(terms, contributions[:, 0], table)
    )
    return RankedTopic(f"rank {rank}", score, strongest)


def strongest_terms(terms: Ints, weights: Floats, table: TermTable) -> tuple[WeightedTerm, ...]:
    """Return the terms of the largest absolute weights; terms of weight 0 are left out."""
    order = np.argsort(-np.abs(weights), kind="stable")[:TERMS]
    return tuple(
        WeightedTerm(word_of(table, int(terms[i])), float(weights[i]))
        for i in order.tolist()
        if weights[i] != 0.0
    )


def rank_of(topic: int, scores: Floats, head: Ints) -> int | None:
    """Return the rank of a topic, from 1; ties go by topic index. None if it was not known yet.

    `head` are the first topics, if they are not in order of the scores.
    """
    if topic >= len(scores):
        return None
    if topic in head:
        return 1 + int(np.flatnonzero(head == topic)[0])
    score = scores[topic]
    ties_before = np.count_nonzero(scores[:topic] == score)
    return 1 + int(np.count_nonzero(scores > score) + ties_before)
