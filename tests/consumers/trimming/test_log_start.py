"""Marks of the log, and the lock that trimming and new lanes share."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from consumers.kafka.log_reader import LogDescription
from consumers.kafka_rights import DELETE, Role, rights
from consumers.log_settings import LogLimit, RetentionSettings, parse_keep, retention_ms
from consumers.stream_settings import StreamSettings
from consumers.trimming.log_start import (
    LogBusyError,
    LogMark,
    log_lock,
    read_marks,
    remove_marks_before,
    write_mark,
)
from tests.conftest import REPOSITORY

COVERAGE = [["wire", "topic-id", 0, 17], ["wire", "topic-id", 1, 0]]
HOLDS_THE_LOCK = """
import sys, pathlib
from consumers.trimming.log_start import log_lock
with log_lock(pathlib.Path(sys.argv[1])):
    print("locked", flush=True)
    sys.stdin.read()
"""


def described(first: int = 0, identity: str = "id") -> LogDescription:
    return LogDescription("wire.blocks", identity, first, 100)


def test_a_mark_is_read_as_it_was_written(tmp_path: Path) -> None:
    marks = [LogMark(position, COVERAGE, "id") for position in (5, 9, 30)]
    for mark in reversed(marks):
        write_mark(tmp_path, mark)
    damaged: list[str] = []
    assert read_marks(tmp_path, described(), damaged) == marks
    assert read_marks(tmp_path, described(first=6), damaged) == marks[1:]
    assert read_marks(tmp_path, described(identity="another"), damaged) == []
    remove_marks_before(tmp_path, 9)
    assert read_marks(tmp_path, described(), damaged) == marks[1:]
    assert damaged == []
    assert read_marks(tmp_path / "missing", described(), damaged) == []


def test_a_damaged_mark_is_named(tmp_path: Path) -> None:
    write_mark(tmp_path, LogMark(5, COVERAGE, "id"))
    (path,) = tmp_path.glob("*.log-mark")
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    damaged: list[str] = []
    assert read_marks(tmp_path, described(), damaged) == []
    assert [str(path) in problem for problem in damaged] == [True]


def test_the_lock_is_free_when_its_process_is_killed(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDS_THE_LOCK, str(tmp_path)],
        cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"locked\n"
    with pytest.raises(LogBusyError, match="another process trims the log"), log_lock(tmp_path, 0):
        pass
    holder.kill()
    holder.wait(60)
    with log_lock(tmp_path, 0):
        pass


@pytest.mark.parametrize("text", ["", "d", "0d", "30", "30 days", "100gb", "-1d", "1d ", "1e9GB"])
def test_amounts_that_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected forever, snapshots, a time such as 30d"):
        parse_keep(text)


def test_amounts() -> None:
    assert parse_keep("2w") == LogLimit(seconds=14 * 86_400)
    assert parse_keep("90min") == LogLimit(seconds=5400)
    assert parse_keep("5 MiB") == LogLimit(bytes=5 << 20)
    assert parse_keep("1TB") == LogLimit(bytes=10**12)
    assert retention_ms("12h") == 43_200_000
    with pytest.raises(ValueError, match="expected forever, broker"):
        RetentionSettings(rankings="100GB")


@pytest.mark.parametrize("keep", ["forever", "30d"])
def test_only_a_stream_that_is_trimmed_needs_the_right_to_delete(keep: str) -> None:
    lanes = [{"spec": "mmp:loss=1"}]
    stream = StreamSettings.model_validate({"name": "w", "lanes": lanes, "log": {"keep": keep}})
    deleting = [r for r in rights(stream, False, "reader") if DELETE in r.operations]
    assert [(r.role, r.name) for r in deleting] == [(Role.LEARNER, "w.blocks")] * (keep == "30d")
