"""The contract of all learners."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats, Ints, Longs
from learners.options import Option
from learners.scores import DenseScores, LabelKind, RowScores
from learners.segment import Segment
from learners.update_rule import UpdateRule
from learners.weight_rows import WeightRows, nonzero_weights

State = dict[str, npt.NDArray[np.generic]]


class TopicAxis(NamedTuple):
    """Where an array of a state has its topics."""

    axis: int
    width: int = 1  # numbers of each topic, side by side


class Learner(ABC):
    """Ranks and learns the steps of a segment in order, and shows its state as named arrays.

    Constructor arguments are the options, stored under their own names. `follow` is the only
    way in. It works on whole segments, and cutting a segment in two changes nothing.

    What differs between kinds of learners is said by the attributes below, so nobody needs to ask
    for the class of a learner.
    """

    options: ClassVar[tuple[Option, ...]] = ()
    summary: ClassVar[str] = ""
    norm: str = "none"  # of the vectors, unless the lane's spec has another
    scores_class: ClassVar[type[RowScores]] = DenseScores  # what it writes; see `new_scores`
    has_sparse_model: ClassVar[bool] = False  # memory does not grow with terms x topics
    combines_lanes: ClassVar[bool] = False  # it learns from the scores of other lanes
    # Whether what a topic learns does not depend on other topics. Then shards learn alone.
    independent_topics: ClassVar[bool] = False
    # Why it cannot be divided into shards, and what to do; empty if it can.
    unshardable: ClassVar[str] = "what a topic learns depends on many other topics."
    ranks: int = 0  # how many ranks it tells apart; 0 if it learns topics
    # Why its scores are not sums over the terms of a document; empty if they are.
    nonlinear: str = ""
    # How many threads may work on one segment; 0: one per core that the process may use. Results do
    # not depend on it. Whoever runs several learners at the same time divides the cores.
    threads: int = 0
    # What its weights are multiplied by: the values of terms, those above 0, or 1 for each of them.
    weighs: ClassVar[Literal["values", "positive values", "presence"]] = "values"

    @classmethod
    def label_kind(cls) -> LabelKind:
        """The kind of label that it learns from."""
        return cls.scores_class.label_kind

    @property
    def update_rule(self) -> UpdateRule | None:
        """How it moves its prototypes, if topics depend on each other only by this; else None."""
        return None

    @property
    def topic_axes(self) -> dict[str, TopicAxis]:
        """The arrays of its state that have topics; the others do not depend on topics.

        Empty if it is unshardable.
        """
        return {}

    def number_topics(self, first: int, step: int) -> None:  # noqa: B027
        """Take topic i for topic `first + i * step` of a lane that is divided into shards.

        Called before anything is learned. It matters where random numbers depend on the topic.
        """

    def new_scores(self, rows: int, topics: int) -> RowScores:
        """Room for its scores of this many rows, of this many topics each."""
        return self.scores_class.new(rows, topics)

    def stored_scores(self, known: Longs) -> Longs:
        """How many scores documents keep that wait for labels, by the topics known to each."""
        return known

    def scored_topics(self, topics: int) -> int:
        """How many scores of a document it writes, at most, if there are this many topics."""
        return topics

    @abstractmethod
    def follow(self, segment: Segment, scores: RowScores, others: Sequence[RowScores] = ()) -> None:
        """Take the steps of `segment` in order.

        A ranking step writes the scores of the topics known then to its row of `scores`, before
        any label of that row is used. Rows that are only learned (late labels) are left alone.
        `scores` comes from `new_scores`; any other kind is a ScoresMismatchError. `others` are the
        scores of the lanes that this learner combines: none unless it `combines_lanes`.
        """

    def warm_up(self) -> None:  # noqa: B027
        """Compile the kernels that only large segments need."""

    @abstractmethod
    def forget(self, keep: Longs) -> None:
        """Drop the terms that left the vocabulary: new term i is the old term `keep[i]`."""

    @abstractmethod
    def state(self) -> State:
        """Everything that learning depends on, as named arrays (copies)."""

    @abstractmethod
    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` gave.

        The state comes from outside the process. If it is not one that `state` can give, this
        raises `InvalidArrayError` before any kernel sees it.
        """

    def check_references(self, terms: int, topics: int, others: int = 0) -> None:  # noqa: B027
        """Raise `InvalidArrayError` if its state does not fit a stream of this size.

        Called after `restore` with the terms and topics (or ranks) of the stream, and the number of
        lanes that it combines. A kernel would use a larger number as an index all the same.
        """

    def weights_of(self, terms: Ints, topics: Longs) -> Floats | None:
        """What it multiplies these terms by when it scores these topics: terms x topics.

        None if a score is not a sum over the terms of the document, so that no term explains it.
        """
        return None

    @property
    def weight_shape(self) -> tuple[int, int]:
        """How many terms and columns its matrix of weights has; all other weights are 0.

        Columns are topics. An ordinal learner has one for each rank, or a single one.
        """
        return 0, 0

    def ranking_weights(self, terms: Longs) -> WeightRows | None:
        """The weights that it ranks with, one row for each of these terms.

        The score of a column is the sum of value times weight, plus its bias: see `weighs` and
        `biases`. None if scores are not such sums: see `nonlinear`.
        """
        rows, columns = self.weight_shape
        known = terms < rows
        weights = self.weights_of(terms[known].astype(np.int32), np.arange(columns))
        return None if weights is None else nonzero_weights(weights, known)

    def biases(self, columns: int) -> Floats:
        """What the score of each column has in it whatever the terms are."""
        return np.zeros(columns)

    @property
    def ranking_thresholds(self) -> Floats:
        """The thresholds that turn its score into a rank; empty if it has none."""
        return np.zeros(0)

    def contributions(self, terms: Ints, values: Floats, topics: Longs) -> Floats | None:
        """What each term of a document adds to the scores of these topics: terms x topics.

        All together they are the score. None if terms do not explain it.
        """
        weights = self.weights_of(terms, topics)
        return None if weights is None else values[:, None] * weights

    def sizes(self) -> dict[str, float]:
        """What besides its bytes says how large the model is, by name, if there is anything."""
        return {}

    def timings(self) -> dict[str, float]:
        """Seconds spent so far, by what for, if there is anything to tell apart."""
        return {}

    @abstractmethod
    def size_bytes(self) -> int:
        """Memory of the model's arrays, as far as they are in use."""

    def max_bytes(self, terms: int, topics: int) -> int:
        """The most that `size_bytes` can be with this many terms and topics.

        Most learners have one or two numbers per term and topic: the second is for the averaging
        sum, or the variance.
        """
        return 2 * 8 * (terms + 1) * (topics + 1)
