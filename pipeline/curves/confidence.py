"""Is one lane better than another? The difference of their losses, and how sure one can be of it.

For every two lanes the difference of their losses is followed round by round. Its mean comes with
an interval that holds at all times at once: one may look after every round, and stop when the
answer is clear, without being fooled more often than the confidence says.

This is the empirical-Bernstein confidence sequence of Howard, Ramdas, McAuliffe and Sekhon (2021,
theorem 4), used as Choe and Ramdas (2021) use it to compare forecasters. Let `d_i`, within
[-1, 1], be the difference in round i, `m_i` its expectation given all that came before, and `c_i`
the mean of `d_1 .. d_(i-1)`. For every `a` from 0 to 1/2, with `psi(a) = (-ln(1 - 2a) - 2a) / 4`,

    exp(a * sum (d_i - m_i)  -  psi(a) * sum (d_i - c_i)^2)

is expected to shrink from round to round whatever the stream does, and so is any mixture of it over
several `a`. By Ville's inequality the mixture ever reaches 1/alpha with probability alpha at
most; turned round, this bounds `sum (d_i - m_i)` by a number that depends on the second sum only.
What the interval covers is therefore the mean of the `m_i`: how much better one lane was to be
expected, on average over the rounds so far. Nothing has to stay the same over time for that.

Only losses with a bound known beforehand can be compared like this: loss1 and loss3. The bound of
loss2 grows with the topics; loss3 is loss2 divided by the bound of its own round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from learners.arrays import Floats
from learners.jit import njit
from learners.measures import LOSS1, LOSS3, MEASURES

CONFIDENCE = 0.95  # that no interval of a run, of any pair and loss, ever misses
COMPARED = (LOSS1, LOSS3)
LOSSES = tuple(MEASURES[column] for column in COMPARED)

# Of a pair and a loss: rounds, the sum of the differences, and the sum of their squared distances
# from the mean before.
ROUNDS, SUM, SPREAD = range(3)

# The mixture: values of `a`, each a quarter larger than the next, from near the end of the range
# down to where a billion rounds need them. They are weighed as Howard et al. do for bounds that are
# good at every time (the mass of 1 / (x ln(e/x)^1.4) in each step), so that nothing is to be tuned.
STEP, STEPS, LARGEST, POWER = 1.25, 48, 0.45, 0.4
_BEFORE = 1.0 + np.arange(STEPS + 1) * np.log(STEP)
WEIGHTS = _BEFORE[:-1] ** -POWER - _BEFORE[1:] ** -POWER
WEIGHTS /= WEIGHTS.sum()
RATES = LARGEST * STEP ** -(np.arange(STEPS) + 0.5)
PSI = (-np.log1p(-2.0 * RATES) - 2.0 * RATES) / 4.0


@njit
def follow_differences(measured: Floats, tallies: Floats) -> None:
    """Add rounds to the tallies of all pairs of lanes.

    `measured` is lanes x rounds x measures. `tallies` is lanes x lanes x losses x 3, of each pair
    the later lane first.
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
    """The tallies of lanes at these places, in this order."""
    found = no_tallies(len(places))
    for later, its_place in enumerate(places):
        for earlier, place in enumerate(places[:later]):
            found[later, earlier] = tallies[max(its_place, place), min(its_place, place)]
            if its_place < place:  # what was the later lane is the earlier one now
                found[later, earlier, :, SUM] = 0.0 - found[later, earlier, :, SUM]
    return found


def no_tallies(lanes: int) -> Floats:
    """The tallies of lanes before their first round."""
    return np.zeros((lanes, lanes, len(COMPARED), 3))


def boundary(spread: Floats, alpha: float) -> Floats:
    """What the sum of differences less their expectations stays below, but with chance `alpha`.

    For all rounds at once, given the spread of the differences as it is by then.
    """
    goal = -np.log(alpha)
    own = np.log(WEIGHTS) - PSI * spread[..., None]
    # Where the weightiest term reaches the goal alone the mixture is past it. It is convex, so
    # that Newton's steps come down from there and never overshoot to the unsafe side.
    bound: Floats = ((goal - own) / RATES).min(axis=-1)
    for _ in range(12):
        terms = own + RATES * bound[..., None]
        most = terms.max(axis=-1)
        shares = np.exp(terms - most[..., None])
        total = shares.sum(axis=-1)
        bound = bound - (most + np.log(total) - goal) * total / (shares @ RATES)
    return bound


