"""Logs of the workers: who speaks, when, in which format, and that no secret appears."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from consumers.assignment import ShardAssignment, learner_fields
from consumers.config import read_config
from consumers.kafka.client_types import Header
from consumers.logs import (
    LineFormatter,
    LogFormat,
    LogLevel,
    StandardErrorHandler,
    about_event,
    describe_settings,
    log_settings,
    set_up_logging,
)
from consumers.settings import Config
from consumers.supervisor import children
from tests.conftest import REPOSITORY
from tests.support.kafka_stream import eventually
from tests.support.ports import free_port

WORKER = "tokenizer 0 of stream newswire"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
PASSWORD = "correct-battery-99"  # noqa: S105
CONFIG = """
[kafka]
security_protocol = "SASL_PLAINTEXT"
sasl_mechanism = "PLAIN"
sasl_username = "wirerank"
sasl_password = "correct-battery-99"

[snapshots]
folder = "~/state/snapshots"

[[streams]]
name = "newswire"
lanes = [{spec = "mmp:loss=1", shards = 2}, {spec = "perceptron", publish = false}]
"""


@dataclass
class ReadRecord:
    """A record as a consumer reads it."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header]
    damage: str = ""


@pytest.fixture
def config(tmp_path: Path) -> Config:
    path = tmp_path / "wirerank.toml"
    path.write_text(CONFIG)
    return read_config(path, {})


@pytest.fixture(autouse=True)
def _restored_logging() -> Iterator[None]:
    root, kafka = logging.getLogger(), logging.getLogger("kafka")
    levels = root.level, kafka.level
    yield
    root.setLevel(levels[0])
    kafka.setLevel(levels[1])
    for handler in [h for h in root.handlers if isinstance(h, StandardErrorHandler)]:
        root.removeHandler(handler)


