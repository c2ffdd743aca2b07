"""Streams of documents with ranks, and running ordinal learners over them."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import numpy as np

from learners.arrays import Floats, Ints
from learners.ordinal.base import OrdinalLearner
from learners.scores import RANK, SCORE, RankScores
from learners.segment import Rows, Segment, Steps
from tests.support.random_streams import Happening, Stream, random_document

Emitted = dict[int, tuple[int, float]]


class RankedStream(Stream):
    """A stream whose topics are ranks, known from the beginning; every feature has its number."""

    def segment(self, start: int, stop: int) -> Segment:
        return replace(super().segment(start, stop), terms=len(self.features))


def random_ranks(
    seed: int, ranks: int, length: int = 80, whole_numbers: bool = False
) -> RankedStream:
    """Labels at once, late or never; some steps have none, some a rank that no lane knows."""
    rng = random.Random(seed)
    values = (-1.0, 1.0, 1.0, 2.0) if whole_numbers else ()
    names = [str(rank) for rank in range(1, ranks + 2)]
    stream = RankedStream(topics=names)
    late: list[tuple[int, tuple[str, ...]]] = []
    for row in range(length):
        stream.documents.append(random_document(rng, row, values))
        stream.happenings.append(Happening(row, None, names))
        label = tuple(rng.sample(names, k=rng.choice((1,) * 9 + (0,))))
        fate = rng.random()
        if fate < 0.6:
            stream.happenings.append(Happening(row, label, names))
        elif fate < 0.9:
            late.append((row, label))
        while late and rng.random() < 0.3:
            of, its = late.pop(rng.randrange(len(late)))
            stream.happenings.append(Happening(of, its, names))
    stream.features = list(dict.fromkeys(f for document in stream.documents for f in document))
    return stream


def follow(
    learner: OrdinalLearner,
    stream: Stream,
    cuts: list[int],
    first: int = 0,
    last: int | None = None,
) -> Emitted:
    """Run a part of the stream in the pieces that `cuts` make; the rank and score of each row."""
    emitted = {}
    end = len(stream.happenings) if last is None else last
    for start, stop in pairwise([first, *sorted(cuts), end]):
        segment = stream.segment(start, stop)
        predicted = RankScores(len(segment.rows))
        learner.follow(segment, predicted)
        rows = stream.rows(start, stop)
        for happening in stream.happenings[start:stop]:
            if happening.topics is None:
                row_scores = predicted.matrix[rows.index(happening.row)]
                emitted[happening.row] = (int(row_scores[RANK]), float(row_scores[SCORE]))
    return emitted


def labelled(vectors: Floats, ranks: Ints) -> Segment:
    """Dense vectors, each ranked and then learned with its rank."""
    length, features = vectors.shape
    return Segment(
        Rows(
            np.arange(length + 1, dtype=np.int64) * features,
            np.tile(np.arange(features, dtype=np.int32), length),
            vectors.ravel(),
        ),
        Steps(
            np.repeat(np.arange(length, dtype=np.int32), 2),
            np.tile([False, True], length),
            np.full(2 * length, ranks.max(), np.int32),
            np.arange(2 * length + 1, dtype=np.int64) // 2,
            (ranks - 1).astype(np.int32),
            np.full(2 * length, ranks.max(), np.int32),
        ),
        features,
        int(ranks.max()),
    )


def papers_data(seed: int | list[int], length: int = 7000) -> tuple[Floats, Ints]:
    """The synthetic data of the 2001 paper: a saddle over the unit square, with noise, 5 ranks."""
    rng = np.random.default_rng(seed)
    points = rng.random((length, 2))
    height = 10.0 * (points[:, 0] - 0.5) * (points[:, 1] - 0.5) + rng.normal(0.0, 0.125, length)
    bounds = np.array([-np.inf, -1.0, -0.1, 0.25, 1.0])
    return points, (height[:, None] > bounds).sum(axis=1).astype(np.int32)
