"""Ranking events with reasons: the terms that contributed most to the score of each topic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson

from learners.arrays import Floats, Ints
from pipeline.engine.decision_texts import as_objects as decision_objects
from pipeline.engine.engine import Engine
from pipeline.engine.explanations import explain_rank, strongest_terms
from pipeline.engine.lane import Lane, SharedSegment
from pipeline.engine.ranked_segment import RankedSegment


def explained_events(
    engine: Engine, ranked: RankedSegment, shared: SharedSegment, top: int
) -> list[bytes]:
    """Return the ranking events of a segment, with the terms behind each topic or rank.

    They have the keys of other ranking events, and `terms` beside each score. It is null if the
    scores of a learner are not sums over terms.
    """
    known = len(engine.topics)
    places = min(top, known) if top else known
    best = [
        None if lane.is_ordinal else ranked.best(number, places)
        for number, lane in enumerate(engine.lanes)
    ]
    events = []
    for row, document in enumerate(ranked.documents):
        for number, lane in enumerate(engine.lanes):
            first = best[number]
            event: dict[str, Any] = {
                "id": document.id,
                "lane": lane.name,
                "round": ranked.rounds[number][row],
            }
            if first is None:
                event.update(explained_rank(engine, lane, shared, row, ranked))
            else:
                topics, scores = first[0][row], first[1][row]
                event["ranking"] = explained_topics(engine, lane, shared, row, topics, scores)
                made = ranked.emitted_by(number)
                if made is not None:
                    names, marks = engine.topics.names, ranked.has_marks(number)
                    decided, likely = decision_objects(made, row, names, marks)
                    for topic, probability in zip(event["ranking"], likely, strict=False):
                        topic["probability"] = probability
                    event.update(decided)
            event["time"] = document.time
            events.append(orjson.dumps(event))
    return events


def explained_topics(
    engine: Engine, lane: Lane, shared: SharedSegment, row: int, topics: Ints, scores: Floats
) -> list[dict[str, Any]]:
    """Return the first topics of a ranking, each with its terms."""
    terms, values = shared.by_norm[lane.spec.norm].rows.row(row)
    used = topics >= 0
    chosen = topics[used].astype(np.int64)
    contributions = lane.learner.contributions(terms, values, chosen)
    names, table = engine.topics.names, engine.vocabulary.table
    return [
        {
            "topic": names[topic],
            "score": score,
            "terms": None
            if contributions is None
            else as_objects(strongest_terms(terms, contributions[:, i], table)),
        }
        for i, (topic, score) in enumerate(zip(chosen.tolist(), scores[used].tolist(), strict=True))
    ]


def explained_rank(
    engine: Engine, lane: Lane, shared: SharedSegment, row: int, ranked: RankedSegment
) -> dict[str, Any]:
    """Return the rank that an ordinal lane predicts, with the terms behind its score."""
    terms, values = shared.by_norm[lane.spec.norm].rows.row(row)
    prediction = ranked.scores[engine.lanes.index(lane)].row(row, 0)
    reason = explain_rank(lane, terms, values, prediction, engine.vocabulary.table)
    return {
        "rank": int(prediction[0]),
        "score": reason.score,
        "terms": None if reason.terms is None else as_objects(reason.terms),
    }


def as_objects(terms: Sequence[tuple[str, float]]) -> list[dict[str, Any]]:
    """Return weighted terms as JSON objects."""
    return [{"term": term, "weight": weight} for term, weight in terms]
