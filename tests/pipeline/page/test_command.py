"""`wirerank replay --page`: when the page is there, and when it goes."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import orjson
import pytest

from pipeline.commands import live_page
from tests.support.command_line import WIRERANK, wirerank, write_events
from tests.support.ports import free_port


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def latest_update(address: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{address}updates", timeout=60) as answer:  # noqa: S310
        update: dict[str, Any] = orjson.loads(answer.read())
    return update


def wait_for_state(address: str, state: str) -> dict[str, Any]:
    until = time.monotonic() + 30
    while (update := latest_update(address))["status"]["state"] != state:
        assert time.monotonic() < until, update["status"]
        time.sleep(0.05)
    return update


def address_from(file: IO[bytes]) -> str:
    for line in file:
        if match := re.search(rb"live page: (http://127.0.0.1:\d+/)", line):
            return match[1].decode()
    raise AssertionError("no address was said")


@contextmanager
def at_a_terminal(*arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
    """A replay whose standard error is a terminal."""
    main, terminal = os.openpty()
    command = [*WIRERANK, "replay", *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=terminal
    ) as process:
        os.close(terminal)
        with os.fdopen(main, "rb") as shown:
            yield process, shown
        process.kill()


def test_in_a_script_the_page_ends_with_the_run() -> None:
    command = [*WIRERANK, "replay", write_events(), "--page", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0
    assert re.search(r"^live page: http://127\.0\.0\.1:\d+/$", done.stderr, re.M)
    assert "the page stays" not in done.stderr


def test_a_pipe_is_shown_as_it_comes() -> None:
    with subprocess.Popen(
        [*WIRERANK, "replay", "-", "--lane", "mmp", "--page"],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stderr is not None
        address = address_from(process.stderr)
        for number in range(1, 4):
            process.stdin.write(b'{"id":%d,"text":"x","topics":["a"]}\n' % number)
            process.stdin.flush()
            until = time.monotonic() + 30
            while (status := latest_update(address)["status"])["documents"] < number:
                assert time.monotonic() < until, status
                time.sleep(0.05)
        assert latest_update(address)["heading"]["source"] == "standard input"
        documents = latest_update(address)["documents"]
        assert [document["id"] for document in documents] == ["1", "2", "3"]
        process.stdin.close()
        assert process.wait(30) == 0


def test_at_a_terminal_the_page_stays_until_it_is_interrupted() -> None:
    with at_a_terminal(write_events(), "--page") as (process, shown):
        address = address_from(shown)
        while b"the page stays at " not in shown.readline():
            assert process.poll() is None
        status = wait_for_state(address, "ended")["status"]
        assert (status["documents"], status["rounds"]) == (4, 4)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0


def test_who_interrupts_a_run_wants_no_page_either() -> None:
    with at_a_terminal("-", "--page") as (process, shown):
        wait_for_state(address_from(shown), "running")
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130


def test_a_failed_run_shows_where_it_failed_and_still_fails() -> None:
    Path("cut.jsonl.gz").write_bytes(b"\x1f\x8b rubbish")
    with at_a_terminal("cut.jsonl.gz", "--page") as (process, shown):
        status = wait_for_state(address_from(shown), "failed")["status"]
        assert "damaged or cut off" in status["note"]
        while b"the page stays at " not in shown.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 1


def test_a_port_can_be_chosen_and_may_be_taken() -> None:
    port = str(free_port())
    with socket.create_server(("127.0.0.1", int(port))):
        result = wirerank("replay", write_events(), "--page", "--page-port", port)
    assert result.exit_code == 2
    assert f"cannot be served at port {port}: Address already in use." in result.stderr
    result = wirerank("replay", write_events(), "--page", "--page-port", port)
    assert result.exit_code == 0
    assert f"live page: http://127.0.0.1:{port}/" in result.stderr


def test_a_port_without_a_page_is_a_mistake() -> None:
    result = wirerank("replay", write_events(), "--page-port", "8000")
    assert result.exit_code == 2
    assert "--page-port needs --page" in result.stderr


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_page, "find_spec", lambda name: None if name == "uvicorn" else name)
    result = wirerank("replay", write_events(), "--page")
    assert result.exit_code == 2
    assert "--page needs uvicorn. Install it with: pip install 'wirerank[page]'" in result.stderr
