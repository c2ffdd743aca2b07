"""Ctrl-C while the program is being imported."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from pipeline.interruption import quiet_interrupts
from tests.conftest import REPOSITORY

# Ctrl-C comes when the module is about to be imported.
PROGRAM = """
import os, runpy, signal, sys

class Interrupting:
    def find_spec(self, name, path, target=None):
        if name == "{module}":
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupting())
runpy.run_module("{package}", run_name="__main__")
"""


@pytest.fixture
def restored() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    ("package", "module"),
    [("consumers", "consumers.cli"), ("pipeline", "pipeline.commands.app")],
)
def test_an_interrupted_start_shows_no_traceback(package: str, module: str) -> None:
    program = PROGRAM.format(package=package, module=module)
    done = subprocess.run(
        [sys.executable, "-c", program, "lanes"], capture_output=True, cwd=REPOSITORY, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, b"", b"")


@pytest.mark.parametrize("handler", [signal.default_int_handler, signal.SIG_IGN])
@pytest.mark.usefixtures("restored")
def test_the_handler_is_as_before(handler: signal.Handlers) -> None:
    signal.signal(signal.SIGINT, handler)
    with quiet_interrupts():
        is_ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    assert is_ignored == (handler is signal.SIG_IGN)
    assert signal.getsignal(signal.SIGINT) is handler
