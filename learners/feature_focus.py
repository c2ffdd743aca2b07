"""Feature Focus: an index from features to classes (Madani, Connor and Greiner 2010).

Every feature keeps a short list of classes with weights that are shares of its own total, heaviest
first, and votes for them by its value in the document. An update touches the features of the
document and nothing else, so a document costs what its features have connections, however many
classes there are.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from learners.jit import njit
from learners.learner import Learner, Option, State
from learners.segment import Bools, Floats, Ints, Longs, Segment

LOOKED_AT = 50  # a true class that is not among that many best ones counts as not retrieved
SEEN_WELL = 10.0  # a feature that was seen less often has less of a say
ALL = 2**31 - 1


@njit
def retrieve(
    terms: Ints, values: Floats, first: Longs, count: Longs, total: Floats, seen: Longs,
    classes: Ints, weights: Floats, d_max: int, least: float, rating: bool, boolean: bool,
    tally: Floats, is_found: Bools, found: Ints,
) -> int:  # fmt: skip
    """Let the features vote; returns how many classes were `found`, whose scores are in `tally`."""
    retrieved = 0
    for i in range(len(terms)):
        feature, value = terms[i], values[i]
        if value <= 0.0 or count[feature] == 0:
            continue
        vote = 1.0 if boolean else value
        if rating:
            vote *= min(1.0, seen[feature] / SEEN_WELL)
        start = first[feature]
        for j in range(start, start + min(count[feature], d_max)):
            share = weights[j] / total[feature]
            if share < least:
                break  # those behind it are no heavier
            chosen = classes[j]
            if not is_found[chosen]:
                is_found[chosen] = True
                found[retrieved] = chosen
                retrieved += 1
            tally[chosen] += vote * share
    return retrieved


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
    feature: int, chosen: int, gain: float, total_gain: float, used: int, first: Longs,
    count: Longs, room: Longs, total: Floats, classes: Ints, weights: Floats,
    w_min: float, leak: bool, memory: float,
) -> int:  # fmt: skip
    """Add to a connection, and drop those that have become too light; returns the room in use."""
    start = first[feature]
    place = start
    while place < start + count[feature] and classes[place] != chosen:
        place += 1
    if place == start + count[feature]:
        if count[feature] == room[feature]:
            room[feature] = max(2, 2 * room[feature])
            for i in range(count[feature]):
                classes[used + i], weights[used + i] = classes[start + i], weights[start + i]
            start = first[feature] = used
            used += room[feature]
        place = start + count[feature]
        classes[place], weights[place] = chosen, 0.0
        count[feature] += 1
    total[feature] += total_gain
    weight = weights[place] + gain
    while place > start and weights[place - 1] < weight:  # of equal ones the elder stays in front
        classes[place], weights[place] = classes[place - 1], weights[place - 1]
        place -= 1
    classes[place], weights[place] = chosen, weight
    last = start + count[feature] - 1
    while last >= start and weights[last] / total[feature] < w_min:
        if not leak:
            total[feature] -= weights[last]
        count[feature] -= 1
        last -= 1
    if 0.0 < memory < total[feature]:
        kept = memory / total[feature]
        for i in range(start, last + 1):
            weights[i] *= kept
        total[feature] = memory
    return used


@njit
def follow_index(
    starts: Longs, all_terms: Ints, all_values: Floats, step_row: Ints, step_learn: Bools,
    label_starts: Longs, labels: Ints, topics: int,
    first: Longs, count: Longs, room: Longs, total: Floats, seen: Longs,
    classes: Ints, weights: Floats, used: int,
    margin: float, w_min: float, d_max: int, least: float, leak: bool, rating: bool,
    boolean: bool, memory: float, always: bool, out: Floats,
) -> tuple[Ints, Floats, int]:  # fmt: skip
    """Take the steps in order; returns the connections, which may have moved, and the room in use.

    With `always` every label counts, and a document counts once for each of its features.
    """
    tally, found = np.zeros(topics), np.empty(topics, np.int32)
    is_found, is_relevant = np.zeros(topics, np.bool_), np.zeros(topics, np.bool_)
    for step in range(len(step_row)):
        row = step_row[step]
        terms = all_terms[starts[row] : starts[row + 1]]
        values = all_values[starts[row] : starts[row + 1]]
        retrieved = retrieve(
            terms, values, first, count, total, seen, classes, weights, d_max, least, rating,
            boolean, tally, is_found, found,
        )  # fmt: skip
        if not step_learn[step]:
            for i in range(retrieved):
                out[row, found[i]] = tally[found[i]]
        else:
            relevant = labels[label_starts[step] : label_starts[step + 1]]
            chosen = np.ones(len(relevant), np.bool_)
            if not always:
                to_strengthen(tally, found, retrieved, relevant, is_relevant, margin, chosen)
            # Every feature may have to move its list to where there is room for twice as many.
            needed = 0
            for term in terms:
                needed += 2 * (count[term] + len(relevant)) + 2
            if used + needed > len(classes):
                more = max(len(classes), needed)
                classes = np.concatenate((classes, np.empty(more, np.int32)))
                weights = np.concatenate((weights, np.empty(more)))
            for i in range(len(terms)):
                feature, value = terms[i], values[i]
                if value <= 0.0:
                    continue
                gain = 1.0 if boolean else value
                seen[feature] += 1
                if always:
                    total[feature] += gain
                for number in range(len(relevant)):
                    if chosen[number]:
                        used = strengthen(
                            feature, relevant[number], gain, 0.0 if always else gain, used, first,
                            count, room, total, classes, weights, w_min, leak, memory,
                        )  # fmt: skip
        for i in range(retrieved):
            tally[found[i]] = 0.0
            is_found[found[i]] = False
    return classes, weights, used


@njit
def packed(
    first: Longs, count: Longs, classes: Ints, weights: Floats,
    out_classes: Ints, out_weights: Floats,
) -> None:  # fmt: skip
    """Write the connections one after another, feature by feature."""
    at = 0
    for feature in range(len(first)):
        for i in range(first[feature], first[feature] + count[feature]):
            out_classes[at], out_weights[at] = classes[i], weights[i]
            at += 1


class IndexLearner(Learner):
    """A learner that keeps an index; subclasses say when it is updated, and with what."""

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
        self._first: Longs = np.zeros(0, np.int64)
        self._count: Longs = np.zeros(0, np.int64)
        self._room: Longs = np.zeros(0, np.int64)
        self._total: Floats = np.zeros(0)
        self._seen: Longs = np.zeros(0, np.int64)
        self._classes: Ints = np.empty(0, np.int32)
        self._weights: Floats = np.empty(0)
        self._used = 0
        self._topics = 0

    @property
    def connections(self) -> int:
        """How many connections there are."""
        return int(self._count.sum())

    def follow(self, segment: Segment, scores: Floats) -> None:
        """Rank and learn the steps of the segment; see `Learner.follow`."""
        more = max(0, segment.terms - len(self._first))
        for name in ("_first", "_count", "_room", "_total", "_seen"):
            array = getattr(self, name)
            setattr(self, name, np.concatenate((array, np.zeros(more, array.dtype))))
        rows, steps = segment.rows, segment.steps
        self._classes, self._weights, self._used = follow_index(
            rows.starts, rows.terms, rows.values, steps.row, steps.learn, steps.label_starts,
            steps.labels, segment.topics, self._first, self._count, self._room, self._total,
            self._seen, self._classes, self._weights, self._used,
            self.margin, self.w_min, self.d_max or ALL, self.least, self.leak, self.rating,
            self.boolean, self.memory, self.always, scores,
        )  # fmt: skip
        if self._used > 4 * self.connections + 1024:
            self._load(*self._lists())

    def _lists(self) -> tuple[Longs, Ints, Floats]:
        """The connections without room between them: how many of each feature, classes, weights."""
        classes, weights = np.empty(self.connections, np.int32), np.empty(self.connections)
        packed(self._first, self._count, self._classes, self._weights, classes, weights)
        return self._count.copy(), classes, weights

    def _load(self, count: Longs, classes: Ints, weights: Floats) -> None:
        self._count, self._room = count.copy(), count.copy()
        self._first = np.cumsum(count) - count
        self._classes, self._weights = classes.copy(), weights.copy()
        self._used = len(classes)

    def forget(self, keep: Longs) -> None:
        """Drop the features that left the vocabulary."""
        keep = keep[keep < len(self._first)]
        for name in ("_first", "_count", "_room", "_total", "_seen"):
            setattr(self, name, getattr(self, name)[keep])
        self._load(*self._lists())

    def state(self) -> State:
        """The index, with the total of each feature and how often it was seen."""
        count, classes, weights = self._lists()
        return {
            "count": count,
            "classes": classes,
            "weights": weights,
            "total": self._total.copy(),
            "seen": self._seen.copy(),
        }

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` gave."""
        self._total = np.array(state["total"], np.float64)
        self._seen = np.array(state["seen"], np.int64)
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
            if value <= 0.0 or feature >= len(self._first):
                continue
            vote = 1.0 if self.boolean else value
            if self.rating:
                vote *= min(1.0, self._seen[feature] / SEEN_WELL)
            start = int(self._first[feature])
            for j in range(start, start + min(int(self._count[feature]), self.d_max or ALL)):
                share = self._weights[j] / self._total[feature]
                if share >= self.least and (at := place.get(int(self._classes[j]))) is not None:
                    votes[i, at] = vote * share
        return votes

    def size_bytes(self) -> int:
        """Memory of the connections, and of what is kept of each feature."""
        return 12 * self.connections + 40 * len(self._first)


