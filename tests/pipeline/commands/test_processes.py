"""The command line as a process among others: pipes, signals, full disks, terminals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import orjson
import pytest

from tests.support.command_line import WIRERANK, write_events


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def listening(*more: str) -> subprocess.Popen[bytes]:
    """A replay of a pipe that writes its rankings to another."""
    return subprocess.Popen(
        [*WIRERANK, "replay", "-", "--lane", "mmp", "--rankings", "-", *more],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_a_pipe_by_name_is_a_file() -> None:
    os.mkfifo("pipe.jsonl")
    with subprocess.Popen(
        [*WIRERANK, "replay", "pipe.jsonl", "--report", "r.json", "--quiet"],
        stdout=subprocess.DEVNULL,
    ) as process:
        Path("pipe.jsonl").write_bytes(b'{"id":1,"text":"x","topics":["a"]}\n')
        assert process.wait(30) == 0
    assert orjson.loads(Path("r.json").read_bytes())["perceptron"]["rounds"] == 1


def test_two_processes_write_the_same_bytes() -> None:
    """The hashes of words have a key that differs in every process. Nothing shows it."""
    written = []
    for name in ("first", "second"):
        arguments = ["replay", "synthetic:300", "--lane", "mmp", "--max-terms", "500", "--quiet"]
        files = ["--rankings", f"{name}.jsonl", "--top", "0", "--curves", f"{name}.csv"]
        subprocess.run([*WIRERANK, *arguments, *files], check=True, stdout=subprocess.DEVNULL)
        written.append((Path(f"{name}.jsonl").read_bytes(), Path(f"{name}.csv").read_bytes()))
    assert written[0] == written[1]


def test_a_pipe_by_name_streams_like_standard_input() -> None:
    """A document is ranked when it comes, although the pipe stays open."""
    os.mkfifo("pipe.jsonl")
    with subprocess.Popen(
        [*WIRERANK, "replay", "pipe.jsonl", "--lane", "mmp", "--rankings", "-", "--quiet"],
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        with Path("pipe.jsonl").open("wb", buffering=0) as pipe:
            for number in range(3):
                pipe.write(b'{"id":%d,"text":"x","topics":["a"]}\n' % number)
                assert orjson.loads(process.stdout.readline())["id"] == number
        process.stdout.read()
        assert process.wait(30) == 0


def test_a_torn_dead_letter_is_closed_and_a_full_disk_is_named() -> None:
    letters = Path("wirerank-dead-letters.jsonl")
    letters.write_bytes(b'{"reason": "not_json", "ev')  # of a run that was killed
    Path("events.jsonl").write_bytes(b'rubbish\n{"id":1,"text":"x"}\n')
    command = [*WIRERANK, "replay", "events.jsonl", "--lane", "frequency"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    torn, letter = letters.read_bytes().splitlines()
    assert torn == b'{"reason": "not_json", "ev'
    assert orjson.loads(letter)["line"] == 1
    done = subprocess.run(
        [*command, "--dead-letters", "/dev/full"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "/dev/full cannot be written: No space left on device" in done.stderr


def test_dead_letters_are_there_at_once() -> None:
    with listening() as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'rubbish\n{"id":1,"text":"x"}\n')
        process.stdin.flush()
        process.stdout.readline()
        process.kill()
    assert orjson.loads(Path("wirerank-dead-letters.jsonl").read_bytes())["line"] == 1


def test_runs_where_nothing_can_be_kept(tmp_path: Path) -> None:
    """No folder for compiled kernels: slower to start, but it starts, and says what to do."""
    program = """
import numba.core.caching as caching
caching.CacheImpl._locator_classes = []
from pipeline.commands.app import new_app, run_app
run_app(new_app())
"""
    done = subprocess.run(
        [sys.executable, "-c", program, "replay", write_events(), "--lane", "frequency"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "not cached, because no folder is writable: set NUMBA_CACHE_DIR" in done.stderr


def test_no_standard_input_is_explained() -> None:
    shell = f"{sys.executable} -m pipeline replay - <&-"
    done = subprocess.run(["/bin/sh", "-c", shell], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Standard input is closed" in done.stderr


def test_a_live_pipe_is_ranked_as_it_comes() -> None:
    """One document and silence: its ranking must come without waiting for a block to fill."""
    with listening() as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(3):
            process.stdin.write(b'{"id":%d,"text":"x","topics":["a"]}\n' % number)
            process.stdin.flush()
            assert orjson.loads(process.stdout.readline())["id"] == number
        process.stdin.close()
        assert process.wait(30) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interruption_ends_with_the_report_so_far(number: int) -> None:
    with listening("--report", "r.json") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b'{"id":1,"text":"x","topics":["a"]}\n')
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(number)
        assert process.wait(30) == 128 + number
        errors = process.stderr.read().decode()
    assert "interrupted; the numbers above cover the events read so far" in errors
    assert "Traceback" not in errors
    assert orjson.loads(Path("r.json").read_bytes())["mmp"]["rounds"] == 1


def test_interruption_of_a_busy_run() -> None:
    with subprocess.Popen(
        [*WIRERANK, "replay", "synthetic:100000000", "--report", "r.json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        while b"   256   " not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        process.stderr.read()
        assert process.wait(30) == 130
    assert orjson.loads(Path("r.json").read_bytes())["perceptron"]["rounds"] >= 256


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    with subprocess.Popen(
        [*WIRERANK, "replay", "synthetic:20000", "--rankings", "-"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read().decode()
        assert process.wait(60) == 1
    assert "Traceback" not in errors
    assert "BrokenPipe" not in errors


def test_an_unwritable_disk_is_explained() -> None:
    command = [*WIRERANK, "replay", "synthetic:200", "--rankings", "/dev/full"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert Path("/dev/full").is_char_device()
    with Path("/dev/full").open("wb") as full:
        command = [*WIRERANK, "replay", "synthetic:200"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_a_terminal_gets_a_progress_bar() -> None:
    main, terminal = os.openpty()
    with subprocess.Popen(
        [*WIRERANK, "replay", "synthetic:20000", "--lane", "mmp"],
        stdout=subprocess.PIPE, stderr=terminal, env={**os.environ, "TERM": "xterm"},
    ) as process:  # fmt: skip
        os.close(terminal)
        shown = b""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                chunk = os.read(main, 65536)
            except OSError:
                break
            shown += chunk
        assert process.wait(30) == 0
    os.close(main)
    assert b"/20000" in shown
    assert b"/s" in shown
