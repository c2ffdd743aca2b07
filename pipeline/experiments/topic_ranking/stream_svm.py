"""Linear machines, one for each topic, on as many training documents as may be held."""

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
from pipeline.experiments.topic_ranking.stream_reader import SAID_EVERY_SECONDS
from pipeline.experiments.topic_ranking.stream_training import StreamLearner

COST = 1.0
BEHIND = (
    -1e6
)  # the score of a topic that no document of the sample has; one that all have is before


class SampledSvm(StreamLearner):
    """A batch learner beside the lanes: it keeps every so many-th training document."""

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
        """Keep some of the documents."""
        steps = segment.steps
        learned = np.flatnonzero(steps.learn)
        first = -self._seen % self._every
        self._seen += len(learned)
        mine = learned[first :: self._every]
        self._rows.append(copied_rows(segment.rows, steps.row[mine]))
        relevant = np.zeros((len(mine), segment.topics), np.bool_)
        for i, step in enumerate(mine.tolist()):
            start, stop = steps.label_starts[step], steps.label_starts[step + 1]
            relevant[i, steps.labels[start:stop]] = True
        self._labels.append(relevant)
        self._terms = segment.terms

    def end_of_training(self) -> None:
        """Train a linear SVM for each topic, and let the documents go."""
        from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415 - an extra

        rows, labels = joined(self._rows), np.concatenate(self._labels)
        self._rows, self._labels = [], []
        self.documents = len(rows)
        matrix, topics = as_matrix(rows, self._terms), labels.shape[1]
        self._say(f"training {topics} linear SVMs on {self.documents:,} documents")
        self._weights = np.zeros((matrix.shape[1], topics))
        self._constants = np.where(labels.all(axis=0), -BEHIND, BEHIND)
        before = said = time.perf_counter()
        with warnings.catch_warnings():  # that one did not converge is in the result
            warnings.simplefilter("ignore", ConvergenceWarning)
            for topic, mine in enumerate(labels.T):
                if mine.any() and not mine.all():
                    fitted = linear_svm(COST).fit(matrix, mine)
                    self._weights[:, topic] = fitted.coef_[0]
                    self._constants[topic] = fitted.intercept_[0]
                    self._unfinished += int(np.max(fitted.n_iter_) >= MOST_ITERATIONS)
                if time.perf_counter() - said > SAID_EVERY_SECONDS:
                    said = time.perf_counter()
                    self._say(f"training linear SVMs: {topic + 1} of {topics}")
        self.seconds = time.perf_counter() - before

    def scores(self, segment: Segment) -> DenseScores:
        """How far each document is on the right side of each machine."""
        found = as_matrix(segment.rows, self._terms) @ self._weights + self._constants
        return DenseScores(np.asarray(found))

    def forget(self, keep: Longs) -> None:
        """It sees terms that stay."""
        raise NotImplementedError("machines see a fixed set of terms")

    def result(self) -> Result:
        """What was measured, on how many documents it was trained, and what did not converge."""
        size = self._weights.nbytes + self._constants.nbytes
        trained = {"documents": self.documents, "not_converged": self._unfinished}
        return {**super().result(), "model_bytes": size, **trained}


def copied_rows(rows: Rows, numbers: Ints) -> Rows:
    """Some rows, which keep no other row in memory."""
    return select_rows(rows, numbers.astype(np.int64))


def joined(parts: list[Rows]) -> Rows:
    """Rows one behind the other."""
    lengths = np.concatenate([np.diff(rows.starts) for rows in parts])
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    terms = np.concatenate([rows.terms for rows in parts])
    return Rows(starts, terms, np.concatenate([rows.values for rows in parts]))
