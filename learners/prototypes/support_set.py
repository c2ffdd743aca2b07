"""Kernel models: a model as the list of its updates, at most a budget of them.

A learner whose updates only add multiples of instances to its vectors needs no vectors. The score
of column c is `sum_i a_ic K(x_i, x)`, over the instances x_i that it has learned from and their
coefficients a_ic. `kernel=poly2` is `K(x, z) = (x . z + 1)^2`, as in the experiments of Crammer and
Singer (2001): the features are all products of two features, the features themselves, and a
constant.

Such a list grows with every update, and so does the cost of a score. Therefore there is a budget.
When it is exceeded, the instance with the **smallest coefficients** is removed: the one whose
largest coefficient is smallest in size, and of equals the oldest. The newest instance always stays,
or its round would teach nothing. On the paper's data (means of 8 sequences) the loss per round over
the last 2,000 of 7,000 rounds, with a budget of 1,000 (and of 250), is:

===================================  =============  =============  =====================
removed                              PRank          Widrow-Hoff    multiclass perceptron
===================================  =============  =============  =====================
smallest coefficients                0.47 (0.60)    0.43 (0.71)    0.86 (1.11)
oldest                               0.64 (1.02)    0.72 (0.99)    0.86 (1.11)
what moves the model least, |a| |x|  0.45 (0.61)    0.47 (0.75)    1.31 (1.33)
===================================  =============  =============  =====================

The largest coefficient of the multiclass perceptron is always 1, so its first two rows are equal.
The last rule empties the regions where instances are short. After a reversal of all ranks half-way,
the first rule is no worse than the second either. Thresholds stay as they are when an instance is
removed: nothing else would keep them in order.

With averaging, scores are those of the mean of the models after each round, and that mean is exact:
an instance that has left the model is kept for the rounds in which it was part of the model. Of
such instances, too, there are no more than the budget. When there is one too many, the one that
left first is dropped, and the mean is over the rounds since it left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats, Ints, Longs
from learners.checks import check_extent, check_range, floats, ints, longs, starts
from learners.jit import njit
from learners.learner import State
from learners.options import Option
from learners.segment import Rows, Segment

KERNELS = ("linear", "poly2")
KERNEL = Option("kernel", "linear", "poly2: (x.z + 1)^2, products of two features", choices=KERNELS)
BUDGET = Option(
    "budget", 1000, "instances to keep with poly2; the least important goes", least=1, most=10**6
)

# The square of a very large product is infinite. This value times any coefficient is finite.
LARGEST_SIMILARITY = 1e150
STEPS_AT_ONCE = 1024
HERE, GONE = -1, -2  # values of `SupportArrays.left`
SAVED = (
    "starts", "terms", "values", "coefficients", "sizes", "came", "left", "passed", "before",
    "passed_before",
)  # fmt: skip


class SupportArrays(NamedTuple):
    """Instances with coefficients as kernels see them, in the order in which they came.

    An instance is in the model (`left` is `HERE`), has left it and counts for the mean only (`left`
    is the number of rounds learned before it left), or is `GONE` and will be cleared away.
    """

    taken: Longs  # one number: how many slots are in use
    starts: Longs
    terms: Ints
    values: Floats
    coefficients: Floats  # slots x columns
    sizes: Floats  # the size of the largest coefficient of each instance
    came: Longs  # rounds learned before each instance came
    left: Longs
    passed: Floats  # slots x thresholds: the sum of the thresholds of all rounds before it left
    before: Longs  # one number: how many rounds, from the first on, are not in the mean
    passed_before: Floats  # the sum of the thresholds of those rounds
    work: Floats  # one number per term; all zero between two calls


@njit
def score_supports(
    terms: Ints,
    values: Floats,
    supports: SupportArrays,
    columns: int,
    rounds: int,
    scores: Floats,
    mean: Floats,
) -> None:
    """Write the scores of the first columns, summed in the order in which the instances came.

    Writes the scores of the mean model to `mean` as well, unless `mean` is empty.
    """
    for i in range(len(terms)):
        supports.work[terms[i]] = values[i]
    scores[:columns] = 0.0
    mean[:columns] = 0.0
    before = supports.before[0]
    for slot in range(supports.taken[0]):
        left = supports.left[slot]
        if left == GONE:
            continue
        product = 0.0
        for j in range(supports.starts[slot], supports.starts[slot + 1]):
            product += supports.values[j] * supports.work[supports.terms[j]]
        similarity = min((product + 1.0) * (product + 1.0), LARGEST_SIMILARITY)
        coefficients = supports.coefficients[slot]
        if left == HERE:
            for c in range(columns):
                scores[c] += similarity * coefficients[c]
        if len(mean):
            # The number of rounds of the mean in which the instance was part of the model.
            there = (rounds if left == HERE else left) - max(supports.came[slot], before)
            for c in range(columns):
                mean[c] += there * (similarity * coefficients[c])
    if len(mean) and rounds > before:
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
    supports: SupportArrays,
) -> None:
    """Append an instance; there must be room for it."""
    slot = supports.taken[0]
    start = supports.starts[slot]
    stop = start + len(terms)
    supports.terms[start:stop] = terms
    supports.values[start:stop] = values
    supports.starts[slot + 1] = stop
    supports.coefficients[slot, :columns] = tau[:columns]
    supports.coefficients[slot, columns:] = 0.0
    size = 0.0
    for c in range(columns):
        size = max(size, abs(tau[c]))
    supports.sizes[slot] = size
    supports.came[slot] = rounds
    supports.left[slot] = HERE
    supports.passed[slot] = 0.0
    supports.taken[0] = slot + 1


@njit
def keep_budget(
    budget: int, rounds: int, average: bool, passed: Floats, supports: SupportArrays
) -> None:
    """After an instance was added, remove the smallest one if there are more than the budget.

    With `average` it leaves the model, and the instance that left first is dropped if too many have
    left. `passed` is the sum of the thresholds of the rounds so far.
    """
    newest = supports.taken[0] - 1
    here, smallest = 1, newest
    for slot in range(newest):
        if supports.left[slot] == HERE:
            here += 1
            if smallest == newest or supports.sizes[slot] < supports.sizes[smallest]:
                smallest = slot
    if here <= budget:
        return
    if not average:
        supports.left[smallest] = GONE
        return
    supports.left[smallest] = rounds
    supports.passed[smallest] = passed
    away, first = 0, -1
    for slot in range(newest):
        if supports.left[slot] >= 0:
            away += 1
            if first < 0 or supports.left[slot] < supports.left[first]:
                first = slot
    if away > budget:
        supports.before[0] = supports.left[first]
        supports.passed_before[:] = supports.passed[first]
        supports.left[first] = GONE


class Supports:
    """Instances with coefficients, in the order in which they came, in contiguous memory.

    New instances are appended. When the room is used up, those that are gone are cleared away. Then
    there is room for twice as many as are left, so that clearing costs less than scoring does.
    """

    def __init__(self, thresholds: int = 0) -> None:
        self.columns = 0
        self._thresholds = thresholds
        self.arrays = self._laid_out(0, 0, 0)

    def _laid_out(self, slots: int, numbers: int, columns: int) -> SupportArrays:
        return SupportArrays(
            taken=np.zeros(1, np.int64),
            starts=np.zeros(slots + 1, np.int64),
            terms=np.zeros(numbers, np.int32),
            values=np.zeros(numbers),
            coefficients=np.zeros((slots, columns)),
            sizes=np.zeros(slots),
            came=np.zeros(slots, np.int64),
            left=np.zeros(slots, np.int64),
            passed=np.zeros((slots, self._thresholds)),
            before=np.zeros(1, np.int64),
            passed_before=np.zeros(self._thresholds),
            work=np.zeros(0),
        )

    def make_room_for(self, segment: Segment) -> Iterator[Segment]:
        """Yield the segment in short pieces, each after room was made for all of its instances."""
        lengths = np.diff(segment.rows.starts)
        self.columns = max(self.columns, segment.topics)
        for start in range(0, len(segment.steps), STEPS_AT_ONCE):
            piece = segment.between(start, min(start + STEPS_AT_ONCE, len(segment.steps)))
            learned = piece.steps.row[piece.steps.learn]
            self._make_room(len(learned), int(lengths[learned].sum()), segment.terms)
            yield piece

    def _make_room(self, more: int, numbers: int, terms: int) -> None:
        arrays = self.arrays
        count = int(arrays.taken[0])
        slots, columns = arrays.coefficients.shape
        if (
            count + more > slots
            or arrays.starts[count] + numbers > len(arrays.terms)
            or self.columns > columns
        ):
            if self.columns > columns:
                columns = max(self.columns, 2 * columns)
            used = self._used()
            slots, numbers = len(used.came) + more, len(used.terms) + numbers
            self.arrays = self._laid_out(2 * slots, 2 * numbers, columns)
            self._fill(used)
        if terms > len(self.arrays.work):
            self.arrays = self.arrays._replace(work=np.zeros(2 * terms))

    def _used(self) -> SupportArrays:
        """All instances that are not gone, as copies without spare room."""
        arrays = self.arrays
        count = int(arrays.taken[0])
        keep = np.flatnonzero(arrays.left[:count] != GONE)
        lengths = np.diff(arrays.starts[: count + 1])
        numbers = np.repeat(arrays.left[:count] != GONE, lengths)
        return SupportArrays(
            taken=np.array([len(keep)]),
            starts=np.concatenate(([0], np.cumsum(lengths[keep]))),
            terms=arrays.terms[: len(numbers)][numbers],
            values=arrays.values[: len(numbers)][numbers],
            coefficients=arrays.coefficients[keep, : self.columns],
            sizes=arrays.sizes[keep],
            came=arrays.came[keep],
            left=arrays.left[keep],
            passed=arrays.passed[keep],
            before=arrays.before.copy(),
            passed_before=arrays.passed_before.copy(),
            work=np.zeros(0),
        )

    def _fill(self, used: SupportArrays) -> None:
        """Write these instances to the first slots; there must be room for them."""
        self.arrays.taken[0] = len(used.came)
        for name in SAVED:
            room, array = getattr(self.arrays, name), getattr(used, name)
            room[tuple(slice(n) for n in array.shape)] = array

    def forget(self, keep: Longs) -> None:
        """Drop the terms that left the vocabulary: new term i is the old term `keep[i]`."""
        used = self._used()
        rows = Rows(used.starts, used.terms, used.values).restricted(keep)
        self._fill(used._replace(starts=rows.starts, terms=rows.terms, values=rows.values))

    def state(self) -> State:
        """The instances, with everything that scores and removals depend on."""
        used = self._used()._asdict()
        return {f"support_{name}": used[name] for name in SAVED}

    def restore(
        self, state: Mapping[str, npt.NDArray[np.generic]], rounds: int, budget: int
    ) -> None:
        """Go on from a state that `state` returned after so many rounds, with this budget."""
        saved = self._checked(state, rounds)
        left = saved["left"]
        for count in (np.count_nonzero(left == HERE), np.count_nonzero(left >= 0)):
            if count > budget:
                raise ValueError(f"support_left has {count} instances, more than {budget}")
        slots, self.columns = saved["coefficients"].shape
        self.arrays = self._laid_out(slots, len(saved["terms"]), self.columns)
        self._fill(self.arrays._replace(**saved))

    def _checked(self, state: Mapping[str, npt.NDArray[np.generic]], rounds: int) -> dict[str, Any]:
        """Return the arrays of a state if they fit together; an instance came before now."""
        terms = ints(state, "support_terms", None)
        coefficients = floats(state, "support_coefficients", None, None)
        slots, now = len(coefficients), max(rounds, 1)
        return {
            "starts": starts(state, "support_starts", len(terms), slots),
            "terms": terms,
            "values": floats(state, "support_values", len(terms)),
            "coefficients": coefficients,
            "sizes": floats(state, "support_sizes", slots),
            "came": longs(state, "support_came", slots, below=now),
            "left": longs(state, "support_left", slots, least=HERE, below=now),
            "passed": floats(state, "support_passed", slots, self._thresholds),
            "before": longs(state, "support_before", 1, below=now),
            "passed_before": floats(state, "support_passed_before", self._thresholds),
        }

    def check_references(self, terms: int, columns: int) -> None:
        """The terms of the instances are in the vocabulary, and no column is too many."""
        check_range("support_terms", self.arrays.terms, 0, terms)
        check_extent("support_coefficients", self.columns, columns, "columns")

    @property
    def nbytes(self) -> int:
        """Memory of the instances in use."""
        return sum(array.nbytes for array in self._used())


def max_instance_bytes(budget: int, terms: int, columns: int) -> int:
    """The most that a budget of instances takes: with all terms, and as many again that are gone.

    An instance has a number and a value per term, a coefficient per column, and four numbers.
    """
    return 2 * (budget + 1) * (12 * terms + 8 * (columns + 4)) + 16 * terms
