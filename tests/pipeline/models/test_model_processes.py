"""Signals to real processes: Ctrl-C saves the model, `kill -9` leaves one that can be resumed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from pipeline.models.model_file import read_model
from tests.support.command_line import WIRERANK
from tests.support.saved_runs import event_lines, outcome, outputs, write_lines


def test_ctrl_c_saves_the_model() -> None:
    lines = [line for line in event_lines(1, 80) if line.strip()]
    source = write_lines("e.jsonl", lines)
    command = [*WIRERANK, "replay"]
    subprocess.run([*command, source, "--lane", "mmp", *outputs("straight")], check=True)
    process = subprocess.Popen(
        [*command, "-", "--lane", "mmp", *outputs("parts")],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(b"".join(line + b"\n" for line in lines[:50]))
    process.stdin.flush()
    written = Path("parts.jsonl")
    deadline = time.monotonic() + 60
    documents = sum(b'"text"' in line or b'"features"' in line for line in lines[:50])
    while not written.exists() or written.read_bytes().count(b"\n") < documents:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT, errors
    assert read_model(Path("parts.model")).run.read.events == 50
    again = ["--resume", "parts.model", *outputs("parts")]
    subprocess.run([*command, source, *again], check=True, stdout=subprocess.DEVNULL)
    done, expected = outcome("parts"), outcome("straight")
    assert done == expected


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_kill_9_at_any_time_changes_nothing(seed: int) -> None:
    """The same command again and again; it is killed wherever it is, also while it saves."""
    rng = random.Random(seed)
    source = "synthetic:6000"
    lanes = ["--lane", "mmp", "--lane", "arow"]
    begin = [*WIRERANK, "replay", source]
    straight = [*begin, *lanes, *outputs("straight"), "--block", "50"]
    subprocess.run(straight, check=True, stdout=subprocess.DEVNULL)
    saving = [*outputs("parts"), "--block", "50", "--save-every", "50"]
    kills = 0
    for _ in range(30):
        known = ["--resume", "parts.model"] if Path("parts.model").exists() else lanes
        before = model_state()
        process = subprocess.Popen([*begin, *known, *saving], stdout=subprocess.DEVNULL)
        if kills < 5:
            wait_for_a_save(process, before)
            time.sleep(rng.random() * 0.3)
            process.kill()
        kills += process.wait(120) == -signal.SIGKILL
        if process.returncode == 0:
            break
    assert process.returncode == 0
    assert kills
    assert outcome("parts") == outcome("straight")
    assert not [name for name in os.listdir() if name.endswith(".partial")]


def model_state() -> tuple[int, int] | None:
    """Return what changes when the model is saved."""
    try:
        status = Path("parts.model").stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns


def wait_for_a_save(process: subprocess.Popen[bytes], before: tuple[int, int] | None) -> None:
    """Wait until the process has saved its model, or has ended."""
    while process.poll() is None and model_state() == before:
        time.sleep(0.005)


def test_a_full_disk_ends_with_a_message() -> None:
    source = write_lines("e.jsonl", event_lines(2, 30))
    # Limits of the size of files stand in for a full disk.
    run = f"ulimit -f 4; exec {' '.join(WIRERANK)} replay {source} --lane mmp --save m "
    result = subprocess.run(
        ["bash", "-c", f"trap '' XFSZ; {run} --max-terms 5000 --quiet"],
        capture_output=True, check=False,
    )  # fmt: skip
    assert result.returncode == 1
    assert b"m cannot be written: File too large" in result.stderr
    assert sorted(os.listdir()) == ["e.jsonl", "wirerank-dead-letters.jsonl"]
