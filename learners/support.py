"""Kernel learners: a model as the list of its updates, at most a budget of them.

A learner that only ever adds multiples of instances to its vectors needs no vectors: the score of
column c is `sum_i a_ic K(x_i, x)`, over the instances x_i that it has learned from and their
coefficients. `kernel=poly2` is `K(x, z) = (x . z + 1)^2`, as in the experiments of Crammer and
Singer (2001): all products of two features count as features, and so do the features themselves
and a constant.

Such a list grows with every update, and the cost of a score with it. So there is a budget, and when
one instance too many is there the **oldest** is removed. What could be chosen instead is the one
whose removal moves the model least (coefficient times length). But the updates of these learners
are hardly smaller late than early, so that rule keeps for good what was learned when everything was
wrong and throws out each update at the next one: such a model stops learning. With the oldest
going, a model is always made of its last updates, follows a stream that drifts, and no scale of
features has a say in it. Thresholds and rounds stay as they are when an instance goes.

With averaging, scores are those of the mean of the models after each round so far; and once
instances go, of the rounds since the oldest one of the present model was learned. That mean is
exact: for it as many instances again are kept after they have left the model, since they were part
of it in some of these rounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from learners.jit import njit
from learners.learner import Option, State
from learners.segment import Floats, Ints, Longs, Rows, Segment

KERNELS = ("linear", "poly2")
KERNEL = Option("kernel", "linear", "poly2: (x.z + 1)^2, products of two features", choices=KERNELS)
BUDGET = Option("budget", 1000, "instances kept with poly2; the oldest goes", least=1, most=10**6)

# Squares of the largest products are infinite; this many times any coefficient is not.
LARGEST_SIMILARITY = 1e150
STEPS_AT_ONCE = 1024


class SupportArrays(NamedTuple):
    """What kernels see: instances and coefficients, of which those in the window are in use."""

    window: Longs  # the first slot in use, and the one behind the last
    starts: Longs
    terms: Ints
    values: Floats
    coefficients: Floats  # slots x columns
    born: Longs  # rounds learned before each
    passed: Floats  # slots x thresholds: sums of the thresholds after each of these rounds
    work: Floats  # as long as there are terms; zero between any two calls


@njit
def first_of_model(window: Longs, budget: int) -> int:
    """The slot of the oldest instance of the present model."""
    return int(max(window[0], window[1] - budget))


@njit
def rounds_before_mean(supports: SupportArrays, budget: int) -> int:
    """How many rounds, from the first on, are not in the mean."""
    first, last = supports.window
    return int(supports.born[last - budget]) if last - first > budget else 0


@njit
def score_supports(
    terms: Ints,
    values: Floats,
    supports: SupportArrays,
    columns: int,
    budget: int,
    rounds: int,
    scores: Floats,
    mean: Floats,
) -> None:
    """Write the scores of the first columns, summed from the oldest instance to the newest.

    Those of the mean of the models as well, if there is room for it and there are rounds.
    """
    for i in range(len(terms)):
        supports.work[terms[i]] = values[i]
    scores[:columns] = 0.0
    mean[:columns] = 0.0
    model = first_of_model(supports.window, budget)
    before = rounds_before_mean(supports, budget)
    for slot in range(supports.window[0] if len(mean) else model, supports.window[1]):
        product = 0.0
        for j in range(supports.starts[slot], supports.starts[slot + 1]):
            product += supports.values[j] * supports.work[supports.terms[j]]
        similarity = min((product + 1.0) * (product + 1.0), LARGEST_SIMILARITY)
        coefficients = supports.coefficients[slot]
        if len(mean):
            # In how many of the rounds of the mean it was part of the model.
            left = rounds - supports.born[slot]
            if slot < model:
                left = supports.born[slot + budget] - before
            for c in range(columns):
                mean[c] += left * (similarity * coefficients[c])
        if slot >= model:
            for c in range(columns):
                scores[c] += similarity * coefficients[c]
    if len(mean) and rounds > 0:
        for c in range(columns):
            mean[c] /= rounds - before
    for i in range(len(terms)):
        supports.work[terms[i]] = 0.0


@njit
def add_support(
    terms: Ints,
    values: Floats,
    tau: Floats,
    columns: int,
    rounds: int,
    passed: Floats,
    kept: int,
    supports: SupportArrays,
) -> None:
    """Put an instance behind the last, room for which was made; past `kept` the first one goes."""
    slot = supports.window[1]
    start = supports.starts[slot]
    stop = start + len(terms)
    supports.terms[start:stop] = terms
    supports.values[start:stop] = values
    supports.starts[slot + 1] = stop
    supports.coefficients[slot, :columns] = tau[:columns]
    supports.coefficients[slot, columns:] = 0.0
    supports.born[slot] = rounds
    supports.passed[slot] = passed
    supports.window[1] = slot + 1
    if slot + 1 - supports.window[0] > kept:
        supports.window[0] += 1


class InUse(NamedTuple):
    """The instances in use, from the first slot on."""

    rows: Rows
    coefficients: Floats
    born: Longs
    passed: Floats


class Supports:
    """Instances with coefficients, from the oldest to the newest, in one run of memory.

    New ones are put behind the last; when the room ends, those in use move to its beginning. Room
    is for twice the budget or so, hence that costs as much as scoring does, at worst.
    """

    def __init__(self, thresholds: int = 0) -> None:
        self.columns = 0
        self._thresholds = thresholds
        self._lay_out(0, 0, 0)

    def _lay_out(self, slots: int, numbers: int, columns: int) -> None:
        self.arrays = SupportArrays(
            np.zeros(2, np.int64),
            np.zeros(slots + 1, np.int64),
            np.zeros(numbers, np.int32),
            np.zeros(numbers),
            np.zeros((slots, columns)),
            np.zeros(slots, np.int64),
            np.zeros((slots, self._thresholds)),
            np.zeros(0),
        )

    def pieces(self, segment: Segment) -> Iterator[Segment]:
        """The segment in pieces, with room made for each: so room depends on no length of it."""
        lengths = np.diff(segment.rows.starts)
        self.columns = max(self.columns, segment.topics)
        for start in range(0, len(segment.steps), STEPS_AT_ONCE):
            piece = segment.between(start, min(start + STEPS_AT_ONCE, len(segment.steps)))
            learned = piece.steps.row[piece.steps.learn]
            self._make_room(len(learned), int(lengths[learned].sum()), segment.terms)
            yield piece

    def _make_room(self, more: int, numbers: int, terms: int) -> None:
        last = int(self.arrays.window[1])
        slots, columns = self.arrays.coefficients.shape
        if (
            last + more > slots
            or self.arrays.starts[last] + numbers > len(self.arrays.terms)
            or self.columns > columns
        ):
            used = self._in_use()
            if self.columns > columns:
                columns = max(self.columns, 2 * columns)
            rows = used.rows
            self._lay_out(2 * (len(rows) + more), 2 * (len(rows.terms) + numbers), columns)
            self._fill(used)
        if terms > len(self.arrays.work):
            self.arrays = self.arrays._replace(work=np.zeros(2 * terms))

    def _in_use(self) -> InUse:
        """What is in the window, as copies."""
        arrays, (first, last) = self.arrays, self.arrays.window
        starts = arrays.starts[first : last + 1]
        numbers, slots = slice(starts[0], starts[-1]), slice(first, last)
        return InUse(
            Rows(starts - starts[0], arrays.terms[numbers].copy(), arrays.values[numbers].copy()),
            arrays.coefficients[slots, : self.columns].copy(),
            arrays.born[slots].copy(),
            arrays.passed[slots].copy(),
        )

    def _fill(self, used: InUse) -> None:
        """Have these in use, from the first slot on; there is room for them."""
        arrays, rows = self.arrays, used.rows
        count, numbers = len(rows), len(rows.terms)
        arrays.window[:] = 0, count
        arrays.starts[: count + 1] = rows.starts
        arrays.terms[:numbers] = rows.terms
        arrays.values[:numbers] = rows.values
        arrays.coefficients[:count, : used.coefficients.shape[1]] = used.coefficients
        arrays.born[:count] = used.born
        arrays.passed[:count] = used.passed

    def forget(self, keep: Longs) -> None:
        """Instances lose the terms that left the vocabulary: new term i is the old `keep[i]`."""
        used = self._in_use()
        self._fill(used._replace(rows=used.rows.restricted(keep)))

    def state(self) -> State:
        """The instances in use, with all that scores depend on."""
        rows, coefficients, born, passed = self._in_use()
        return {
            "support_starts": rows.starts,
            "support_terms": rows.terms,
            "support_values": rows.values,
            "support_coefficients": coefficients,
            "support_rounds": born,
            "support_passed": passed,
        }

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` gave."""
        rows = Rows(
            state["support_starts"].astype(np.int64),
            state["support_terms"].astype(np.int32),
            state["support_values"].astype(np.float64),
        )
        coefficients = state["support_coefficients"].astype(np.float64)
        born = state["support_rounds"].astype(np.int64)
        passed = state["support_passed"].astype(np.float64)
        self.columns = coefficients.shape[1]
        self._lay_out(len(rows), len(rows.terms), self.columns)
        self._fill(InUse(rows, coefficients, born, passed))

    @property
    def nbytes(self) -> int:
        """Memory of what is in use."""
        return sum(array.nbytes for array in self.state().values())