class LossDifference(NamedTuple):
    """The loss of a lane less that of another: the mean, and where its expectation is."""

    rounds: int
    mean: float | None  # None before the first round
    low: float
    high: float

    def turned(self) -> LossDifference:
        """The same with the two lanes in each other's place."""
        mean = None if self.mean is None else 0.0 - self.mean
        return LossDifference(self.rounds, mean, 0.0 - self.high, 0.0 - self.low)


class LaneDifferences:
    """The differences of the losses of every two lanes that follow a stream together."""

    def __init__(
        self,
        lanes: int,
        losses: Sequence[str] = LOSSES,
        spans: Sequence[float] = (1.0, 1.0),
    ) -> None:
        self.tallies = no_tallies(lanes)
        self.losses = losses  # what the compared columns are called
        self.spans = spans  # how far apart these losses can be; columns hold them in units of it

    def follow(self, measured: Sequence[Floats]) -> None:
        """Add rounds; of each lane the measures, a row a round."""
        if len(measured) > 1 and len(measured[0]):
            follow_differences(np.stack(measured), self.tallies)

    def copy(self) -> LaneDifferences:
        """The differences as they are now, for good."""
        return self.of(range(len(self.tallies)))

    def of(self, places: Sequence[int]) -> LaneDifferences:
        """Those of some lanes, in this order."""
        some = LaneDifferences(0, self.losses, self.spans)
        some.tallies = arranged(self.tallies, places)
        return some

    def append(self, other: LaneDifferences, places: Sequence[int]) -> None:
        """Take over the lanes of another: those that are new here, behind the own ones.

        `places` says where each of its lanes is then. Of two lanes that both have, the longer
        history counts. Lanes that meet here are compared from now on: of the rounds before, nobody
        knows any more what both of them lost.
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
        """Take the lanes in this order."""
        self.tallies = arranged(self.tallies, places)

    @property
    def statements(self) -> int:
        """How many intervals there are: one for every two lanes and every loss."""
        lanes = len(self.tallies)
        return lanes * (lanes - 1) // 2 * len(COMPARED)

    def between(self, one: int, other: int, among: int | None = None) -> dict[str, LossDifference]:
        """How the losses of one lane differ from those of another, by loss.

        All intervals hold at once, and so they do if they are `among` more than there are here.
        """
        sign = 1.0 if one < other else -1.0
        tallies = self.tallies[max(one, other), min(one, other)]
        bounds = boundary(tallies[:, SPREAD], (1.0 - CONFIDENCE) / (among or self.statements) / 2)
        differences = {}
        found = zip(self.losses, self.spans, tallies, bounds, strict=True)
        for loss, span, (rounds, total, _), bound in found:
            if not rounds:
                differences[loss] = LossDifference(0, None, -span, span)
                continue
            mean, margin = float(sign * total / rounds), float(bound / rounds)
            low, high = max(-1.0, mean - margin), min(1.0, mean + margin)
            differences[loss] = LossDifference(int(rounds), span * mean, span * low, span * high)
        return differences


class StreamDifferences:
    """The differences of all lanes of a stream; those of different kinds have none."""

    def __init__(self, parts: Sequence[tuple[Sequence[int], LaneDifferences]]) -> None:
        self._parts = parts  # of lanes that can be compared: their numbers, and the differences

    def copy(self) -> StreamDifferences:
        """The differences as they are now, for good."""
        return StreamDifferences([(numbers, found.copy()) for numbers, found in self._parts])

    def between(self, one: int, other: int) -> dict[str, LossDifference]:
        """How the losses of one lane differ from those of another, by loss."""
        for numbers, found in self._parts:
            if one in numbers and other in numbers:
                among = sum(part.statements for _, part in self._parts)
                return found.between(numbers.index(one), numbers.index(other), among)
        return {}
