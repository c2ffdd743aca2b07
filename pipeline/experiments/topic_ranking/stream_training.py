"""Trains several learners in one pass over a corpus that is read in blocks, then tests them."""

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
from pipeline.curves.topic_curve import TopicCurve
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
    """The vectors of consecutive documents, with their labels."""

    rows: Rows
    labels: Labels
    terms: int
    keep: Longs | None  # if given: all other terms were dropped before these documents


class Vectors:
    """Turns blocks into vectors by a vocabulary, or by selected terms of a vocabulary."""

    def __init__(self, vocabulary: Vocabulary, chosen: Longs | None = None) -> None:
        self.vocabulary = vocabulary
        self._chosen = chosen

    def pieces(self, block: Block, labels: Labels) -> Iterator[Piece]:
        """The vectors of a block."""
        for part in self.vocabulary.vectors(block.counts, block.ready):
            of_part = labels[part.first : part.first + len(part.rows)]
            if self._chosen is None:
                yield Piece(part.rows, of_part, part.terms, part.keep)
            else:
                yield Piece(part.rows.restricted(self._chosen), of_part, len(self._chosen), None)


class StreamLearner(ABC):
    """A learner of the training documents that is measured on the test documents."""

    norm: str  # of the vectors that it sees

    def __init__(self, method: TopicMethod) -> None:
        self.method = method
        self.tested = TopicCurve()

    @abstractmethod
    def learn(self, segment: Segment) -> None:
        """Learn training documents."""

    @abstractmethod
    def end_of_training(self) -> None:
        """Finish the model when all training documents have been seen."""

    @abstractmethod
    def scores(self, segment: Segment) -> RowScores:
        """Score the documents of a segment."""

    @abstractmethod
    def forget(self, keep: Longs) -> None:
        """Drop all terms except these."""

    def rank(self, segment: Segment, true_topics: Steps) -> None:
        """Rank test documents, and measure the rankings."""
        self.tested.follow(true_topics, self.scores(segment))

    def result(self) -> Result:
        """The measures on the test documents."""
        return measures_on_test(self.tested)


class StreamLane(StreamLearner):
    """A lane: it ranks each document before it learns it, which gives its learning curve."""

    def __init__(self, method: TopicMethod) -> None:
        super().__init__(method)
        spec = parse_spec(method.spec)
        self.norm = spec.norm
        # The paper's Rocchio is a batch learner: its prototypes are made at the end of training.
        self.learner: Learner = Rocchio(refresh=0) if spec.learner == "rocchio" else spec.build()
        self.curve = TopicCurve()

    @property
    def is_online(self) -> bool:
        """Whether the lane ranks while it learns."""
        return not isinstance(self.learner, Rocchio)

    def learn(self, segment: Segment) -> None:
        """Rank and learn the documents; each is measured before it is learned."""
        scores = self.scores(segment)
        if self.is_online:
            self.curve.follow(segment.steps, scores)

    def end_of_training(self) -> None:
        """Make Rocchio's prototypes."""
        if isinstance(self.learner, Rocchio):
            self.learner.make()

    def scores(self, segment: Segment) -> RowScores:
        """Take all steps of a segment, and return the scores by which documents are ranked."""
        scores = self.learner.new_scores(len(segment.rows), segment.topics)
        self.learner.follow(segment, scores)
        return scores

    def forget(self, keep: Longs) -> None:
        """Drop the weights of other terms."""
        self.learner.forget(keep)

    def result(self) -> Result:
        """The measures, the size of the model, and the learning curve."""
        result = {**super().result(), "model_bytes": self.learner.size_bytes()}
        return {**result, "curve": learning_curve(self.curve)} if self.is_online else result


class LearnerGroup:
    """Learners that see documents as the same vectors."""

    def __init__(
        self, vectors: Vectors, learners: Sequence[StreamLearner], topics: Sequence[str]
    ) -> None:
        self.vectors = vectors
        self.learners = learners
        self._topics = topics
        self._norms = {learner.norm for learner in self.learners}

    def learn(self, block: Block, pool: ThreadPoolExecutor) -> None:
        """Let all learners rank and learn a block."""
        for piece in self._pieces(block):
            if piece.keep is not None:
                for learner in self.learners:
                    learner.forget(piece.keep)
            shared = self._shared(piece, rounds(piece.labels, len(self._topics)))
            list(pool.map(lambda one, by=shared: one.learn(by[one.norm]), self.learners))

    def end_of_training(self) -> None:
        """Freeze the statistics and finish the models."""
        self.vectors.vocabulary.freeze()
        for learner in self.learners:
            learner.end_of_training()

    def rank(self, block: Block, pool: ThreadPoolExecutor) -> None:
        """Let all learners rank a block of test documents."""
        for piece in self._pieces(block):
            answers = rounds(piece.labels, len(self._topics))
            shared = self._shared(piece, ranking_steps(piece.labels, len(self._topics)))
            list(
                pool.map(lambda one, by=shared, a=answers: one.rank(by[one.norm], a), self.learners)
            )

    def _pieces(self, block: Block) -> Iterator[Piece]:
        return self.vectors.pieces(block, labels_of(block, self._topics))

    def _shared(self, piece: Piece, steps: Steps) -> dict[str, Segment]:
        segment = Segment(piece.rows, steps, piece.terms, len(self._topics))
        return share(segment, self._norms).by_norm


def run_groups(
    groups: Sequence[LearnerGroup], training: Iterable[Block], testing: Iterable[Block]
) -> None:
    """Train all learners in one pass, then test them."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for block in training:
            for group in groups:
                group.learn(block, pool)
        for group in groups:
            group.end_of_training()
        for block in testing:
            for group in groups:
                group.rank(block, pool)


def results_of(groups: Sequence[LearnerGroup]) -> dict[str, Result]:
    """The results of all learners, by the key of the method."""
    return {learner.method.key: learner.result() for group in groups for learner in group.learners}
