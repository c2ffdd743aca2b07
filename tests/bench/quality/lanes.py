"""Rankings of the held-out documents by lanes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from learners.arrays import Floats
from learners.specs import parse_spec
from pipeline import Replay
from tests.bench.quality.held_out import Corpus

BELOW_ALL = -1e300  # the score of a topic that a ranking lacks


class LaneScores(NamedTuple):
    """What a lane gave the held-out documents, and its measures along the learned part."""

    scores: Floats
    progressive: dict[str, float]
    microseconds: float  # per document, with tokenizing; of all lanes together


def lane_scores(corpus: Corpus, lanes: Sequence[str], profile: str) -> dict[str, LaneScores]:
    """Replay a corpus whose last documents have no labels; the result is by name of the lane."""
    unlabelled = [{k: v for k, v in e.items() if k != "topics"} for e in corpus.held_out]
    events = [*corpus.learned, *unlabelled]
    for number, event in enumerate(events):
        event["id"] = number
    replay = Replay(events, list(lanes), profile=profile, top=0)
    names = [parse_spec(lane).name for lane in lanes]
    column = {topic: i for i, topic in enumerate(corpus.topics)}
    shape = (len(corpus.held_out), len(corpus.topics))
    given = {name: np.full(shape, BELOW_ALL) for name in names}
    began = time.process_time()
    for document in replay:
        row = int(document.id) - len(corpus.learned)
        if row >= 0:
            for name in names:
                ranking = document.rankings[name]
                for (topic, _), score in zip(ranking, falling(ranking), strict=True):
                    given[name][row, column[topic]] = score
    each = 1e6 * (time.process_time() - began) / len(events)
    return {
        name: LaneScores(
            given[name],
            {measure: float(values[-1]) for measure, values in replay.curves[name].items()},
            each,
        )
        for name in names
    }


def falling(ranking: Sequence[tuple[str, float]]) -> list[float]:
    """The scores of a ranking, raised where a topic comes before one with a higher score.

    The first topics may be in order of their probabilities. Then ties are no errors.
    """
    scores = [score for _, score in ranking]
    for place in range(len(scores) - 2, -1, -1):
        if scores[place] < scores[place + 1]:
            scores[place] = float(np.nextafter(scores[place + 1], np.inf))
    return scores
