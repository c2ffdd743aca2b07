"""A document of a replay, with the ranking of every lane."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import orjson

from learners.rankings import PredictedRank
from pipeline.events.event import Id

# A list of topics with their scores, or a `PredictedRank`, depending on the lane.
RankingOfLane = Any


class Decision(NamedTuple):
    """What a lane decided about a document, before its own labels were learned."""

    assigned: list[str]
    probabilities: dict[str, float]  # of the best topics, at most 20 and as many as a ranking has
    certainty: float  # the expected F1 of the assigned topics
    review: bool | None  # None: the lane marks no documents, because it has no risk


@dataclass(frozen=True)
class RankedDocument:
    """A document as it was ranked, before its own labels were learned."""

    id: Id
    time: str | None
    topics: tuple[str, ...] | None  # its labels; None: it came without topics
    rank: int | None
    events: tuple[bytes, ...]  # one ranking event per lane, as `--rankings` writes them

    @cached_property
    def rankings(self) -> dict[str, RankingOfLane]:
        """By lane: topics with their scores, best first. Of an ordinal lane: the predicted rank.

        With `order=probability` a score can be lower than the next one.
        """
        events = [orjson.loads(event) for event in self.events]
        return {event["lane"]: ranking_in(event) for event in events}

    @cached_property
    def decisions(self) -> dict[str, Decision]:
        """By lane, of those that assign topics: the assigned topics, and how likely topics are."""
        events = [orjson.loads(event) for event in self.events]
        return {event["lane"]: decision_in(event) for event in events if "assigned" in event}

    def __repr__(self) -> str:
        best = {lane: first_of(ranking) for lane, ranking in self.rankings.items()}
        return f"<document {self.id!r}, labels {self.topics or self.rank}, best {best}>"


def decision_in(event: dict[str, Any]) -> Decision:
    """What a ranking event says of the decision of its lane."""
    likely = {
        entry["topic"]: entry["probability"] for entry in event["ranking"] if "probability" in entry
    }
    return Decision(event["assigned"], likely, event["certainty"], event.get("review"))


def ranking_in(event: dict[str, Any]) -> RankingOfLane:
    """The ranking in a ranking event."""
    if "ranking" in event:
        return [(entry["topic"], entry["score"]) for entry in event["ranking"]]
    return PredictedRank(event["rank"], event["score"])


def first_of(ranking: RankingOfLane) -> str | int | None:
    """The best topic, or the predicted rank."""
    if isinstance(ranking, PredictedRank):
        return ranking.rank
    return ranking[0][0] if ranking else None