W_MIN = Option(
    "w_min", 0.01, "a connection lighter than this is dropped; 0 drops none", least=0, most=1
)


class FeatureFocus(IndexLearner):
    """Mistake-driven index learning: features are updated when a true class leads by too little."""

    norm = "l2"
    summary = "Feature Focus index learning (Madani, Connor & Greiner 2010)"
    options = (
        Option("margin", 0.0, "a lead of no more than this counts as wrong when learning", least=0),
        Option("w_min", 0.01, "connections lighter than this are dropped", least=0, most=1),
        Option("d_max", 25, "a feature votes with so many connections at most; 0 is all", least=0),
        Option("leak", True, "what is dropped stays in the total of its feature"),
        Option("rating", True, "features that were seen less than ten times vote with less"),
        Option("boolean", False, "every feature of a document has the value 1"),
        Option(
            "memory", 0.0, "the most that the total of a feature may be; 0 is no limit", least=0
        ),
    )
    always = False

    def __init__(
        self,
        margin: float = 0.0,
        w_min: float = 0.01,
        d_max: int = 25,
        leak: bool = True,
        rating: bool = True,
        boolean: bool = False,
        memory: float = 0.0,
    ) -> None:
        super().__init__()
        self.margin = margin
        self.w_min = w_min
        self.d_max = d_max
        self.leak = leak
        self.rating = rating
        self.boolean = boolean
        self.memory = memory


class Independent(IndexLearner):
    """Every feature by itself: the share of its documents that a class has (IND of the paper)."""

    summary = "the share of each class among the documents of a feature (IND, the same paper)"
    options = (Option("p_ind", 0.0, "shares below this have no vote", least=0, most=1),)

    def __init__(self, p_ind: float = 0.0) -> None:
        super().__init__()
        self.p_ind = p_ind
        self.least = p_ind
