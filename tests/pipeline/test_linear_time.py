"""Every input costs time in proportion to its size, whatever is in it, on every surface."""

from __future__ import annotations

import time

import pytest

from tests.support.hostile_inputs import HOSTILE, Hostile

SMALL, TIMES = 1 << 14, 8
# Eight times the input takes eight times as long if time is linear, and 64 times if it is
# quadratic. Short times are mostly noise, so a time counts as at least one tick.
MOST, TICK_SECONDS = 24, 0.004


def seconds(hostile: Hostile, size: int) -> float:
    """The processor time of this thread, the best of three."""
    data = hostile.make(size)
    best = float("inf")
    for _ in range(3):
        started = time.thread_time()
        hostile.read(data)
        best = min(best, time.thread_time() - started)
        if best < TICK_SECONDS:
            break
    return best


@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda one: f"{one.surface}: {one.name}")
def test_eight_times_the_input_takes_about_eight_times_as_long(hostile: Hostile) -> None:
    hostile.read(hostile.make(100))  # compiles kernels, fills caches
    small, large = seconds(hostile, SMALL), seconds(hostile, TIMES * SMALL)
    assert large < MOST * max(small, TICK_SECONDS)
