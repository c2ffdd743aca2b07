"""The Python interface of ordinal learners: a document has one rank."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from learners.arrays import Bools, Longs
from learners.label_steps import Labels, learning_steps, rank_then_learn_steps, ranking_steps
from learners.named_learner import Document, DocumentError, Documents, NamedLearner, one
from learners.rankings import PredictedRank, PredictedRanks
from learners.scores import RANK, SCORE, RankScores

Ranks = Any  # a list or array of integers from 1; None for a document without a label


class RankLearner(NamedLearner):
    """A learner that predicts the rank of documents, from 1 to `ranks`.

    The rank of every document is predicted before its own rank is learned. Learning many documents
    at once, or one by one, gives the same model and the same predictions, bit for bit.
    """

    def learn_one(self, document: Document, rank: int) -> None:
        """Learn a document, given as {term: value}, with its rank."""
        self.learn_only(one(document), [rank])

    def rank_one(self, document: Document) -> PredictedRank:
        """Return the predicted rank of a document, and the score that it is derived from."""
        ranks, scores = self.rank_many(one(document))
        return PredictedRank(int(ranks[0]), float(scores[0]))

    def learn_many(self, documents: Documents, ranks: Ranks) -> PredictedRanks:
        """Learn documents in order; return what was predicted before each rank was used.

        `documents` is a matrix with one row per document (scipy sparse, numpy), or a list of
        dictionaries.
        """
        rows = self._rows_to_learn(documents)
        labels = self._labels(ranks, len(rows))
        scores = RankScores.expect(self.new_scores(len(rows), self.ranks))
        self._follow_rows(rows, rank_then_learn_steps(labels), self.ranks, scores)
        return predictions(scores)

    def learn_only(self, documents: Documents, ranks: Ranks) -> None:
        """Learn documents as `learn_many` does, without predictions."""
        rows = self._rows_to_learn(documents)
        labels = self._labels(ranks, len(rows))
        self._follow_rows(rows, learning_steps(labels), self.ranks, self.new_scores(0, 0))

    def rank_many(self, documents: Documents) -> PredictedRanks:
        """Predict the ranks of documents by the model as it is."""
        rows = self._rows_to_rank(documents)
        scores = RankScores.expect(self.new_scores(len(rows), self.ranks))
        self._follow_rows(rows, ranking_steps(len(rows), self.ranks), self.ranks, scores)
        return predictions(scores)

    def _labels(self, ranks: Ranks, documents: int) -> Labels:
        if not isinstance(ranks, Collection):
            raise DocumentError(f"The ranks must be a list or array. Got {ranks!r:.80}.")
        if len(ranks) != documents:
            raise DocumentError(f"There are {documents} documents, but {len(ranks)} ranks.")
        given: Bools = np.fromiter((rank is not None for rank in ranks), np.bool_, documents)
        numbers = np.array([rank_number(rank, self.ranks) for rank in ranks if rank is not None])
        starts: Longs = np.zeros(documents + 1, np.int64)
        np.cumsum(given, out=starts[1:])
        known = np.full(documents, self.ranks, np.int32)
        return Labels(starts, numbers.astype(np.int32), given, known, known)


def rank_number(rank: object, ranks: int) -> int:
    """Return a rank minus one; DocumentError unless it is an integer from 1 to `ranks`."""
    whole = isinstance(rank, int | np.integer) and not isinstance(rank, bool)
    if not whole or not 1 <= rank <= ranks:  # type: ignore[operator]
        raise DocumentError(f"A rank must be an integer from 1 to {ranks}. Got {rank!r:.80}.")
    return int(rank) - 1  # type: ignore[call-overload,no-any-return]


def predictions(scores: RankScores) -> PredictedRanks:
    """The predicted ranks and their scores as arrays."""
    return PredictedRanks(scores.matrix[:, RANK].astype(np.int64), scores.matrix[:, SCORE].copy())
