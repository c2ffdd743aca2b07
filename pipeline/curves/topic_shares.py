"""Which topics a rise of the loss comes from.

The loss of a round is divided equally over its relevant topics. So the parts of all topics, each
averaged over the same rounds, sum to the mean loss. The topics whose parts rose most explain a
rise: a topic that is ranked worse than before, or a topic that comes more often.

Per topic there are two sums of rounds and losses, a recent one and a longer one. Each sum covers
the present period and the one before. The recent one has periods of `PERIOD_ROUNDS` rounds. Those
of the longer one double, so that it covers at least half of all rounds. A topic is moved to the
present period when it comes next, so a round costs nothing for topics that it does not have.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats
from learners.checks import MAX_COUNT, InvalidArrayError, check_between, check_extent, floats
from learners.growing_array import GrowingArray
from learners.jit import njit
from learners.learner import State
from learners.segment import Steps

PERIOD_ROUNDS = 128
MOST_TOPICS = 5
LEAST_SHARE = 0.05  # of the whole rise; topics with less are not named

# The columns of a topic: rounds and loss of the present period, then of the period before. Then the
# same for the longer periods.
COLUMNS, LONGER = 8, 4


@njit
def longer_period(period: int) -> int:
    """Return the number of the longer period that a period is in: 0, 1, 2-3, 4-7, 8-15, ..."""
    longer = 0
    while period:
        period //= 2
        longer += 1
    return longer


@njit
def enter_period(sums: Floats, passed: int) -> None:
    """Move four sums of a topic on by this many periods."""
    if passed > 0:
        sums[2] = sums[0] if passed == 1 else 0.0
        sums[3] = sums[1] if passed == 1 else 0.0
        sums[0], sums[1] = 0.0, 0.0


@njit
def divide_losses(
    steps: Steps, losses: Floats, start: int, stop: int, rounds: float, sums: Floats,
    periods: Floats,
) -> float:  # fmt: skip
    """Divide the losses from `start` up to `stop` over the topics of their rounds.

    `rounds` are those with a loss so far; the number of them afterwards is returned.
    """
    learn, label_starts, labels = steps.learn, steps.label_starts, steps.labels
    done = -1
    for step in range(len(learn)):
        if not learn[step]:
            continue
        done += 1
        if done < start or done >= stop or np.isnan(losses[done]):
            continue
        period = int(rounds) // PERIOD_ROUNDS
        longer = longer_period(period)
        rounds += 1.0
        relevant = labels[label_starts[step] : label_starts[step + 1]]
        for topic in relevant:
            of_topic, was = sums[topic], int(periods[topic])
            enter_period(of_topic[:LONGER], period - was)
            enter_period(of_topic[LONGER:], longer - longer_period(was))
            periods[topic] = period
            part = losses[done] / len(relevant)
            of_topic[0] += 1.0
            of_topic[1] += part
            of_topic[LONGER] += 1.0
            of_topic[LONGER + 1] += part
    return rounds


def two_periods(sums: Floats, passed: npt.NDArray[Any]) -> Floats:
    """Return the sums of the present period and the one before, `passed` periods after them.

    This is not a kernel, which would be compiled in the middle of a stream at the first alarm.
    """
    now, last = sums[:, :2], sums[:, 2:]
    passed = passed[:, None]
    return np.where(passed == 0, now + last, np.where(passed == 1, now, 0.0))


class ChangedTopic(NamedTuple):
    """A topic that a rise of the loss comes from, before the rise and at the alarm."""

    topic: int
    frequency_before: float  # share of the rounds that have the topic
    frequency_after: float
    loss_before: float  # the topic's part of the mean loss
    loss_after: float


class TopicShares:
    """The parts of a lane's loss that come from each topic, recently and before."""

    def __init__(self) -> None:
        self._rounds = 0.0  # with a loss, since the last alarm
        self._sums = GrowingArray(2)
        self._periods = GrowingArray(1)

    def follow(self, steps: Steps, losses: Floats, start: int, stop: int, topics: int) -> None:
        """Add the rounds from `start` up to `stop`; their topics are below `topics`."""
        if topics > self._periods.shape[0]:  # growing takes longer than a block of one round
            self._sums.grow(topics, COLUMNS)
            self._periods.grow(topics)
        self._rounds = divide_losses(
            steps, losses, start, stop, self._rounds, self._sums.room, self._periods.room
        )

    def changed(self) -> list[ChangedTopic]:
        """Return the topics whose parts of the loss rose most, the largest rise first.

        The list is empty if there were too few rounds to compare.
        """
        period = max(0, int(self._rounds) - 1) // PERIOD_ROUNDS
        longer = period.bit_length()
        recent_rounds = self._rounds - PERIOD_ROUNDS * max(0, period - 1)
        longer_start = PERIOD_ROUNDS * (1 << (longer - 2)) if longer > 1 else 0
        rounds_before = self._rounds - longer_start - recent_rounds
        if rounds_before <= 0:
            return []
        sums, periods = self._sums.view, self._periods.view
        recent = two_periods(sums[:, :LONGER], period - periods)
        both = two_periods(sums[:, LONGER:], longer - np.frexp(periods)[1])  # see `longer_period`
        after = recent / recent_rounds
        before = np.maximum(both - recent, 0.0) / rounds_before
        rise = after[:, 1] - before[:, 1]
        # An exact sum: a rounded one could depend on how many topics have no round yet.
        least = max(0.0, LEAST_SHARE * math.fsum(rise))
        chosen = np.argsort(-rise, kind="stable")[:MOST_TOPICS]
        return [
            ChangedTopic(
                int(topic),
                float(before[topic, 0]),
                float(after[topic, 0]),
                float(before[topic, 1]),
                float(after[topic, 1]),
            )
            for topic in chosen
            if rise[topic] > least
        ]

    def start_again(self) -> None:
        """Forget all rounds."""
        self._rounds = 0.0
        self._sums.view[:] = 0.0
        self._periods.view[:] = 0.0

    def state(self) -> State:
        """Return the state as named arrays (copies)."""
        return {
            "rounds": np.array([self._rounds]),
            "sums": self._sums.copy(),
            "periods": self._periods.copy(),
        }

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` gave."""
        rounds = floats(state, "rounds", 1)
        check_between("rounds", rounds, 0.0, MAX_COUNT)
        periods = floats(state, "periods", None)
        check_between("periods", periods, 0.0, rounds[0] // PERIOD_ROUNDS)
        if (rounds % 1.0).any() or (periods % 1.0).any():
            raise InvalidArrayError("array rounds or periods has a part of a round or period")
        sums = floats(state, "sums", len(periods), None if not len(periods) else COLUMNS)
        check_between("sums", sums, 0.0)
        self._rounds = float(rounds[0])
        self._sums.load(sums)
        self._periods.load(periods)

    def check_references(self, topics: int) -> None:
        """There are no more topics than the stream has."""
        check_extent("periods", self._periods.shape[0], topics, "topics")
