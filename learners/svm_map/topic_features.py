"""The features of the topics of a document, from the scores that the combined lanes gave them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners.arrays import Floats
from learners.jit import njit

SCALED, PLACE, LEAD = range(3)  # the features of a topic from each lane; see `TopicFeatures`
EACH = 3


class TopicFeatures(NamedTuple):
    """The features of the topics of a document: lanes x topics, on the same scale for all lanes.

    Equal scores are ranked by index.
    """

    scaled: Floats  # the score, scaled so that 0 and all scores lie between 0 and 1
    places: Floats  # one over the rank of the first `depth` topics, 0 for the others
    leads: Floats  # how far the first topic is ahead of the second, 0 for the others


@njit
def new_features(lanes: int, topics: int) -> TopicFeatures:
    """Room for the features of a document."""
    return TopicFeatures(
        np.empty((lanes, topics)), np.empty((lanes, topics)), np.empty((lanes, topics))
    )


@njit
def describe(values: Floats, depth: int, features: TopicFeatures) -> None:
    """Write the features of the topics, from the scores of each lane (lanes x topics)."""
    scaled, places, leads = features.scaled, features.places, features.leads
    topics = values.shape[1]
    best = np.empty(min(depth, topics), np.int64)
    scaled[:], places[:], leads[:] = 0.0, 0.0, 0.0
    for lane in range(len(values)):
        given = values[lane]
        filled = 0
        low = high = 0.0  # the score of a topic that is not known yet
        for topic in range(topics):
            low, high = min(low, given[topic]), max(high, given[topic])
            if filled == len(best) and given[topic] <= given[best[filled - 1]]:
                continue
            place = min(filled, len(best) - 1)
            while place > 0 and given[topic] > given[best[place - 1]]:
                best[place] = best[place - 1]
                place -= 1
            best[place] = topic
            filled = min(filled + 1, len(best))
        for place in range(filled):
            places[lane, best[place]] = 1.0 / (place + 1)
        span = high - low
        if not 0.0 < span < np.inf:
            continue  # all scores are 0, or not finite
        second = 0.0
        for topic in range(topics):
            scaled[lane, topic] = (given[topic] - low) / span
            if topic != best[0]:
                second = max(second, scaled[lane, topic])
        leads[lane, best[0]] = scaled[lane, best[0]] - second


@njit
def topics_scored(values: Floats) -> int:
    """How many topics the lanes (lanes x topics) knew when they scored the document.

    Topics that were discovered later come last, and have the score 0 in every lane.
    """
    topics: int = values.shape[1]
    while topics > 0:
        for lane in range(len(values)):
            if values[lane, topics - 1] != 0.0:
                return topics
        topics -= 1
    return 0


@njit
def place_of_zero(values: Floats) -> int:
    """How many topics are ahead of a topic with the score 0, in the lane that has the fewest.

    Topics that score 0 themselves are ahead of it: they were known before.
    """
    lanes, topics = values.shape
    fewest: int = topics
    for lane in range(lanes):
        ahead = 0
        for topic in range(topics):
            ahead += values[lane, topic] >= 0.0
        fewest = min(fewest, ahead)
    return fewest


@njit
def shift_to_zero(scores: Floats, ahead: int) -> None:
    """Shift the scores so that a score of 0 stands behind as many topics as `ahead` says."""
    topics = len(scores)
    if ahead == 0:
        scores -= scores.max() + 1.0
    elif ahead == topics:
        scores -= scores.min()
    else:
        split = np.partition(scores, topics - ahead - 1)
        scores -= (split[topics - ahead - 1] + split[topics - ahead :].min()) / 2.0
