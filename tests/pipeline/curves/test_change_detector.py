"""The change detector: equal to its twin, exact for any cuts, with few false alarms and delays."""

from __future__ import annotations

import numpy as np
import pytest

from learners.arrays import Floats
from learners.checks import InvalidArrayError
from pipeline.curves.change_detector import (
    CENTRE,
    FALSE_ALARMS,
    LOG_ERRORS,
    RATE,
    ROUNDS,
    SIZES,
    SMALLEST,
    SPREAD_THEN,
    SUM_THEN,
    VARIANCE,
    Alarm,
    ChangeDetector,
)
from pipeline.slow.change_detector import slow_alarms


def alarms_of(losses: Floats, detector: ChangeDetector | None = None) -> list[Alarm]:
    detector, start, alarms = detector or ChangeDetector(), 0, list[Alarm]()
    while (alarm := detector.follow(losses, start)) is not None:
        alarms.append(alarm)
        start = alarm.place + 1
    return alarms


def broken_losses(seed: int, levels: tuple[float, ...], rounds: int = 3000) -> Floats:
    """Losses of 0 and 1, or between them, with another expectation in each part."""
    chance = np.random.default_rng(seed)
    expected = np.repeat(levels, rounds)
    if seed % 2:
        losses: Floats = (chance.random(len(expected)) < expected).astype(np.float64)
        return losses
    return np.asarray(chance.beta(2.0 * expected, 2.0 * (1.0 - expected)))


@pytest.mark.parametrize("seed", range(4))
def test_equal_to_its_twin(seed: int) -> None:
    losses = broken_losses(seed, (0.6, 0.2, 0.5, 0.1, 0.9))
    losses[np.random.default_rng(seed).random(len(losses)) < 0.1] = np.nan
    alarms = alarms_of(losses)
    assert len(alarms) >= 2
    assert [tuple(alarm) for alarm in alarms] == slow_alarms(losses.tolist())


@pytest.mark.parametrize("seed", range(4))
def test_cuts_do_not_matter(seed: int) -> None:
    losses = broken_losses(seed, (0.6, 0.2, 0.5, 0.1, 0.9))
    whole = ChangeDetector()
    expected = alarms_of(losses, whole)
    chance = np.random.default_rng(seed)
    cuts = np.sort(chance.choice(len(losses), 200))
    detector, alarms, before = ChangeDetector(), list[Alarm](), 0
    for part in np.split(losses, cuts):
        alarms += [
            alarm._replace(place=before + alarm.place) for alarm in alarms_of(part, detector)
        ]
        before += len(part)
        restored = ChangeDetector()
        restored.restore(detector.state())
        detector = restored
    assert alarms == expected
    for name, array in whole.state().items():
        assert np.array_equal(detector.state()[name], array), name


def test_false_alarms_at_the_stated_rate() -> None:
    rounds, chance = 100_000, np.random.default_rng(7)
    alarms = 0
    for level in (0.02, 0.1, 0.3, 0.5, 0.8):
        falling = level + (1.0 - level) / (1.0 + np.arange(rounds) / 1000.0)
        for expected in (np.full(rounds, level), falling):
            alarms += len(alarms_of((chance.random(rounds) < expected).astype(np.float64)))
            alarms += len(alarms_of(chance.beta(2 * expected, 2.001 * (1.001 - expected))))
    # 20 are allowed in expectation in these 2 million rounds.
    assert alarms <= FALSE_ALARMS * 20 * rounds


@pytest.mark.parametrize(("rise", "delay"), [(0.1, 2000), (0.2, 400), (0.4, 100)])
def test_a_rise_is_found(rise: float, delay: int) -> None:
    found = 0
    for seed in range(20):
        losses = np.concatenate(
            [broken_losses(2 * seed + 1, (level,), 20_000) for level in (0.2, 0.2 + rise)]
        )
        first = alarms_of(losses)[0]
        found += 20_000 <= first.place < 20_000 + delay
        assert first.before == pytest.approx(0.2, abs=0.02)
    assert found >= 18


def test_a_fall_is_no_change() -> None:
    for seed in range(4):
        assert not alarms_of(broken_losses(seed, (0.9, 0.6, 0.3, 0.1, 0.01), 5000))


def test_a_slow_fall_hides_no_rise() -> None:
    rounds = 40_000
    expected = 0.1 + 0.8 / (1.0 + np.arange(rounds) / 1000.0)  # 0.26 on average, 0.12 at the end
    expected[-2000:] += 0.2
    losses = (np.random.default_rng(1).random(rounds) < expected).astype(np.float64)
    (alarm,) = alarms_of(losses)
    assert rounds - 2000 < alarm.place < rounds - 1600
    assert abs(alarm.place + 1 - alarm.rounds_since - (rounds - 2000)) < 100


def test_the_shares_of_the_rate() -> None:
    errors = [np.exp(-log_error) / (SMALLEST << size) for size, log_error in enumerate(LOG_ERRORS)]
    assert len(errors) == SIZES
    assert sum(errors) <= FALSE_ALARMS / 2
    assert max(np.exp(-np.array(LOG_ERRORS))) < 0.5


def test_no_losses() -> None:
    detector = ChangeDetector()
    assert detector.follow(np.empty(0)) is None
    assert detector.follow(np.full(1000, np.nan)) is None


@pytest.mark.parametrize(
    ("column", "value"),
    [(ROUNDS, 1.5), (ROUNDS, -1.0), (CENTRE, 2.0), (CENTRE, np.nan), (VARIANCE, 0.0)],
)
def test_a_damaged_state_is_refused(column: int, value: float) -> None:
    state = ChangeDetector().state()
    numbers = np.array(state["numbers"])
    numbers[column] = value
    with pytest.raises(InvalidArrayError, match="numbers"):
        ChangeDetector().restore({**state, "numbers": numbers})


@pytest.mark.parametrize(
    ("column", "value"), [(RATE, 0.0), (RATE, 1.0), (SUM_THEN, 70.0), (SPREAD_THEN, 70.0)]
)
@pytest.mark.parametrize("size", [0, SIZES - 1])
def test_windows_that_cannot_be_are_refused(size: int, column: int, value: float) -> None:
    detector = ChangeDetector()
    alarms_of(broken_losses(1, (0.5,), 100), detector)
    windows = np.array(detector.state()["windows"])
    windows[size, column] = value
    with pytest.raises(InvalidArrayError, match="windows"):
        ChangeDetector().restore({**detector.state(), "windows": windows})
