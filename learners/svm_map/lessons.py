"""What a stacker keeps of a labelled document to train on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners.arrays import Bools, Floats
from learners.jit import njit
from learners.splitmix import mix
from learners.svm_map.topic_features import EACH, LEAD, PLACE, SCALED, TopicFeatures


class Lesson(NamedTuple):
    """The items of a labelled document: topics, with their features."""

    features: Floats  # items x features
    relevant: Bools  # whether each item is relevant
    weights: Floats  # how many topics each item stands for


class LessonRoom(NamedTuple):
    """Room for the lessons of some rounds, one after another."""

    features: Floats
    relevant: Bools
    weights: Floats


@njit
def most_items(labels: int, lanes: int, depth: int, topics: int) -> int:
    """How many items a lesson has at most."""
    return min(topics, labels + (lanes + 1) * depth)


@njit
def write_lesson(
    described: TopicFeatures, is_label: Bools, depth: int, number: int, start: int, room: LessonRoom
) -> int:
    """Write the lesson of a document at `start`; return where it ends.

    Its items are the relevant topics, the first `depth` topics of each lane, and up to `depth` of
    the topics below these. The latter are spread evenly over all topics below, from a place that
    depends on the number of the round, and stand for all of them.
    """
    scaled, places, leads = described.scaled, described.places, described.leads
    lanes, topics = scaled.shape
    weights = np.zeros(topics)  # 0: no item
    below = np.empty(topics, np.int64)
    count = 0
    for topic in range(topics):
        is_item = is_label[topic]
        for lane in range(lanes):
            is_item = is_item or places[lane, topic] > 0.0
        if is_item:
            weights[topic] = 1.0
        else:
            below[count] = topic
            count += 1
    drawn = min(depth, count)
    if drawn > 0:
        first = np.int64(mix(np.uint64(number)) % np.uint64(count))
        for i in range(drawn):
            weights[below[(first + i * count // drawn) % count]] = count / drawn
    end = start
    for topic in range(topics):
        if weights[topic] == 0.0:
            continue
        room.relevant[end], room.weights[end] = is_label[topic], weights[topic]
        for lane in range(lanes):
            room.features[end, EACH * lane + SCALED] = scaled[lane, topic]
            room.features[end, EACH * lane + PLACE] = places[lane, topic]
            room.features[end, EACH * lane + LEAD] = leads[lane, topic]
        end += 1
    return end
