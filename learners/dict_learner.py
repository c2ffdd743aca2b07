"""Use a learner by hand, with documents as dictionaries: for examples, notebooks and tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, TypeVar

import numpy as np

from learners.learner import Learner
from learners.scores import LabelKind, RankScores, RowScores, Scores
from learners.segment import Rows, Segment, Steps

Document = Mapping[str, float]
L = TypeVar("L", bound=Learner)


class DictLearner(Generic[L]):
    """Numbers the terms and topics of documents, and gives them to a learner one by one.

    `topics` are known from the beginning; others become known with their first document. For many
    documents use whole segments, as the pipeline does: a call per document is slow.

    Examples
    --------
    >>> from learners import DictLearner, Perceptron
    >>> model = DictLearner(Perceptron())
    >>> model.learn({"wheat": 1.0}, ["grain"])
    >>> model.learn({"port": 1.0}, ["ship"])
    >>> model.score({"wheat": 1.0, "port": 2.0})
    {'grain': -1.0, 'ship': 2.0}

    """

    def __init__(self, learner: L, topics: Iterable[str] = ()) -> None:
        self.learner = learner
        self._terms: dict[str, int] = {}
        self._topics = {topic: number for number, topic in enumerate(topics)}

    def learn(self, document: Document, label: Sequence[str] | int) -> None:
        """Learn a document with its topics, or with its rank if the learner learns ranks."""
        if isinstance(label, int):
            self._take(document, [label - 1])
        else:
            self._take(document, [self._topics.setdefault(t, len(self._topics)) for t in label])

    def score(self, document: Document) -> dict[str, float]:
        """The scores of all topics that are known."""
        known = len(self._topics)
        scores = Scores.expect(self._take(document))
        return dict(zip(self._topics, scores.row(0, known).tolist(), strict=True))

    def rank(self, document: Document) -> tuple[int, float]:
        """The rank that a learner of ranks predicts, and the score that it is derived from."""
        rank, score = RankScores.expect(self._take(document)).row(0, 0).tolist()
        return int(rank), score

    def _take(self, document: Document, labels: Sequence[int] | None = None) -> RowScores:
        """Rank the document, or learn it if there are labels."""
        terms = [self._terms.setdefault(term, len(self._terms)) for term in document]
        ordinal = self.learner.label_kind() is LabelKind.RANKS
        known = self.learner.ranks if ordinal else len(self._topics)
        rows = Rows(
            np.array([0, len(terms)], np.int64),
            np.array(terms, np.int32),
            np.array(list(document.values()), np.float64),
        )
        steps = Steps(
            np.array([0], np.int32),
            np.array([labels is not None]),
            np.array([known], np.int32),
            np.array([0, len(labels or ())], np.int64),
            np.array(labels or (), np.int32),
            np.array([known], np.int32),
        )
        scores = self.learner.new_scores(1, known)
        self.learner.follow(Segment(rows, steps, len(self._terms), known), scores)
        return scores
