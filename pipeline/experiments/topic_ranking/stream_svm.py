"""Linear SVMs, one per topic, trained on a sample of the training documents."""

from __future__ import annotations

import time
import warnings

import numpy as np

from learners.arrays import Bools, Floats, Ints, Longs
from learners.scores import DenseScores
from learners.segment import Rows, Segment
from pipeline.experiments.experiment import Result, Say
from pipeline.experiments.linear_svm import MOST_ITERATIONS, as_matrix, linear_svm
from pipeline.experiments.text_vectors import select_rows
from pipeline.experiments.topic_ranking.methods import TopicMethod
from pipeline.experiments.topic_ranking.stream_reader import REPORT_EVERY_SECONDS
from pipeline.experiments.topic_ranking.stream_training import StreamLearner

COST = 1.0
LAST = -1e6  # the score of a topic that no document of the sample has; -LAST if all have it


class SampledSvm(StreamLearner):
    """A batch learner beside the lanes: it keeps every `every`-th training document."""

    norm = "l2"

    def __init__(self, method: TopicMethod, every: int, say: Say) -> None:
        super().__init__(method)
        self._every = every
        self._say = say
        self._seen = 0
        self._rows: list[Rows] = []
        self._labels: list[Bools] = []
        self._terms = 0
        self._weights: Floats = np.zeros((0, 0))  # terms x topics
        self._constants: Floats = np.zeros(0)
        self.documents = 0
        self.seconds = 0.0
        self._unfinished = 0

    def learn(self, segment: Segment) -> None:
        """Keep a sample of the documents."""
        steps = segment.steps
        learned = np.flatnonzero(steps.learn)
        first = -self._seen % self._every
        self._seen += len(learned)
        sampled = learned[first :: self._every]
        self._rows.append(copied_rows(segment.rows, steps.row[sampled]))
        relevant = np.zeros((len(sampled), segment.topics), np.bool_)
        for i, step in enumerate(sampled.tolist()):
            start, stop = steps.label_starts[step], steps.label_starts[step + 1]
            relevant[i, steps.labels[start:stop]] = True
        self._labels.append(relevant)
        self._terms = segment.terms

    def end_of_training(self) -> None:
        """Train one linear SVM per topic, then drop the documents."""
        from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415 - an extra

        rows, labels = joined(self._rows), np.concatenate(self._labels)
        self._rows, self._labels = [], []
        self.documents = len(rows)
        matrix, topics = as_matrix(rows, self._terms), labels.shape[1]
        self._say(f"training {topics} linear SVMs on {self.documents:,} documents")
        self._weights = np.zeros((matrix.shape[1], topics))
        self._constants = np.where(labels.all(axis=0), -LAST, LAST)
        before = reported = time.perf_counter()
        with warnings.catch_warnings():  # the result says how many did not converge
            warnings.simplefilter("ignore", ConvergenceWarning)
            for topic, positive in enumerate(labels.T):
                if positive.any() and not positive.all():
                    fitted = linear_svm(COST).fit(matrix, positive)
                    self._weights[:, topic] = fitted.coef_[0]
                    self._constants[topic] = fitted.intercept_[0]
                    self._unfinished += int(np.max(fitted.n_iter_) >= MOST_ITERATIONS)
                if time.perf_counter() - reported > REPORT_EVERY_SECONDS:
                    reported = time.perf_counter()
                    self._say(f"training linear SVMs: {topic + 1} of {topics}")
        self.seconds = time.perf_counter() - before

    def scores(self, segment: Segment) -> DenseScores:
        """The value of each SVM's decision function for each document."""
        values = as_matrix(segment.rows, self._terms) @ self._weights + self._constants
        return DenseScores(np.asarray(values))

    def forget(self, keep: Longs) -> None:
        """Drop the other terms from the documents of the sample."""
        self._rows = [rows.restricted(keep) for rows in self._rows]

    def result(self) -> Result:
        """The measures, the size of the sample, and how many SVMs did not converge."""
        size = self._weights.nbytes + self._constants.nbytes
        trained = {"documents": self.documents, "not_converged": self._unfinished}
        return {**super().result(), "model_bytes": size, **trained}


def copied_rows(rows: Rows, numbers: Ints) -> Rows:
    """A copy of some rows, which keeps no other row in memory."""
    return select_rows(rows, numbers.astype(np.int64))


def joined(parts: list[Rows]) -> Rows:
    """All rows, one part after the other."""
    lengths = np.concatenate([np.diff(rows.starts) for rows in parts])
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    terms = np.concatenate([rows.terms for rows in parts])
    return Rows(starts, terms, np.concatenate([rows.values for rows in parts]))
