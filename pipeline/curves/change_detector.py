"""Did the loss of a lane rise? A change detector with a stated rate of false alarms.

The detector reads one loss per round, each within [0, 1]. Learning makes a loss fall, so a fall is
no change, however fast or slow. A rise is. Let `m_t` be the expected loss of round t given all that
came before. If `m_t` never rises, there are at most `FALSE_ALARMS` alarms per round in expectation,
although the detector looks after every round. Nothing else is assumed: neither independent rounds
nor a distribution. Half of the rate is for each of two parts.

1. **A reference that falls with the loss.** The rounds since the last alarm are cut into windows of
   64, 128, 256, ... rounds. At the end of a window of n rounds, with a rate `a` that was chosen
   before the window began, and with centres `c_i` that were known before their rounds,

       mean of the x_i  +  (ln(1 / error)  +  a^2 / (2 - 2a) * sum (x_i - c_i)^2) / (a n)

   is below the mean of the `m_i` with probability `error` at most (the empirical-Bernstein bound
   that `confidence.py` uses for lanes, for one moment instead of all). If `m_t` never rises, every
   later `m_t` is below this bound too. The reference is the lowest bound so far. A loss that fell
   slowly therefore does not hide a rise: only the best windows count.

2. **A bet against the reference.** `u` is the reference plus a small tolerance, because a very
   small rise is not worth an alarm. If `m_t` is at most `u`, the factor
   `1 + s (x_t - u)` has an expectation of at most 1 for every stake `s` below `1 / u`. Each round
   begins a new bet with a capital of 1, divided over the stakes, and all earlier bets go on. Their
   total capital exceeds the number of rounds by 0 or less in expectation. So it reaches
   `1 / rate` not before `1 / rate` rounds, in expectation: the e-detector of Shin, Ramdas and
   Rinaldo (2023) in the form of Shiryaev and Roberts.

After an alarm the detector starts again, without a reference.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats
from learners.checks import MAX_COUNT, InvalidArrayError, check_between, check_finite, floats
from learners.jit import njit
from learners.learner import State

FALSE_ALARMS = 1e-5  # per round, at most
CAPITAL = 2.0 / FALSE_ALARMS  # of all bets together; an alarm is raised when they reach it

# The stakes of the bets: a small stake finds a small rise. No bet may lose more than this share.
STAKES = (0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
MOST = 0.875
TOLERANCE = 0.005  # a rise by less is no change

# Windows of 64 to 2^20 rounds. Each size has the same share of the rate: an error of a window of n
# rounds costs one false alarm in n rounds. The logarithms are rounded up, so that they are the same
# numbers on every machine.
SMALLEST, SIZES = 64, 15
LOG_ERRORS = tuple(
    math.ceil(1000 * math.log(2.0 * SIZES / FALSE_ALARMS / (SMALLEST << size))) / 1000
    for size in range(SIZES)
)
LARGEST_RATE = 0.5
CENTRE_MEMORY, VARIANCE_MEMORY = 64.0, 256.0  # rounds

# The numbers that the detector goes on from. All counts and sums begin after the last alarm.
# `PASSED` counts the rounds without a loss. `BEFORE` is the mean of the reference's window.
ROUNDS, PASSED, SUM, SPREAD, CENTRE, VARIANCE, REFERENCE, BEFORE = range(8)
# Of each window size: the sums when the window began, and its rate.
SUM_THEN, SPREAD_THEN, RATE = range(3)
# Of each stake: the capital of all bets; the capital of the best one; where the best one began.
ALL_BETS, BEST_BET, BEGAN, PASSED_BEFORE, SUM_BEFORE = range(5)


class DetectorState(NamedTuple):
    """What the detector goes on from; its size does not depend on the number of rounds."""

    numbers: Floats
    windows: Floats
    bets: Floats


@njit
def window_rate(size: int, variance: float) -> float:
    """Return the rate that makes the bound of a window low if the variance stays as it is."""
    best = np.sqrt(2.0 * LOG_ERRORS[size] / ((SMALLEST << size) * variance))
    return float(min(LARGEST_RATE, best))


@njit
def start_again(state: DetectorState) -> None:
    """Forget all rounds."""
    numbers, windows, bets = state
    numbers[:], windows[:], bets[:] = 0.0, 0.0, 0.0
    numbers[CENTRE], numbers[VARIANCE] = 0.5, 0.25
    numbers[REFERENCE], numbers[BEFORE] = 1.0, 1.0
    for size in range(SIZES):
        windows[size, RATE] = window_rate(size, 0.25)


@njit
def close_windows(state: DetectorState) -> None:
    """Close the windows that end with this round, and lower the reference to their bounds."""
    numbers, windows, _ = state
    rounds = int(numbers[ROUNDS])
    for size in range(SIZES):
        length = SMALLEST << size
        if rounds % length != 0:
            break
        window = windows[size]
        rate = window[RATE]
        spread = numbers[SPREAD] - window[SPREAD_THEN]
        mean = (numbers[SUM] - window[SUM_THEN]) / length
        bound = mean + (LOG_ERRORS[size] + rate * rate / (2.0 - 2.0 * rate) * spread) / (
            rate * length
        )
        if bound < numbers[REFERENCE]:
            numbers[REFERENCE], numbers[BEFORE] = bound, mean
        window[SUM_THEN], window[SPREAD_THEN] = numbers[SUM], numbers[SPREAD]
        window[RATE] = window_rate(size, numbers[VARIANCE])


@njit
def first_alarm(losses: Floats, start: int, state: DetectorState) -> int:
    """Read losses from `start` on; return the index of the first alarm, or -1 if there is none.

    A NaN is a round without a loss, and is passed over. After an alarm, `state` is what the alarm
    was raised by, until `start_again` is called.
    """
    numbers, _, bets = state
    for i in range(start, len(losses)):
        loss = losses[i]
        if np.isnan(loss):
            numbers[PASSED] += 1.0
            continue
        reference, capital = numbers[REFERENCE], 0.0
        if reference < 1.0:
            reference += TOLERANCE
            over = loss - reference
            for k in range(len(STAKES)):
                bet = bets[k]
                factor = 1.0 + min(STAKES[k], MOST / reference) * over
                bet[ALL_BETS] = (bet[ALL_BETS] + 1.0 / len(STAKES)) * factor
                if bet[BEST_BET] <= 1.0:
                    bet[BEST_BET], bet[BEGAN] = 1.0, numbers[ROUNDS]
                    bet[PASSED_BEFORE], bet[SUM_BEFORE] = numbers[PASSED], numbers[SUM]
                bet[BEST_BET] *= factor
                capital += bet[ALL_BETS]
        off = loss - numbers[CENTRE]
        numbers[ROUNDS] += 1.0
        numbers[SUM] += loss
        numbers[SPREAD] += off * off
        numbers[CENTRE] += off / min(numbers[ROUNDS] + 1.0, CENTRE_MEMORY)
        numbers[VARIANCE] += (off * off - numbers[VARIANCE]) / min(
            numbers[ROUNDS] + 1.0, VARIANCE_MEMORY
        )
        if capital >= CAPITAL:
            return i
        if int(numbers[ROUNDS]) % SMALLEST == 0:
            close_windows(state)
    return -1


class Alarm(NamedTuple):
    """A rise that was found: its place among the losses, and the losses before and after it."""

    place: int  # of the loss that raised the alarm, among those that were given
    rounds_since: int  # rounds since the rise probably began, this one included
    before: float  # the mean loss of the window that the reference comes from
    after: float  # the mean loss since the rise probably began


class ChangeDetector:
    """Reads one loss per round, each within [0, 1], and raises an alarm when they rise.

    Examples
    --------
    >>> losses = np.tile([0.0, 0.0, 0.0, 1.0], 1000)
    >>> losses[3000:] = 1.0 - losses[3000:]
    >>> alarm = ChangeDetector().follow(losses)
    >>> 3000 < alarm.place < 3100, alarm.before, alarm.after > 0.7
    (True, 0.25, True)

    """

    def __init__(self) -> None:
        self._state = DetectorState(
            np.zeros(BEFORE + 1),
            np.zeros((SIZES, RATE + 1)),
            np.zeros((len(STAKES), SUM_BEFORE + 1)),
        )
        start_again(self._state)

    def follow(self, losses: Floats, start: int = 0) -> Alarm | None:
        """Read losses from `start` on, up to the first alarm; NaN is a round without a loss.

        After an alarm the detector has started again; the losses that follow are still to be read.
        """
        place = first_alarm(losses, start, self._state)
        if place < 0:
            return None
        numbers, _, bets = self._state
        bet = bets[int(np.argmax(bets[:, BEST_BET]))]
        rounds = numbers[ROUNDS] - bet[BEGAN]
        after = (numbers[SUM] - bet[SUM_BEFORE]) / rounds
        rounds += numbers[PASSED] - bet[PASSED_BEFORE]
        alarm = Alarm(place, int(rounds), float(numbers[BEFORE]), float(after))
        start_again(self._state)
        return alarm

    def state(self) -> State:
        """Return the state as named arrays (copies)."""
        return {name: array.copy() for name, array in self._state._asdict().items()}

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` gave."""
        arrays = {
            name: floats(state, name, *array.shape) for name, array in self._state._asdict().items()
        }
        for name, array in arrays.items():
            check_finite(name, array)
            check_between(name, array, 0.0, MAX_COUNT)
        numbers = arrays["numbers"]
        if numbers[ROUNDS] % 1.0:
            raise InvalidArrayError("array numbers has a part of a round")
        for column in (CENTRE, VARIANCE, REFERENCE, BEFORE):
            check_between(f"numbers, column {column}", numbers[column : column + 1], 0.0, 1.0)
        windows, above_zero = arrays["windows"], np.nextafter(0.0, 1.0)
        check_between("numbers, variance", numbers[[VARIANCE]], above_zero)
        check_between("windows, rates", windows[:, RATE], above_zero, LARGEST_RATE)
        for then, now in ((SUM_THEN, SUM), (SPREAD_THEN, SPREAD)):
            check_between(f"windows, column {then}", windows[:, then], 0.0, numbers[now])
        for name, array in arrays.items():
            getattr(self._state, name)[:] = array
