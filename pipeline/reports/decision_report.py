"""What a report says of a lane's decisions: measures, tables, and the quality of each topic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from learners.specs import LaneSpec
from pipeline.curves.decision_curve import DecisionCurve
from pipeline.curves.topic_quality import QualityOfTopic
from pipeline.engine.engine import Engine
from pipeline.engine.explanations import strongest_terms
from pipeline.engine.lane import Lane

EXPLAINED = 20  # of the worst topics that are known well enough, with their largest weights
SHOWN = 5  # topics of a lane in the table of a run
# With fewer documents, chance decides how good a topic looks.
ENOUGH_DOCUMENTS = 10


def decision_report(engine: Engine, lane: Lane) -> dict[str, Any]:
    """Return the measures of a lane's decisions; nothing if it assigns no topics."""
    curve = lane.decision_curve
    if curve is None:
        return {}
    topics = sorted(
        curve.topics.all(curve.rounds), key=lambda one: (not one.in_use, one.f1, -one.documents)
    )
    known = [one.topic for one in topics if one.in_use and one.documents >= ENOUGH_DOCUMENTS]
    terms = responsible_terms(engine, lane, known[:EXPLAINED])
    tables = {
        **decision_tables(lane.spec, curve),
        "recent": curve.recent().values,
        "unused_topics": sum(not one.in_use for one in topics),
        "topics": [
            topic_object(one, engine.topics.names[one.topic], terms.get(one.topic))
            for one in topics
        ],
    }
    return {**curve.last().values, "decisions": tables}


def decision_tables(spec: LaneSpec, curve: DecisionCurve) -> dict[str, Any]:
    """Return the options of a lane that assigns topics, and the diagrams of its decisions."""
    return {
        "assign": spec.assign,
        "risk": spec.risk,
        "order": spec.order,
        "reliability": curve.reliability(),
        "review": [point._asdict() for point in curve.review_gain()],
    }


def responsible_terms(
    engine: Engine, lane: Lane, topics: Sequence[int]
) -> dict[int, list[tuple[str, float]]]:
    """Return the terms with the largest weights of each topic; nothing if there are no weights."""
    terms = np.arange(len(engine.vocabulary), dtype=np.int32)
    weights = lane.learner.weights_of(terms, np.array(topics, np.int64)) if topics else None
    if weights is None:
        return {}
    table = engine.vocabulary.table
    return {
        topic: [*strongest_terms(terms, weights[:, i], table)] for i, topic in enumerate(topics)
    }


def topic_object(
    quality: QualityOfTopic, name: str, terms: list[tuple[str, float]] | None = None
) -> dict[str, Any]:
    """Return the quality of a topic as a JSON object."""
    entry = quality._asdict()
    entry["topic"] = name
    entry["worst"] = [document._asdict() for document in quality.worst]
    if terms is not None:
        entry["terms"] = [{"term": term, "weight": weight} for term, weight in terms]
    return entry


def topic_rows(decisions: dict[str, Any]) -> Iterator[list[str]]:
    """Yield the rows of a table of a lane's worst topics that are in use, with a header."""
    yield ["topic", "documents", "precision", "recall", "F1", "F1 lately", "most wrong"]
    for one in enough_documents(decisions, in_use=True)[:SHOWN]:
        precision, recall = (
            "n.a." if one[key] is None else f"{one[key]:.3f}" for key in ("precision", "recall")
        )
        worst = one["worst"][0]["id"] if one["worst"] else ""
        yield [
            one["topic"], f"{one['documents']:,}", precision, recall, f"{one['f1']:.3f}",
            f"{one['recent_f1']:.3f}", worst,
        ]  # fmt: skip


def unused_topics(decisions: dict[str, Any]) -> str:
    """Say how many topics the table of the worst topics leaves out; nothing if there are none."""
    count = len(enough_documents(decisions, in_use=False))
    topics = "topic that is" if count == 1 else "topics that are"
    return f", without {count:,} {topics} no longer used" if count else ""


def enough_documents(decisions: dict[str, Any], in_use: bool) -> list[dict[str, Any]]:
    """Return the topics in use, or the others, that are known well enough to be compared."""
    return [
        one
        for one in decisions["topics"]
        if one["documents"] >= ENOUGH_DOCUMENTS and one["in_use"] == in_use
    ]
