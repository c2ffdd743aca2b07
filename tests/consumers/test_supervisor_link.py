"""A worker without its supervisor ends, and a supervisor notices a worker that hangs."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from consumers.supervisor import kill_if_hung
from consumers.supervisor_link import WorkerLink, is_turning
from pipeline.metrics.health import Health
from tests.support.kafka_stream import eventually

BEGIN = """
import ctypes, faulthandler, signal, sys, threading, time
from consumers import supervisor_link
from pipeline.metrics.health import Health
faulthandler.register(signal.SIGUSR1)
stop = threading.Event()
supervisor_link.GRACE_SECONDS = 0.5
supervisor_link.BEAT_SECONDS = 0.1
supervisor_link.SupervisorLink().attach(stop, Health())
"""
STOPS = "stop.wait()"
DOES_NOT_STOP = "time.sleep(1000)"
# A call that keeps the lock of the interpreter: no other thread of Python runs any more.
KEEPS_THE_INTERPRETER = "time.sleep(1)\nwhile True:\n    ctypes.PyDLL(None).pause()"


def worker(program: str) -> WorkerLink:
    return WorkerLink([sys.executable, "-c", BEGIN + program])


@pytest.mark.parametrize(("program", "code"), [(STOPS, 0), (DOES_NOT_STOP, 1)])
def test_a_worker_ends_with_its_supervisor_without_help_of_the_kernel(
    program: str, code: int
) -> None:
    link = worker(program)
    assert eventually(lambda: 0 <= link.silent_seconds() < 0.05, 60)  # it runs
    link.close()
    assert link.process.wait(60) == code


def test_the_kernel_ends_workers_that_hang_without_a_supervisor() -> None:
    """A process starts a worker that keeps the interpreter for itself, and is killed."""
    program = BEGIN + "supervisor_link.die_with_parent()\nprint('here', flush=True)\n"
    script = (
        "import subprocess, sys, time\nfrom consumers.supervisor_link import WorkerLink\n"
        f"link = WorkerLink([sys.executable, '-c', {program + KEEPS_THE_INTERPRETER!r}])\n"
        "print(link.process.pid, flush=True)\ntime.sleep(1000)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as supervisor:
        assert supervisor.stdout is not None
        supervisor.stdout.readline()
        assert supervisor.stdout.readline() == b"here\n"
        supervisor.kill()
        assert supervisor.stdout.read() == b""  # nobody holds the other end any more


@pytest.mark.parametrize("program", [KEEPS_THE_INTERPRETER, STOPS])
def test_a_worker_that_hangs_is_killed(
    program: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    link = worker(program)
    assert eventually(lambda: 0 <= link.silent_seconds() < 0.05, 60)
    if program == STOPS:
        link.process.send_signal(signal.SIGSTOP)

    def is_gone() -> bool:
        kill_if_hung("the worker", link, hung_after=2.0)
        return link.process.poll() is not None

    assert eventually(is_gone, 60)
    assert link.process.poll() == -signal.SIGKILL
    assert "the worker has given no sign of life for 2 s; killing it" in caplog.text
    if program == KEEPS_THE_INTERPRETER:
        assert "most recent call first" in capfd.readouterr().err
    link.close()


def test_a_worker_that_works_is_left_alone() -> None:
    """Also if the supervisor itself stands still for longer than its patience."""
    link = worker(STOPS)
    assert eventually(lambda: 0 <= link.silent_seconds() < 0.05, 60)
    time.sleep(2.0)
    kill_if_hung("the worker", link, hung_after=1.0)
    assert link.process.poll() is None
    link.close()
    assert link.process.wait(60) == 0


def test_a_main_loop_that_stands_still_for_long_gives_no_sign_of_life() -> None:
    """Before a worker follows its stream, it may compile, restore, or wait for a broker."""
    now = 0.0
    health = Health(clock=lambda: now)
    now = 10_000.0
    assert is_turning(health)
    health.ready = True
    assert not is_turning(health)
    health.moved()
    assert is_turning(health)
