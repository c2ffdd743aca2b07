"""Twin of `pipeline/engine/ranking_events.py`."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import orjson

from pipeline.engine.decision_texts import as_objects
from pipeline.engine.ranked_segment import RankedSegment
from pipeline.engine.ranking_events import ALL_FIELDS


def slow_ranking_events(
    ranked: RankedSegment, lanes: Sequence[str], topics: Sequence[str], top: int,
    fields: Collection[str] = ALL_FIELDS,
) -> list[bytes]:  # fmt: skip
    """The ranking events of a segment, each built as an object."""
    events = []
    for row, document in enumerate(ranked.documents):
        for number, (lane, scores) in enumerate(zip(lanes, ranked.scores, strict=True)):
            given = scores.row(row, int(ranked.known_topics[row])).tolist()
            best = sorted(range(len(given)), key=lambda topic: (-given[topic], topic))
            made = ranked.emitted_by(number)
            if made is not None:
                first = [topic for topic in made.topics[row].tolist() if topic >= 0]
                best[: len(first)] = first
            best = best[:top] if top else best
            decided: dict[str, object] = {}
            likely: list[float] = []
            if made is not None:
                decided, likely = as_objects(made, row, topics, ranked.has_marks(number))
            ranking: list[dict[str, object]] = []
            for place, topic in enumerate(best):
                ranking.append({"topic": topics[topic], "score": given[topic]})
                if place < len(likely):
                    ranking[-1]["probability"] = likely[place]
            event = {
                "id": document.id,
                "lane": lane,
                "round": ranked.rounds[number][row],
                "ranking": ranking,
                **decided,
                "time": document.time,
            }
            events.append(orjson.dumps({key: event[key] for key in event if key in fields}))
    return events
