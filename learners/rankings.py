"""The rankings of many documents, as Python programs use them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple, overload

from learners.arrays import Floats, Ints, Longs
from learners.scores import Scores

Name = Hashable  # of a term or topic: a text or an integer, if the learner is to be saved
Ranking = list[tuple[Name, float]]


class PredictedRank(NamedTuple):
    """The rank that is predicted for a document, and the score that it is derived from."""

    rank: int
    score: float


class PredictedRanks(NamedTuple):
    """The ranks that are predicted for documents, and the scores that they are derived from."""

    ranks: Longs
    scores: Floats


class Rankings:
    """The topics of documents with their scores: a sequence of rankings, and arrays of them.

    `rankings[i]` is the ranking of document i: pairs of topic and score, best first. It has the
    topics that were known when the document was ranked; `known[i]` is their number.
    """

    def __init__(self, topics: Sequence[Name], known: Ints, scores: Scores) -> None:
        self.topics = list(topics)
        self.known = known
        self._scores = scores

    def __len__(self) -> int:
        return len(self.known)

    @overload
    def __getitem__(self, document: int) -> Ranking: ...
    @overload
    def __getitem__(self, document: slice) -> list[Ranking]: ...

    def __getitem__(self, document: int | slice) -> Ranking | list[Ranking]:
        if isinstance(document, slice):
            return [self[number] for number in range(len(self))[document]]
        number = range(len(self))[document]
        scores = self._scores.row(number, int(self.known[number])).tolist()
        pairs = zip(self.topics, scores, strict=False)  # later topics are not in this ranking
        return sorted(pairs, key=lambda pair: -pair[1])  # stable: ties stay in order of the topics

    def __iter__(self) -> Iterator[Ranking]:
        return (self[document] for document in range(len(self)))

    def __repr__(self) -> str:
        return f"<rankings of {len(self)} documents, {len(self.topics)} topics>"

    @property
    def scores(self) -> Floats:
        """The scores as a matrix: documents x topics. A topic that was not known yet has 0."""
        return self._scores.table()

    def best(self, top: int = 10) -> tuple[Ints, Floats]:
        """The indices of the best topics, and their scores: documents x `top`, best first.

        An index counts in `topics`. Where a document has fewer topics, the index is -1.
        """
        return self._scores.best(self.known, max(0, min(top, len(self.topics))))
