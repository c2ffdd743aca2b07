"""How workers are asked to stop."""

from __future__ import annotations

import subprocess
import sys

from tests.conftest import REPOSITORY

# A second signal comes while the first is being dealt with, or not; the main thread looks at the
# event all the time, as workers do.
SCRIPT = """
import os, random, signal, threading, time
from consumers.worker_loop import stopped_by_signals
rng = random.Random(1)
def send(pause):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(pause)
    os.kill(os.getpid(), signal.SIGTERM)
for number in range(300):
    stop = stopped_by_signals()
    sender = threading.Thread(target=send, args=(rng.uniform(0, 3e-4),))
    sender.start()
    while not stop.wait(0.0001):
        pass
    sender.join()
print("ended", number + 1)
"""


def test_two_signals_at_once_stop_a_worker() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=REPOSITORY,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.stdout == "ended 300\n", done.stderr