def test_a_line_says_when_how_serious_and_who(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging(WORKER, LogLevel.INFO, LogFormat.TEXT)
    logging.getLogger("consumers.test").warning("the broker at %s is away", "b:9092")
    logging.getLogger("consumers.test").debug("a detail")
    (line,) = capsys.readouterr().err.splitlines()
    assert re.fullmatch(
        rf"{TIME} WARNING \[{WORKER}\] consumers\.test: the broker at b:9092 is away", line
    )


def test_the_level_decides_what_is_logged(capsys: pytest.CaptureFixture[str]) -> None:
    for level in (LogLevel.DEBUG, LogLevel.ERROR):  # the second set-up replaces the first
        set_up_logging(WORKER, level, LogFormat.TEXT)
        logging.getLogger("consumers.test").debug("detail at %s", level)
        logging.getLogger("consumers.test").error("problem at %s", level)
    output = capsys.readouterr().err
    assert [word in output for word in ("detail at debug", "detail at error")] == [True, False]
    assert output.count("problem at") == 2


def test_json_is_one_object_per_line(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging(WORKER, LogLevel.INFO, LogFormat.JSON)
    logger = logging.getLogger("consumers.test")
    logger.info('lane "é"\nof two lines')
    try:
        raise ValueError("no such offset")
    except ValueError:
        logger.exception("failed")
    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    assert re.fullmatch(TIME, first.pop("time"))
    assert first == {
        "level": "INFO",
        "worker": WORKER,
        "logger": "consumers.test",
        "message": 'lane "é"\nof two lines',
    }
    assert second["level"] == "ERROR"
    assert second["exception"].endswith("ValueError: no such offset")


def test_json_names_what_the_worker_works_on_and_where_an_event_comes_from(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assignment = ShardAssignment("mmp:loss=1", 0, 2)
    fields = learner_fields("newswire", "mmp:loss=1", assignment)
    set_up_logging("learner", LogLevel.INFO, LogFormat.JSON, fields)
    headers: list[Header] = [
        ("traceparent", b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
    ]
    message = ReadRecord("newswire.documents", 3, 1234, 0, b"n\xff1", None, headers)
    logging.getLogger("consumers.test").info("dead", extra=about_event(message))
    logging.getLogger("consumers.test").info("alive")
    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    named = {"role": "learner", "stream": "newswire", "lane": "mmp:loss=1", "shard": "0/2"}
    assert {**first, **named} == first
    assert first["event"] == {
        "topic": "newswire.documents",
        "partition": 3,
        "offset": 1234,
        "key": "n\ufffd1",
        "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    }
    assert "event" not in second


def test_an_exception_follows_its_line_in_text() -> None:
    try:
        raise ValueError("no such offset")
    except ValueError:
        record = logging.LogRecord("a", logging.ERROR, "", 0, "failed", None, sys.exc_info())
    lines = LineFormatter(WORKER, LogFormat.TEXT).format(record).splitlines()
    assert lines[0].endswith("a: failed")
    assert lines[-1] == "ValueError: no such offset"


def test_every_line_for_the_journal_has_its_priority() -> None:
    """Also those of an exception; systemd removes the prefix, and adds the time."""
    try:
        raise ValueError("no such offset")
    except ValueError:
        record = logging.LogRecord("a", logging.ERROR, "", 0, "failed", None, sys.exc_info())
    formatter = LineFormatter(WORKER, LogFormat.JOURNAL)
    first, *rest = formatter.format(record).splitlines()
    assert first == f"<3>[{WORKER}] a: failed"
    assert len(rest) > 1
    assert all(line.startswith("<3>") for line in rest)
    for level, priority in (("DEBUG", 7), ("INFO", 6), ("WARNING", 4), ("CRITICAL", 2)):
        record = logging.LogRecord("a", getattr(logging, level), "", 0, "done", None, None)
        assert formatter.format(record) == f"<{priority}>[{WORKER}] a: done"


def test_settings_are_readable_and_without_secrets(
    config: Config, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = list(describe_settings(config))
    assert lines[0].startswith('kafka: bootstrap = "127.0.0.1:9092", security_protocol = "SASL_')
    assert 'sasl_password = "**********"' in lines[0]
    folder = Path("~/state/snapshots").expanduser()
    assert (
        lines[1] == f'snapshots: folder = "{folder}", every_seconds = 60.0, keep = 3, copy_to = ""'
    )
    assert lines[2].startswith('metrics: host = "127.0.0.1", ')
    assert lines[3].startswith('stream newswire: documents = ["newswire.documents"], ')
    assert lines[4] == (
        'stream newswire, lane mmp:loss=1: spec = "mmp:loss=1", publish = true, shards = 2, '
        "shared_memory = true"
    )
    set_up_logging(WORKER, LogLevel.DEBUG, LogFormat.JSON)
    log_settings(config)
    output = capsys.readouterr().err
    assert len(output.splitlines()) == len(lines) == 6
    assert PASSWORD not in output


def test_a_relative_snapshot_folder_is_logged_as_an_absolute_one(tmp_path: Path) -> None:
    path = tmp_path / "wirerank.toml"
    path.write_text(CONFIG.replace("~/state/snapshots", "kept"))
    config = read_config(path, {})
    assert config.snapshots.folder == Path("kept")
    assert f'folder = "{Path.cwd() / "kept"}"' in list(describe_settings(config))[1]


def test_the_client_library_is_silent_at_every_level(capsys: pytest.CaptureFixture[str]) -> None:
    """kafka-python would log what it sends, and each lost connection several times."""
    set_up_logging(WORKER, LogLevel.DEBUG, LogFormat.TEXT)
    logging.getLogger("kafka.conn").error("authentication with %s", PASSWORD)
    assert capsys.readouterr().err == ""


def test_the_supervisor_passes_its_log_options_on(config: Config, tmp_path: Path) -> None:
    given = ["--supervised", "--log-level", "debug", "--log-format", "json"]
    workers = children(config, tmp_path, 1, logging_options=given)
    assert [worker.name for worker in workers] == [
        "tokenizer 0 of stream newswire",
        "learner of stream newswire",
        "learner mmp:loss=1 shard 0/2 of stream newswire",
        "learner mmp:loss=1 shard 1/2 of stream newswire",
    ]
    assert all(worker.arguments[-5:] == given for worker in workers)


def test_run_logs_the_settings_once_and_every_line_is_json(tmp_path: Path) -> None:
    """Nobody listens at the broker's address; the workers wait, and stop when asked to."""
    path = tmp_path / "wirerank.toml"
    path.write_text(
        f'[kafka]\nbootstrap = "127.0.0.1:{free_port()}"\n[metrics]\nport = 0\n'
        f'[snapshots]\nfolder = "{tmp_path}/snapshots"\n'
        '[[streams]]\nname = "newswire"\nlanes = [{spec = "mmp:loss=1"}]\n'
    )
    command = [sys.executable, "-m", "consumers", "run", str(path), "--log-format", "json"]
    log = tmp_path / "run.log"
    with log.open("wb") as file:
        process = subprocess.Popen(command, cwd=REPOSITORY, stdout=file, stderr=file)
    workers = ["tokenizer 0 of stream newswire", "learner of stream newswire"]

    def waiting() -> set[str]:
        lines = [json.loads(line) for line in log.read_text().splitlines(keepends=True)[:-1]]
        return {line["worker"] for line in lines if "trying again in" in line["message"]}

    try:
        assert eventually(lambda: waiting() == {*workers}, 180), log.read_text()
    finally:
        process.terminate()
        code = process.wait(60)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert code == 0
    assert {line["worker"] for line in lines} == {"supervisor", *workers}
    settings = [line for line in lines if line["message"].startswith("settings: ")]
    assert {line["worker"] for line in settings} == {"supervisor"}
    assert len(settings) == 5
    assert lines[-1]["message"] == "stopped: all 2 workers have ended"
