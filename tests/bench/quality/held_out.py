"""Corpora split by time, and the measures of rankings of the part that was held out.

The first 70 % of a corpus are for learning, in one pass. The last 30 % are ranked without their
labels. Topics that do not occur in the first part are left out, for all methods alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import orjson

from learners.arrays import Bools, Floats
from pipeline.corpora import open_source

LEARNED = 0.7

Event = dict[str, Any]


class Corpus(NamedTuple):
    """A corpus in two parts. `topics` are those of the first part, in order of appearance."""

    name: str
    learned: Sequence[Event]
    held_out: Sequence[Event]
    topics: Sequence[str]

    @property
    def relevant(self) -> Bools:
        """Which topics the held-out documents have: documents x topics."""
        number = {topic: i for i, topic in enumerate(self.topics)}
        relevant = np.zeros((len(self.held_out), len(self.topics)), np.bool_)
        for row, event in enumerate(self.held_out):
            relevant[row, [number[topic] for topic in event["topics"] if topic in number]] = True
        return relevant


class Quality(NamedTuple):
    """Means over the held-out documents."""

    average_precision: float
    one_error: float  # percent
    coverage: float
    loss3: float  # percent


def read_corpus(name: str, source: str, limit: int = 0) -> Corpus:
    """Read the labelled documents of a source, and split them."""
    events = [event for raw in open_source(source) if (event := orjson.loads(raw)).get("topics")]
    events = events[: limit or None]
    cut = int(LEARNED * len(events))
    learned = events[:cut]
    topics = list(dict.fromkeys(topic for event in learned for topic in event["topics"]))
    known = set(topics)
    held_out = [event for event in events[cut:] if known.intersection(event["topics"])]
    return Corpus(name, learned, held_out, topics)


def text_of(event: Mapping[str, Any]) -> str:
    """The title and the text of an event."""
    return "\n".join(event[key] for key in ("title", "text") if event.get(key))


def quality(scores: Floats, relevant: Bools) -> Quality:
    """Measure rankings by scores (documents x topics); equal scores are ranked by topic."""
    sums = np.zeros(4)
    for given, is_relevant in zip(scores, relevant, strict=True):
        order = np.argsort(-given, kind="stable")
        ranks = np.flatnonzero(is_relevant[order]) + 1
        wrong = sum(int((given[~is_relevant] >= score).sum()) for score in given[is_relevant])
        pairs = len(ranks) * (len(given) - len(ranks))
        sums += (
            (np.arange(1, len(ranks) + 1) / ranks).mean(),
            100.0 * (ranks[0] > 1),
            ranks[-1] - 1,
            100.0 * wrong / max(1, pairs),
        )
    return Quality(*(sums / len(scores)).tolist())
