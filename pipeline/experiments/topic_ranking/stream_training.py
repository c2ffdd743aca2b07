"""Lanes side by side over a corpus that is only read: trained in one pass, then tested."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from learners.arrays import Longs
from learners.learner import Learner
from learners.prototypes.rocchio import Rocchio
from learners.scores import RowScores
from learners.segment import Rows, Segment, Steps
from learners.specs import parse_spec
from pipeline.curves.topic_curve import Curve
from pipeline.engine.lane import share
from pipeline.experiments.experiment import Result
from pipeline.experiments.topic_ranking.methods import TopicMethod, learning_curve, measures_on_test
from pipeline.experiments.topic_ranking.stream_vocabulary import (
    Labels,
    labels_of,
    ranking_steps,
    rounds,
)
from pipeline.log.block import Block
from pipeline.text.features import Vocabulary


class Piece(NamedTuple):
    """Vectors of a run of documents with their labels."""

    rows: Rows
    labels: Labels
    terms: int
    keep: Longs | None  # before these, only these terms stayed


class Vectors:
    """How the lanes of a field see documents: by a vocabulary, maybe by some of its terms alone."""

    def __init__(self, vocabulary: Vocabulary, chosen: Longs | None = None) -> None:
        self.vocabulary = vocabulary
        self._chosen = chosen

    def pieces(self, block: Block, labels: Labels) -> Iterator[Piece]:
        """The vectors of a block."""
        for found in self.vocabulary.vectors(block.counts, block.ready):
            mine = labels[found.first : found.first + len(found.rows)]
            if self._chosen is None:
                yield Piece(found.rows, mine, found.terms, found.keep)
            else:
                yield Piece(found.rows.restricted(self._chosen), mine, len(self._chosen), None)


class StreamLearner(ABC):
    """Who learns the training documents, and is measured on the test documents."""

    norm: str  # of the vectors that it sees

    def __init__(self, method: TopicMethod) -> None:
        self.method = method
        self.tested = Curve()

    @abstractmethod
    def learn(self, segment: Segment) -> None:
        """Take in training documents."""

    @abstractmethod
    def end_of_training(self) -> None:
        """Make what can only be made now."""

    @abstractmethod
    def scores(self, segment: Segment) -> RowScores:
        """Score the documents that are to be ranked, learning nothing."""

    @abstractmethod
    def forget(self, keep: Longs) -> None:
        """Only these terms stay."""

    def rank(self, segment: Segment, answers: Steps) -> None:
        """Rank test documents, and measure that."""
        self.tested.follow(answers, self.scores(segment))

    def result(self) -> Result:
        """What was measured."""
        return measures_on_test(self.tested)


class StreamLane(StreamLearner):
    """A lane: it ranks each document before it learns it, and that is its curve."""

    def __init__(self, method: TopicMethod) -> None:
        super().__init__(method)
        spec = parse_spec(method.spec)
        self.norm = spec.norm
        # The paper's Rocchio is a batch learner: its prototypes are made when all is seen.
        self.learner: Learner = Rocchio(refresh=0) if spec.learner == "rocchio" else spec.build()
        self.curve = Curve()

    @property
    def is_online(self) -> bool:
        """Whether it ranks while it learns."""
        return not isinstance(self.learner, Rocchio)

    def learn(self, segment: Segment) -> None:
        """Rank and learn the documents, each measured before it is learned."""
        scores = self.scores(segment)
        if self.is_online:
            self.curve.follow(segment.steps, scores)

    def end_of_training(self) -> None:
        """Make Rocchio's prototypes."""
        if isinstance(self.learner, Rocchio):
            self.learner.make()

    def scores(self, segment: Segment) -> RowScores:
        """Take all steps, and return what documents were ranked by."""
        scores = self.learner.new_scores(len(segment.rows), segment.topics)
        self.learner.follow(segment, scores)
        return scores

    def forget(self, keep: Longs) -> None:
        """Drop the weights of other terms."""
        self.learner.forget(keep)

    def result(self) -> Result:
        """What was measured, the size of the model, and the curve."""
        found = {**super().result(), "model_bytes": self.learner.size_bytes()}
        return {**found, "curve": learning_curve(self.curve)} if self.is_online else found


class LearnerGroup:
    """Contestants that see documents in the same way."""

    def __init__(
        self, vectors: Vectors, runners: Sequence[StreamLearner], topics: Sequence[str]
    ) -> None:
        self.vectors = vectors
        self.runners = runners
        self._topics = topics
        self._norms = {runner.norm for runner in self.runners}

    def learn(self, block: Block, pool: ThreadPoolExecutor) -> None:
        """Let all lanes rank and learn a block."""
        for piece in self._pieces(block):
            if piece.keep is not None:
                for runner in self.runners:
                    runner.forget(piece.keep)
            shared = self._shared(piece, rounds(piece.labels, len(self._topics)))
            list(pool.map(lambda one, by=shared: one.learn(by[one.norm]), self.runners))

    def end_of_training(self) -> None:
        """From now on nothing changes any more, neither lanes nor statistics."""
        self.vectors.vocabulary.freeze()
        for runner in self.runners:
            runner.end_of_training()

    def rank(self, block: Block, pool: ThreadPoolExecutor) -> None:
        """Let all lanes rank a block of test documents."""
        for piece in self._pieces(block):
            answers = rounds(piece.labels, len(self._topics))
            shared = self._shared(piece, ranking_steps(piece.labels, len(self._topics)))
            list(
                pool.map(lambda one, by=shared, a=answers: one.rank(by[one.norm], a), self.runners)
            )

    def _pieces(self, block: Block) -> Iterator[Piece]:
        return self.vectors.pieces(block, labels_of(block, self._topics))

    def _shared(self, piece: Piece, steps: Steps) -> dict[str, Segment]:
        segment = Segment(piece.rows, steps, piece.terms, len(self._topics))
        return share(segment, self._norms).by_norm


def run_groups(
    fields: Sequence[LearnerGroup], training: Iterable[Block], testing: Iterable[Block]
) -> None:
    """Train all contestants in one pass, and test them."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for block in training:
            for field in fields:
                field.learn(block, pool)
        for field in fields:
            field.end_of_training()
        for block in testing:
            for field in fields:
                field.rank(block, pool)


def results_of(fields: Sequence[LearnerGroup]) -> dict[str, Result]:
    """What was measured, by the key of the method."""
    return {runner.method.key: runner.result() for field in fields for runner in field.runners}
