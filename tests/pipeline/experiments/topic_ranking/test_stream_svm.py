"""The linear SVMs beside the lanes of the RCV1 experiment."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from learners.segment import Rows, Segment
from pipeline.experiments.topic_ranking.mmp_rcv1 import SVM
from pipeline.experiments.topic_ranking.stream_svm import SampledSvm
from pipeline.experiments.topic_ranking.stream_vocabulary import rounds


def random_segment(rng: np.random.Generator, terms: int) -> Segment:
    """Documents of three terms each, with one of two topics."""
    every = [np.sort(rng.choice(terms, 3, replace=False)) for _ in range(40)]
    rows = Rows(
        np.arange(0, 121, 3), np.concatenate(every).astype(np.int32), rng.uniform(0.1, 1.0, 120)
    )
    return Segment(rows, rounds([(number % 2,) for number in range(40)], 2), terms, 2)


def test_dropped_terms_leave_the_sample() -> None:
    """The SVMs are those of documents that never had the dropped terms."""
    rng = np.random.default_rng(1)
    keep = np.array([0, 2, 3, 7, 8, 9])
    before, after = random_segment(rng, terms=10), random_segment(rng, terms=len(keep))
    forgetful, told = (SampledSvm(SVM, every=3, say=lambda line: None) for _ in range(2))
    forgetful.learn(before)
    forgetful.forget(keep)
    told.learn(replace(before, rows=before.rows.restricted(keep), terms=len(keep)))
    for svm in (forgetful, told):
        svm.learn(after)
        svm.end_of_training()
    assert forgetful.documents == told.documents == 27
    expected = told.scores(after).table()
    assert len(np.unique(expected)) > 1
    np.testing.assert_array_equal(forgetful.scores(after).table(), expected)
