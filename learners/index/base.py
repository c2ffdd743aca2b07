"""An index from features to classes, as sparse lists of connections, heaviest first.

Every feature votes for the classes of its list by its value in the document. A document costs what
its features have connections, however many classes there are, and the memory follows the number of
connections.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from learners.arrays import Bools, Floats, Ints, Longs
from learners.jit import njit
from learners.learner import Learner, State
from learners.scores import RowScores, SparseScores
from learners.segment import Segment

LOOKED_AT = 50  # a true class that is not among that many best ones counts as not retrieved
SEEN_WELL = 10.0  # a feature that was seen less often has less of a say
ALL = 2**31 - 1
# Of each feature: where its list begins, its connections, how many there is room for, and in how
# many documents it was learned.
FIRST, COUNT, ROOM, SEEN = range(4)
# Of the index: places in use, connections; and of all rankings: connections touched, features.
USED, CONNECTIONS, TOUCHED, LOOKED_UP = range(4)


@njit
def retrieve(
    terms: Ints, values: Floats, lists: Longs, total: Floats, classes: Ints, weights: Floats,
    d_max: int, least: float, rating: bool, boolean: bool,
    tally: Floats, is_found: Bools, found: Ints,
) -> tuple[int, int]:  # fmt: skip
    """Let the features vote; returns how many classes were `found`, and connections touched.

    The scores of the classes are in `tally`.
    """
    retrieved = touched = 0
    for i in range(len(terms)):
        feature, value = terms[i], values[i]
        if value <= 0.0 or lists[feature, COUNT] == 0:
            continue
        vote = 1.0 if boolean else value
        if rating:
            vote *= min(1.0, lists[feature, SEEN] / SEEN_WELL)
        start = lists[feature, FIRST]
        for j in range(start, start + min(lists[feature, COUNT], d_max)):
            share = weights[j] / total[feature]
            if share < least:
                break  # those behind it are no heavier
            touched += 1
            chosen = classes[j]
            if not is_found[chosen]:
                is_found[chosen] = True
                found[retrieved] = chosen
                retrieved += 1
            tally[chosen] += vote * share
    return retrieved, touched


@njit
def to_strengthen(
    tally: Floats, found: Ints, retrieved: int, relevant: Ints, is_relevant: Bools,
    margin: float, chosen: Bools,
) -> bool:  # fmt: skip
    """Mark the relevant classes that lead the best wrong one by no more than the margin."""
    for c in relevant:
        is_relevant[c] = True
    best_wrong = 0.0
    for i in range(retrieved):
        if not is_relevant[found[i]]:
            best_wrong = max(best_wrong, tally[found[i]])
    for c in relevant:
        is_relevant[c] = False
    some = False
    for number in range(len(relevant)):
        c = relevant[number]
        better = 0
        for i in range(retrieved):
            other = found[i]
            better += tally[other] > tally[c] or (tally[other] == tally[c] and other < c)
        score = tally[c] if better < LOOKED_AT else 0.0
        chosen[number] = score - best_wrong <= margin
        some |= chosen[number]
    return some


@njit
def strengthen(
    feature: int, chosen: int, gain: float, total_gain: float, lists: Longs, total: Floats,
    classes: Ints, weights: Floats, sizes: Longs, w_min: float, leak: bool, memory: float,
) -> None:  # fmt: skip
    """Add to a connection, and drop those that have become too light."""
    mine = lists[feature]
    start, count = mine[FIRST], mine[COUNT]
    place = start
    while place < start + count and classes[place] != chosen:
        place += 1
    if place == start + count:
        if count == mine[ROOM]:
            mine[FIRST], mine[ROOM] = sizes[USED], max(2, 2 * count)
            for i in range(count):
                classes[mine[FIRST] + i] = classes[start + i]
                weights[mine[FIRST] + i] = weights[start + i]
            start = mine[FIRST]
            sizes[USED] += mine[ROOM]
        place = start + count
        classes[place], weights[place] = chosen, 0.0
        mine[COUNT] += 1
        sizes[CONNECTIONS] += 1
    total[feature] += total_gain
    weight = weights[place] + gain
    while place > start and weights[place - 1] < weight:  # of equal ones the elder stays in front
        classes[place], weights[place] = classes[place - 1], weights[place - 1]
        place -= 1
    classes[place], weights[place] = chosen, weight
    last = start + mine[COUNT] - 1
    while last >= start and weights[last] / total[feature] < w_min:
        if not leak:
            total[feature] -= weights[last]
        mine[COUNT] -= 1
        sizes[CONNECTIONS] -= 1
        last -= 1
    if 0.0 < memory < total[feature]:
        kept = memory / total[feature]
        for i in range(start, last + 1):
            weights[i] *= kept
        total[feature] = memory


@njit
def emit(
    row: int, retrieved: int, tally: Floats, found: Ints, starts: Longs, stops: Longs,
    out_found: Ints, out_scores: Floats, used: int,
) -> tuple[Ints, Floats, int]:  # fmt: skip
    """Write the retrieved classes of a row behind those of other rows, wherever there is room."""
    if used + retrieved > len(out_found):
        more = max(len(out_found), retrieved)
        out_found = np.concatenate((out_found, np.empty(more, np.int32)))
        out_scores = np.concatenate((out_scores, np.empty(more)))
    starts[row] = used
    for i in range(retrieved):
        if tally[found[i]] > 0.0:  # a vote may be too small to count
            out_found[used], out_scores[used] = found[i], tally[found[i]]
            used += 1
    stops[row] = used
    return out_found, out_scores, used


@njit
def follow_index(
    starts: Longs, all_terms: Ints, all_values: Floats, step_row: Ints, step_learn: Bools,
    label_starts: Longs, labels: Ints,
    lists: Longs, total: Floats, classes: Ints, weights: Floats, sizes: Longs,
    tally: Floats, is_found: Bools, is_relevant: Bools, found: Ints,
    margin: float, w_min: float, d_max: int, least: float, leak: bool, rating: bool,
    boolean: bool, memory: float, always: bool, counting: bool,
    out_starts: Longs, out_stops: Longs, out_found: Ints, out_scores: Floats, out_used: int,
) -> tuple[Ints, Floats, Ints, Floats, int]:  # fmt: skip
    """Take the steps in order; returns the connections and scores, which may have moved.

    With `always` every label counts, and a document counts once for each of its features.
    """
    for step in range(len(step_row)):
        row = step_row[step]
        terms = all_terms[starts[row] : starts[row + 1]]
        values = all_values[starts[row] : starts[row + 1]]
        retrieved, touched = retrieve(
            terms, values, lists, total, classes, weights, d_max, least, rating, boolean, tally,
            is_found, found,
        )  # fmt: skip
        if not step_learn[step]:
            sizes[TOUCHED] += touched
            for value in values:
                sizes[LOOKED_UP] += value > 0.0
            out_found, out_scores, out_used = emit(
                row, retrieved, tally, found, out_starts, out_stops, out_found, out_scores, out_used
            )
        else:
            relevant = labels[label_starts[step] : label_starts[step + 1]]
            chosen = np.ones(len(relevant), np.bool_)
            if not always:
                to_strengthen(tally, found, retrieved, relevant, is_relevant, margin, chosen)
            for i in range(len(terms)):
                feature, value = terms[i], values[i]
                if value <= 0.0:
                    continue
                gain = 1.0 if boolean else value
                if counting:
                    lists[feature, SEEN] += 1
                if always:
                    total[feature] += gain
                # The feature may have to move its list to where there is room for twice as many,
                # and that again and again as it grows: 2 + 4 + 8 + .. is less than twice the last.
                needed = 4 * (lists[feature, COUNT] + len(relevant))
                if sizes[USED] + needed > len(classes):
                    more = max(len(classes), needed)
                    classes = np.concatenate((classes, np.empty(more, np.int32)))
                    weights = np.concatenate((weights, np.empty(more)))
                for number in range(len(relevant)):
                    if chosen[number]:
                        strengthen(
                            feature, relevant[number], gain, 0.0 if always else gain, lists, total,
                            classes, weights, sizes, w_min, leak, memory,
                        )  # fmt: skip
        for i in range(retrieved):
            tally[found[i]] = 0.0
            is_found[found[i]] = False
    return classes, weights, out_found, out_scores, out_used


@njit
def packed(
    lists: Longs, classes: Ints, weights: Floats, out_classes: Ints, out_weights: Floats
) -> None:
    """Write the connections one after another, feature by feature."""
    at = 0
    for feature in range(len(lists)):
        first = lists[feature, FIRST]
        for i in range(first, first + lists[feature, COUNT]):
            out_classes[at], out_weights[at] = classes[i], weights[i]
            at += 1


class IndexLearner(Learner):
    """A learner that keeps an index; subclasses say when it is updated, and with what."""

    scores_class = SparseScores
    has_sparse_model = True
    margin = 0.0
    w_min = 0.0
    d_max = 0
    least = 0.0
    leak = True
    rating = False
    boolean = True
    memory = 0.0
    always = True

    def __init__(self) -> None:
        self.counting = True  # how often features were seen; off after the first of several passes
        self._terms = 0
        self._lists: Longs = np.zeros((0, 4), np.int64)
        self._total: Floats = np.zeros(0)
        self._classes: Ints = np.empty(0, np.int32)
        self._weights: Floats = np.empty(0)
        self._sizes: Longs = np.zeros(4, np.int64)
        # What a kernel needs to score one document, kept for the next one.
        self._tally: Floats = np.zeros(0)
        self._marks: Bools = np.zeros((2, 0), np.bool_)
        self._found: Ints = np.empty(0, np.int32)

    @property
    def connections(self) -> int:
        """How many connections there are."""
        return int(self._sizes[CONNECTIONS])

    @property
    def touched(self) -> int:
        """Connections that were looked at to rank documents, since the learner was made."""
        return int(self._sizes[TOUCHED])

    @property
    def looked_up(self) -> int:
        """Features of these documents."""
        return int(self._sizes[LOOKED_UP])

    def follow(self, segment: Segment, scores: RowScores, others: Sequence[RowScores] = ()) -> None:
        """Rank and learn the steps of the segment; see `Learner.follow`."""
        out = SparseScores.expect(scores, segment)
        self._grow(segment.terms, segment.topics)
        rows, steps = segment.rows, segment.steps
        self._classes, self._weights, out.retrieved, out.scores, out.used = follow_index(
            rows.starts, rows.terms, rows.values, steps.row, steps.learn, steps.label_starts,
            steps.labels, self._lists, self._total, self._classes, self._weights, self._sizes,
            self._tally, self._marks[0], self._marks[1], self._found,
            self.margin, self.w_min, self.d_max or ALL, self.least, self.leak, self.rating,
            self.boolean, self.memory, self.always, self.counting,
            out.starts, out.stops, out.retrieved, out.scores, out.used,
        )  # fmt: skip
        if self._sizes[USED] > 4 * self.connections + 1024:
            self._load(*self._packed())

    def _grow(self, terms: int, topics: int) -> None:
        """Have room for so many terms and topics, and to spare."""
        self._terms = max(self._terms, terms)
        if (more := self._terms - len(self._lists)) > 0:
            more = max(more, len(self._lists))
            self._lists = np.concatenate((self._lists, np.zeros((more, 4), np.int64)))
            self._total = np.concatenate((self._total, np.zeros(more)))
        if topics > len(self._tally):
            room = max(topics, 2 * len(self._tally))
            self._tally, self._found = np.zeros(room), np.empty(room, np.int32)
            self._marks = np.zeros((2, room), np.bool_)

    def _packed(self) -> tuple[Longs, Ints, Floats]:
        """The connections without room between them: how many of each feature, classes, weights."""
        classes, weights = np.empty(self.connections, np.int32), np.empty(self.connections)
        mine = self._lists[: self._terms]
        packed(mine, self._classes, self._weights, classes, weights)
        return mine[:, COUNT].copy(), classes, weights

    def _load(self, count: Longs, classes: Ints, weights: Floats) -> None:
        mine = self._lists[: self._terms]
        mine[:, COUNT] = mine[:, ROOM] = count
        mine[:, FIRST] = np.cumsum(count) - count
        self._classes, self._weights = classes, weights
        self._sizes[USED] = self._sizes[CONNECTIONS] = len(classes)

    def forget(self, keep: Longs) -> None:
        """Drop the features that left the vocabulary."""
        keep = keep[keep < self._terms]
        self._lists, self._total = self._lists[keep], self._total[keep]
        self._terms = len(keep)
        self._sizes[CONNECTIONS] = self._lists[:, COUNT].sum()
        self._load(*self._packed())

    def state(self) -> State:
        """The index, with the total of each feature and how often it was seen."""
        count, classes, weights = self._packed()
        return {
            "count": count,
            "classes": classes,
            "weights": weights,
            "total": self._total[: self._terms].copy(),
            "seen": self._lists[: self._terms, SEEN].copy(),
        }

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` gave."""
        self._terms = len(state["total"])
        self._total = np.array(state["total"], np.float64)
        self._lists = np.zeros((self._terms, 4), np.int64)
        self._lists[:, SEEN] = state["seen"]
        self._load(
            np.array(state["count"], np.int64),
            np.array(state["classes"], np.int32),
            np.array(state["weights"], np.float64),
        )

    def contributions(self, terms: Ints, values: Floats, topics: Longs) -> Floats:
        """The votes of the document's features."""
        votes = np.zeros((len(terms), len(topics)))
        place = {int(topic): i for i, topic in enumerate(topics)}
        for i, (feature, value) in enumerate(zip(terms, values, strict=True)):
            if value <= 0.0 or feature >= self._terms:
                continue
            start, count, _, seen = self._lists[feature].tolist()
            vote = 1.0 if self.boolean else value
            if self.rating:
                vote *= min(1.0, seen / SEEN_WELL)
            for j in range(start, start + min(count, self.d_max or ALL)):
                share = self._weights[j] / self._total[feature]
                if share >= self.least and (at := place.get(int(self._classes[j]))) is not None:
                    votes[i, at] = vote * share
        return votes

    def sizes(self) -> dict[str, float]:
        """The connections, and how many a feature of a ranked document led to on average."""
        found: dict[str, float] = {"connections": self.connections}
        if self.looked_up:
            found["connections_per_feature"] = self.touched / self.looked_up
        return found

    def size_bytes(self) -> int:
        """Memory of the connections, and of what is kept of each feature."""
        return 12 * self.connections + 40 * self._terms
