"""The base of index learners: each feature keeps a sparse list of weighted connections to classes.

Every feature of a document votes for the classes of its list. With v_f the value of feature f, and
w_fc the share of class c in the total weight of f, the score of a class is::

    s_c = sum over the features f of the document of v_f w_fc

The time per document depends on the connections of its features, not on the number of classes. The
memory depends on the number of connections.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats, Ints, Longs
from learners.checks import (
    InvalidArrayError,
    check_between,
    check_extent,
    check_range,
    floats,
    ints,
    longs,
)
from learners.index.kernel import (
    ALL,
    CONNECTIONS,
    COUNT,
    FIRST,
    LOOKED_UP,
    ROOM,
    SEEN,
    SEEN_WELL,
    TOUCHED,
    USED,
    Index,
    IndexOptions,
    Retrieval,
    follow_index,
    pack,
)
from learners.learner import State
from learners.scores import RowScores
from learners.segment import Segment
from learners.sparse_scores import SparseScores
from learners.topic_learner import TopicLearner
from learners.weight_rows import WeightRows, starts_of

LARGEST_SHARE = 2.0  # of a connection in a snapshot: more than 1 only by rounding


class IndexLearner(TopicLearner):
    """A learner that keeps an index. Subclasses decide when it is updated, and how."""

    scores_class = SparseScores
    has_sparse_model = True
    # The options of `IndexOptions`; a subclass sets those that it has.
    margin = 0.0
    w_min = 0.0
    d_max = 0  # 0: all connections vote
    least_share = 0.0
    leak = True
    rating = False
    boolean = True
    memory = 0.0
    always = True

    def __init__(self) -> None:
        self.counting = True  # count how often features are seen; off after the first pass of many
        self._terms = 0
        self._index = Index(
            np.zeros((0, 4), np.int64),
            np.zeros(0),
            np.empty(0, np.int32),
            np.empty(0),
            np.zeros(4, np.int64),
        )
        self._retrieval = room_for(0)

    @property
    def connections(self) -> int:
        """Number of connections."""
        return int(self._index.sizes[CONNECTIONS])

    @property
    def touched(self) -> int:
        """Number of connections visited in all rankings."""
        return int(self._index.sizes[TOUCHED])

    @property
    def looked_up(self) -> int:
        """Number of features looked up in all rankings."""
        return int(self._index.sizes[LOOKED_UP])

    def follow(self, segment: Segment, scores: RowScores, others: Sequence[RowScores] = ()) -> None:
        """Rank and learn the steps of the segment; see `Learner.follow`."""
        sparse = SparseScores.expect(scores, segment)
        self._grow(segment.terms, segment.topics)
        moved = follow_index(
            segment.rows, segment.steps, self._index, self._options(), self._retrieval,
            sparse.arrays, sparse.used,
        )  # fmt: skip
        self._index = self._index._replace(classes=moved.classes, weights=moved.weights)
        sparse.retrieved, sparse.scores = moved.out_classes, moved.out_scores
        sparse.used = moved.used
        if self._index.sizes[USED] > 4 * self.connections + 1024:
            self._load(*self._packed())

    def _options(self) -> IndexOptions:
        return IndexOptions(
            margin=self.margin,
            w_min=self.w_min,
            d_max=self.d_max or ALL,
            least_share=self.least_share,
            leak=self.leak,
            rating=self.rating,
            boolean=self.boolean,
            memory=self.memory,
            always=self.always,
            counting=self.counting,
        )

    def _grow(self, terms: int, topics: int) -> None:
        """Have room for at least this many terms and topics."""
        self._terms = max(self._terms, terms)
        lists, total, classes, weights, sizes = self._index
        if (more := self._terms - len(lists)) > 0:
            more = max(more, len(lists))
            lists = np.concatenate((lists, np.zeros((more, 4), np.int64)))
            total = np.concatenate((total, np.zeros(more)))
            self._index = Index(lists, total, classes, weights, sizes)
        room = len(self._retrieval.tally)
        if topics > room:
            self._retrieval = room_for(max(topics, 2 * room))

    def _packed(self) -> tuple[Longs, Ints, Floats]:
        """Return the connections per feature, and the classes and weights without gaps."""
        classes, weights = np.empty(self.connections, np.int32), np.empty(self.connections)
        pack(self._index, self._terms, classes, weights)
        return self._index.lists[: self._terms, COUNT].copy(), classes, weights

    def _load(self, count: Longs, classes: Ints, weights: Floats) -> None:
        """Take over what `_packed` returned."""
        lists, total, _, _, sizes = self._index
        used = lists[: self._terms]
        used[:, COUNT] = used[:, ROOM] = count
        used[:, FIRST] = np.cumsum(count) - count
        sizes[USED] = sizes[CONNECTIONS] = len(classes)
        self._index = Index(lists, total, classes, weights, sizes)

    def forget(self, keep: Longs) -> None:
        """Drop the features that left the vocabulary."""
        lists, total, classes, weights, sizes = self._index
        keep = keep[keep < self._terms]
        lists, total = lists[keep], total[keep]
        self._terms = len(keep)
        sizes[CONNECTIONS] = lists[:, COUNT].sum()
        self._index = Index(lists, total, classes, weights, sizes)
        self._load(*self._packed())

    def state(self) -> State:
        """Return the index, with the total of each feature and how often it was seen.

        `visited` has the connections visited and the features looked up in all rankings.
        """
        count, classes, weights = self._packed()
        return {
            "count": count,
            "classes": classes,
            "weights": weights,
            "total": self._index.total[: self._terms].copy(),
            "seen": self._index.lists[: self._terms, SEEN].copy(),
            "visited": self._index.sizes[[TOUCHED, LOOKED_UP]],
        }

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Continue from a state that `state` returned."""
        total = floats(state, "total", None)
        seen = longs(state, "seen", len(total))
        classes = ints(state, "classes", None)
        weights = floats(state, "weights", len(classes))
        count = longs(state, "count", len(total), below=len(classes) + 1)
        if count.sum() != len(classes):
            raise InvalidArrayError(
                f"array count adds up to {count.sum()}, but there are {len(classes)} connections"
            )
        visited = np.zeros(2, np.int64)
        if "visited" in state:  # older snapshots lack it; counting starts here
            visited = longs(state, "visited", 2)
        check_between("weights", weights, 0.0)
        if (total[count > 0] <= 0.0).any():
            raise InvalidArrayError("array total has 0 or less for a feature with connections")
        if (weights / LARGEST_SHARE > np.repeat(total, count)).any():
            raise InvalidArrayError("array weights has a connection heavier than its feature")
        self._terms = len(total)
        lists: Longs = np.zeros((self._terms, 4), np.int64)
        lists[:, SEEN] = seen
        self._index = self._index._replace(lists=lists, total=total.copy())
        self._index.sizes[[TOUCHED, LOOKED_UP]] = visited
        self._load(count, classes.copy(), weights.copy())

    def check_references(self, terms: int, topics: int, others: int = 0) -> None:
        """The features are terms of the stream, and they are connected with its topics."""
        check_extent("total", self._terms, terms, "terms")
        check_range("classes", self._index.classes[: self._index.sizes[USED]], 0, topics)

    @property
    def weighs(self) -> Literal["positive values", "presence"]:  # type: ignore[override]
        """Terms with a value above 0 vote, by their values or all alike."""
        return "presence" if self.boolean else "positive values"

    def ranking_weights(self, terms: Longs) -> WeightRows:
        """The shares of the connections that vote, less if the feature was seldom seen."""
        counts, features = np.zeros(len(terms), np.int64), terms[terms < self._terms]
        lists = self._index.lists[features]
        voting = np.minimum(lists[:, COUNT], self.d_max or ALL)
        row = np.repeat(np.arange(len(features)), voting)
        places = np.arange(len(row)) + np.repeat(lists[:, FIRST] - starts_of(voting)[:-1], voting)
        shares = self._index.weights[places] / self._index.total[features][row]
        is_voting = shares >= self.least_share
        row, places, shares = row[is_voting], places[is_voting], shares[is_voting]
        if self.rating:
            shares = np.minimum(1.0, lists[:, SEEN] / SEEN_WELL)[row] * shares
        columns = self._index.classes[places]
        order = np.lexsort((columns, row))
        counts[terms < self._terms] = np.bincount(row, minlength=len(features))
        return WeightRows(starts_of(counts), columns[order], shares[order])

    def contributions(self, terms: Ints, values: Floats, topics: Longs) -> Floats:
        """Return the votes of the document's features: terms x topics."""
        votes = np.zeros((len(terms), len(topics)))
        column = {int(topic): i for i, topic in enumerate(topics)}
        for i, (feature, value) in enumerate(zip(terms, values, strict=True)):
            if value <= 0.0 or feature >= self._terms:
                continue
            start, count, _, seen = self._index.lists[feature].tolist()
            vote = 1.0 if self.boolean else value
            if self.rating:
                vote *= min(1.0, seen / SEEN_WELL)
            for j in range(start, start + min(count, self.d_max or ALL)):
                share = self._index.weights[j] / self._index.total[feature]
                place = column.get(int(self._index.classes[j]))
                if share >= self.least_share and place is not None:
                    votes[i, place] = vote * share
        return votes

    def sizes(self) -> dict[str, float]:
        """Return the connections, and the mean number visited per feature of a ranked document."""
        sizes: dict[str, float] = {"connections": self.connections}
        if self.looked_up:
            sizes["connections_per_feature"] = self.touched / self.looked_up
        return sizes

    def size_bytes(self) -> int:
        """Return the memory of the connections, and of the entry of each feature."""
        return 12 * self.connections + 40 * self._terms

    def max_bytes(self, terms: int, topics: int) -> int:
        """The shares of a feature's connections add up to 1, so `w_min` limits their number."""
        most = min(topics, math.ceil(1 / self.w_min)) if self.w_min else topics
        return (12 * most + 40) * terms


def room_for(topics: int) -> Retrieval:
    """Return room to retrieve some of this many topics."""
    is_retrieved, is_relevant = np.zeros((2, topics), np.bool_)
    return Retrieval(np.zeros(topics), is_retrieved, is_relevant, np.empty(topics, np.int32))
