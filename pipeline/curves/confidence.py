"""Is one lane better than another? Differences in loss, with confidence intervals.

The difference in loss of every two lanes is added up round by round. Its mean has a confidence
interval that stays valid however often you look: you may look after every round, and stop when the
answer is clear. The error probability stays at most 1 - `CONFIDENCE`.

This is the empirical-Bernstein confidence sequence of Howard, Ramdas, McAuliffe and Sekhon (2021,
theorem 4), used as Choe and Ramdas (2021) use it to compare forecasters. Let `d_i`, within
[-1, 1], be the difference in round i, `m_i` its expectation given all that came before, and `c_i`
the mean of `d_1 .. d_(i-1)`. For every `a` from 0 to 1/2, with `psi(a) = (-ln(1 - 2a) - 2a) / 4`,

    exp(a * sum (d_i - m_i)  -  psi(a) * sum (d_i - c_i)^2)

is a supermartingale whatever the stream does, and so is any mixture of it over several `a`. By
Ville's inequality the mixture ever reaches 1/alpha with probability alpha at most. Solved for
`sum (d_i - m_i)`, this is a bound that depends on the second sum only. So the interval covers the
mean of the `m_i`: the expected difference, averaged over the rounds so far. The stream need not be
stationary.

This needs losses with a bound that is known beforehand: loss1 and loss3. The bound of loss2 grows
with the topics; loss3 is loss2 divided by the bound of its own round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from learners.arrays import Floats
from learners.jit import njit
from learners.measures import LOSS1, LOSS3, MEASURES

CONFIDENCE = 0.95  # probability that no interval of a run, for any pair and loss, is ever wrong
COMPARED = (LOSS1, LOSS3)
LOSSES = tuple(MEASURES[column] for column in COMPARED)

# Per pair and loss: the rounds, the sum of the differences, and the sum of their squared distances
# from the mean of the rounds before.
ROUNDS, SUM, SPREAD = range(3)

# The mixture: values of `a`, each a quarter larger than the next, from near the end of the range
# down to the values that a billion rounds need. The weights are those of Howard et al. for bounds
# that are tight at every time (the mass of 1 / (x ln(e/x)^1.4) in each step); nothing is tuned.
STEP, STEPS, LARGEST, POWER = 1.25, 48, 0.45, 0.4
_BEFORE = 1.0 + np.arange(STEPS + 1) * np.log(STEP)
WEIGHTS = _BEFORE[:-1] ** -POWER - _BEFORE[1:] ** -POWER
WEIGHTS /= WEIGHTS.sum()
RATES = LARGEST * STEP ** -(np.arange(STEPS) + 0.5)
PSI = (-np.log1p(-2.0 * RATES) - 2.0 * RATES) / 4.0


@njit
def follow_differences(measured: Floats, tallies: Floats) -> None:
    """Add rounds to the tallies of all pairs of lanes.

    `measured` is lanes x rounds x measures. `tallies` is lanes x lanes x losses x 3; a pair is
    stored at [later lane, earlier lane].
    """
    for later in range(len(measured)):
        for earlier in range(later):
            for place in range(len(COMPARED)):
                column = COMPARED[place]
                tally = tallies[later, earlier, place]
                rounds, total, spread = tally[ROUNDS], tally[SUM], tally[SPREAD]
                for i in range(measured.shape[1]):
                    difference = measured[earlier, i, column] - measured[later, i, column]
                    off = difference - total / max(rounds, 1.0)
                    rounds += 1.0
                    total += difference
                    spread += off * off
                tally[ROUNDS], tally[SUM], tally[SPREAD] = rounds, total, spread


def arranged(tallies: Floats, places: Sequence[int]) -> Floats:
    """Return the tallies of some lanes, in the given order."""
    chosen = no_tallies(len(places))
    for later, later_place in enumerate(places):
        for earlier, earlier_place in enumerate(places[:later]):
            chosen[later, earlier] = tallies[
                max(later_place, earlier_place), min(later_place, earlier_place)
            ]
            if later_place < earlier_place:  # the later lane of the pair is now the earlier one
                chosen[later, earlier, :, SUM] = 0.0 - chosen[later, earlier, :, SUM]
    return chosen


def no_tallies(lanes: int) -> Floats:
    """Return the tallies of lanes before their first round."""
    return np.zeros((lanes, lanes, len(COMPARED), 3))


def boundary(spread: Floats, alpha: float) -> Floats:
    """Return an upper bound of sum (d_i - m_i) that is ever exceeded with probability `alpha`.

    It holds for all rounds together; `spread` is the sum of squares by then.
    """
    goal = -np.log(alpha)
    own = np.log(WEIGHTS) - PSI * spread[..., None]
    # Where one term alone reaches the goal, the mixture is past it. The mixture is convex, so that
    # Newton's steps come down from there and never overshoot to the unsafe side.
    bound: Floats = ((goal - own) / RATES).min(axis=-1)
    for _ in range(12):
        terms = own + RATES * bound[..., None]
        most = terms.max(axis=-1)
        shares = np.exp(terms - most[..., None])
        total = shares.sum(axis=-1)
        bound = bound - (most + np.log(total) - goal) * total / (shares @ RATES)
    return bound


class LossDifference(NamedTuple):
    """The mean difference in loss between two lanes, with its confidence interval."""

    rounds: int
    mean: float | None  # None before the first round
    low: float
    high: float

    def turned(self) -> LossDifference:
        """Return the difference with the two lanes exchanged."""
        mean = None if self.mean is None else 0.0 - self.mean
        return LossDifference(self.rounds, mean, 0.0 - self.high, 0.0 - self.low)


class LaneDifferences:
    """The differences in loss between every two lanes of a lane group."""

    def __init__(
        self,
        lanes: int,
        losses: Sequence[str] = LOSSES,
        spans: Sequence[float] = (1.0, 1.0),
    ) -> None:
        self.tallies = no_tallies(lanes)
        self.losses = losses  # names of the compared losses
        self.spans = spans  # their largest values; columns hold losses divided by these

    def follow(self, measured: Sequence[Floats]) -> None:
        """Add rounds; `measured` has the measures of each lane, one row per round."""
        if len(measured) > 1 and len(measured[0]):
            follow_differences(np.stack(measured), self.tallies)

    def copy(self) -> LaneDifferences:
        """Return a copy that does not change."""
        return self.of(range(len(self.tallies)))

    def of(self, places: Sequence[int]) -> LaneDifferences:
        """Return the differences between some lanes, in this order."""
        some = LaneDifferences(0, self.losses, self.spans)
        some.tallies = arranged(self.tallies, places)
        return some

    def append(self, other: LaneDifferences, places: Sequence[int]) -> None:
        """Add the lanes of another object; new lanes come after the present ones.

        `places` are the new indices of its lanes. If both objects have a pair, the longer history
        is kept. Two lanes that were never in one object are compared from now on, because their
        losses in the rounds before are no longer known.
        """
        own = len(self.tallies)
        both = no_tallies(max(own, 1 + max(places, default=-1)))
        ordered = sorted(range(len(places)), key=places.__getitem__)
        theirs = [places[place] for place in ordered]
        both[np.ix_(theirs, theirs)] = arranged(other.tallies, ordered)
        longer = both[:own, :own, :, ROUNDS] > self.tallies[..., ROUNDS]
        both[:own, :own] = np.where(longer[..., None], both[:own, :own], self.tallies)
        self.tallies = both

    def arrange(self, places: Sequence[int]) -> None:
        """Reorder the lanes."""
        self.tallies = arranged(self.tallies, places)

    @property
    def statements(self) -> int:
        """The number of intervals: one per pair of lanes and loss."""
        lanes = len(self.tallies)
        return lanes * (lanes - 1) // 2 * len(COMPARED)

    def between(self, one: int, other: int, among: int | None = None) -> dict[str, LossDifference]:
        """Return the differences of two lanes by loss: loss of `one` minus loss of `other`.

        All intervals hold together; `among` is their number if there are more than in this object.
        """
        sign = 1.0 if one < other else -1.0
        tallies = self.tallies[max(one, other), min(one, other)]
        bounds = boundary(tallies[:, SPREAD], (1.0 - CONFIDENCE) / (among or self.statements) / 2)
        differences = {}
        losses = zip(self.losses, self.spans, tallies, bounds, strict=True)
        for loss, span, (rounds, total, _), bound in losses:
            if not rounds:
                differences[loss] = LossDifference(0, None, -span, span)
                continue
            mean, margin = float(sign * total / rounds), float(bound / rounds)
            low, high = max(-1.0, mean - margin), min(1.0, mean + margin)
            differences[loss] = LossDifference(int(rounds), span * mean, span * low, span * high)
        return differences


class StreamDifferences:
    """The differences between all lanes of a stream; only lanes of one group have differences."""

    def __init__(self, parts: Sequence[tuple[Sequence[int], LaneDifferences]]) -> None:
        self._parts = parts  # per lane group: indices of its lanes, and their differences

    def copy(self) -> StreamDifferences:
        """Return a copy that does not change."""
        return StreamDifferences([(numbers, group.copy()) for numbers, group in self._parts])

    def between(self, one: int, other: int) -> dict[str, LossDifference]:
        """Return the differences of two lanes by loss; empty if they are of different groups."""
        for numbers, group in self._parts:
            if one in numbers and other in numbers:
                among = sum(part.statements for _, part in self._parts)
                return group.between(numbers.index(one), numbers.index(other), among)
        return {}
