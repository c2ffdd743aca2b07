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


class Difference(NamedTuple):
    """The mean difference of a measure between two rankings of the same documents."""

    mean: float
    error: float  # standard error; NaN if there is only one document


def measures(scores: Floats, relevant: Bools) -> Floats:
    """Measure rankings by scores (documents x topics); equal scores are ranked by topic.

    The result has a row per document, and the columns of `Quality`.
    """
    rows = np.zeros((len(scores), len(Quality._fields)))
    for row, (given, is_relevant) in enumerate(zip(scores, relevant, strict=True)):
        order = np.argsort(-given, kind="stable")
        ranks = np.flatnonzero(is_relevant[order]) + 1
        wrong = sum(int((given[~is_relevant] >= score).sum()) for score in given[is_relevant])
        pairs = len(ranks) * (len(given) - len(ranks))
        rows[row] = (
            (np.arange(1, len(ranks) + 1) / ranks).mean(),
            100.0 * (ranks[0] > 1),
            ranks[-1] - 1,
            100.0 * wrong / max(1, pairs),
        )
    return rows


def quality(scores: Floats, relevant: Bools) -> Quality:
    """The means of the measures of rankings."""
    return mean_of(measures(scores, relevant))


def mean_of(rows: Floats) -> Quality:
    """The means of measures by document."""
    return Quality(*rows.mean(axis=0).tolist())


def differences(rows: Floats, others: Floats) -> Sequence[Difference]:
    """How far the measures of documents are from those of another ranking, for each measure.

    The documents are the same, so the difference of each one counts. Its spread is much smaller
    than that of the measure itself.
    """
    off = rows - others
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.sqrt(((off - off.mean(axis=0)) ** 2).sum(axis=0) / (len(off) - 1) / len(off))
    return [
        Difference(*pair) for pair in zip(off.mean(axis=0).tolist(), errors.tolist(), strict=True)
    ]
