"""How workers are asked to stop, and what is logged when the broker was away."""

from __future__ import annotations

import gc
import re
import subprocess
import sys
import threading

import pytest

from consumers import worker_loop
from consumers.kafka.broker_outage import BrokerOutage
from consumers.kafka.errors import KafkaTimeoutError, MessageSizeTooLargeError, RefusedError
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


class FailingWorker:
    """Fails with the errors of a list, one per run, and then stops."""

    def __init__(self, errors: list[Exception]) -> None:
        self._errors = errors

    def run(self, stop: threading.Event) -> None:
        if self._errors:
            raise self._errors.pop(0)
        stop.set()


def test_the_return_of_the_broker_is_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once per absence, however many attempts it took."""
    monkeypatch.setattr(worker_loop, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(worker_loop, "MAX_PAUSE_S", 0.02)
    attempts = iter([True, False, False, False, True])  # whether the broker can be reached

    def new_worker() -> FailingWorker:
        if not next(attempts):
            raise KafkaTimeoutError("no broker answers at b:9092")
        return worker

    worker = FailingWorker([KafkaTimeoutError("gone")])
    try:
        worker_loop.keep_working(new_worker, threading.Event())
    finally:
        gc.unfreeze()
        gc.set_threshold(700)
    assert sum("trying again in" in text for text in caplog.messages) == 4
    (back,) = [text for text in caplog.messages if "connected to the broker again" in text]
    assert re.fullmatch(r"connected to the broker again after \d+\.\d s; continuing", back)


def test_an_outage_is_logged_once_when_it_begins_and_when_it_ends(
    caplog: pytest.LogCaptureFixture,
) -> None:
    outage = BrokerOutage("b:9092")
    outage.end()
    outage.begin("KafkaTimeoutError: gone")
    outage.begin("KafkaTimeoutError: gone")
    outage.end()
    outage.end()
    assert caplog.messages[0] == "waiting for the broker at b:9092: KafkaTimeoutError: gone"
    assert re.fullmatch(r"the broker at b:9092 answers again after \d+\.\d s", caplog.messages[1])
    assert len(caplog.messages) == 2


def test_pauses_grow_while_a_worker_fails_and_a_refusal_ends_it(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_loop, "FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr(worker_loop, "MAX_PAUSE_AT_WORK_S", 0.1)
    waited: list[float] = []
    stop = threading.Event()
    monkeypatch.setattr(stop, "wait", waited.append)
    worker = FailingWorker([*[KafkaTimeoutError("gone")] * 9, MessageSizeTooLargeError("no")])
    try:
        with pytest.raises(RefusedError, match=r"MessageSizeTooLargeError.* would fail again"):
            worker_loop.keep_working(lambda: worker, stop)
    finally:
        gc.unfreeze()
        gc.set_threshold(700)
    assert waited == [0.001 * 2**n for n in range(7)] + [0.1, 0.1]
