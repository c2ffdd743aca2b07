"""The barrier: nobody goes on before all have come, also with more threads than cores."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from learners.arrays import Longs
from learners.barrier import FOREVER, SPACING, give_up, meet, new_barrier
from learners.jit import njit
from learners.threads import run_together
from tests.conftest import REPOSITORY

CACHED = """
import numpy as np
from learners.barrier import meet, new_barrier
print(meet(new_barrier(1), 0, 1, 1), sum(meet.stats.cache_hits.values()))
"""


@njit
def late_or_early(barrier: Longs, number: int, rounds: int, written: Longs) -> int:
    """Write the round, meet, and count the threads that wrote another one; -1 if one gave up."""
    wrong = 0
    for i in range(rounds):
        written[number * SPACING] = i
        if not meet(barrier, number, 2 * i + 1, FOREVER):
            return -1
        for other in range(len(written) // SPACING):
            wrong += written[other * SPACING] != i
        if not meet(barrier, number, 2 * i + 2, FOREVER):
            return -1
    return wrong


@pytest.mark.parametrize("threads", [1, 2, 3, 8, 4 * (os.cpu_count() or 1) + 1])
def test_threads_see_what_the_others_wrote(threads: int) -> None:
    barrier, written = new_barrier(threads), np.zeros(threads * SPACING, np.int64)
    calls = [partial(late_or_early, barrier, n, 1_000, written) for n in range(threads)]
    assert run_together(calls, partial(give_up, barrier)) == [0] * threads


def test_nobody_waits_for_a_thread_that_gave_up() -> None:
    barrier, written = new_barrier(3), np.zeros(3 * SPACING, np.int64)
    late_or_early(new_barrier(1), 0, 1, written[:SPACING])  # compiled
    results = []

    def wait(number: int) -> None:
        results.append(late_or_early(barrier, number, 1_000, written))

    waiting = [threading.Thread(target=wait, args=(number,)) for number in range(2)]
    for thread in waiting:
        thread.start()
    give_up(barrier)  # the third never comes
    for thread in waiting:
        thread.join()
    assert results == [-1, -1]


def test_kernels_with_a_barrier_are_cached(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", CACHED]
    for hits in (0, 1):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["True", str(hits)]
