"""Twin of `learners/decisions/reordering.py`."""

from __future__ import annotations

from learners.decisions.reordering import HEAD
from learners.slow.decisions import SlowDecision


def slow_head(made: SlowDecision, only_retrieved: bool) -> list[int]:
    """The places of the first candidates by their scores, in the order of the ranking."""
    places = range(min(HEAD, len(made.topics)))
    head = [place for place in places if made.scores[place] != 0.0 or not only_retrieved]
    return sorted(head, key=lambda place: -made.probabilities[place])


def slow_by_probability(made: SlowDecision, only_retrieved: bool) -> SlowDecision:
    """The decision with its candidates in the order of the ranking."""
    head = slow_head(made, only_retrieved)
    order = [*head, *range(len(head), len(made.topics))]
    return made._replace(
        topics=[made.topics[place] for place in order],
        scores=[made.scores[place] for place in order],
        probabilities=[made.probabilities[place] for place in order],
        assigned=[made.assigned[place] for place in order],
    )
