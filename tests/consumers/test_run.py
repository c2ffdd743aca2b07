"""`wirerank run` whose processes are killed or stopped, and a second one on the same stream."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from consumers.run_lock import LOCK_FILE
from pipeline.corpora import open_source
from tests.conftest import REPOSITORY
from tests.support.kafka_stream import SMALL, Streaming, eventually

LANE = "mmp:loss=1"
PART = 60
HUNG_AFTER = "30"  # a busy machine may take long to start a worker


@contextmanager
def running(
    path: Path, log: Path, *options: str, command: str = "run"
) -> Iterator[subprocess.Popen[bytes]]:
    """`wirerank run` or another command with a configuration, as an operator starts it."""
    with log.open("ab") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "consumers", command, str(path), *options],
            cwd=REPOSITORY, stdout=file, stderr=file,
        )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(60)


def children_of(process: int) -> dict[int, str]:
    """The ids and command lines of the children of a process, dead ones left out."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            command = (folder / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue  # it has just ended
        if int(parent) == process and state != "Z":
            found[int(folder.name)] = command
    return found


def is_running(process: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def test_workers_end_with_a_supervisor_that_is_killed(broker: str, tmp_path: Path) -> None:
    events = list(open_source(f"synthetic:{2 * PART},topics=12"))
    log = tmp_path / "run.log"
    with Streaming(broker, tmp_path, [LANE]) as streaming:
        with running(streaming.path, log, "--tokenizers", "2") as supervisor:
            streaming.produce(events[:PART])
            assert len(streaming.rankings(PART)) == PART, log.read_text()
            workers = children_of(supervisor.pid)
            assert len(workers) == 3, workers
            supervisor.kill()
            supervisor.wait(30)
            gone = eventually(lambda: not any(map(is_running, workers)), 60)
            assert gone, {pid: name for pid, name in workers.items() if is_running(pid)}
        with running(streaming.path, log) as supervisor:
            streaming.produce(events[PART:])
            published = [message.value for message in streaming.rankings(len(events))]
            assert published == streaming.undisturbed()[1], log.read_text()
            supervisor.terminate()
            assert supervisor.wait(60) == 0, log.read_text()
    assert "ended with exit code" not in log.read_text()


def test_a_second_run_says_so_and_does_nothing(broker: str, tmp_path: Path) -> None:
    """With the same snapshot folder, and with another one, as on another machine."""
    log, second = tmp_path / "run.log", tmp_path / "second.log"
    events = list(open_source(f"synthetic:{PART},topics=12"))
    elsewhere = tmp_path / "elsewhere.toml"
    with (
        Streaming(broker, tmp_path, [LANE]) as streaming,
        running(streaming.path, log) as supervisor,
    ):
        streaming.produce(events[: PART // 2])
        assert len(streaming.rankings(PART // 2)) == PART // 2, log.read_text()
        elsewhere.write_text(streaming.text.replace("/snapshots", "/elsewhere"))
        for path, message in (
            (streaming.path, f"is already run by process {supervisor.pid} on"),
            (elsewhere, "is already run on"),
        ):
            with running(path, second) as other:
                assert other.wait(120) == 3, second.read_text()
            assert message in second.read_text()
        assert "metrics = " not in second.read_text()  # no worker was started
        streaming.produce(events[PART // 2 :])
        published = [message.value for message in streaming.rankings(PART)]
        assert published == streaming.undisturbed()[1]
        supervisor.terminate()
        assert supervisor.wait(60) == 0, log.read_text()
        lock = tmp_path / "snapshots" / streaming.name / LOCK_FILE
        assert lock.read_bytes() == b""
    assert "ended with exit code" not in log.read_text()


def test_a_worker_that_is_stopped_is_restarted(broker: str, tmp_path: Path) -> None:
    events = list(open_source(f"synthetic:{3 * PART},topics=12"))
    log = tmp_path / "run.log"
    with (
        Streaming(broker, tmp_path, [LANE]) as streaming,
        running(streaming.path, log, "--hung-after", HUNG_AFTER) as supervisor,
    ):
        streaming.produce(events[:PART])
        assert len(streaming.rankings(PART)) == PART, log.read_text()
        for number, command in enumerate(("learn", "tokenize"), start=1):
            workers = children_of(supervisor.pid)
            (worker,) = [pid for pid, line in workers.items() if f"consumers {command} " in line]
            os.kill(worker, signal.SIGSTOP)
            streaming.produce(events[number * PART : (number + 1) * PART])
            assert len(streaming.rankings((number + 1) * PART)) == (number + 1) * PART
            assert not is_running(worker)
        published = [message.value for message in streaming.rankings(len(events))]
        assert published == streaming.undisturbed()[1]
        supervisor.terminate()
        assert supervisor.wait(60) == 0, log.read_text()
    assert log.read_text().count("has given no sign of life for") >= 2


def test_a_stream_is_served_while_it_learns(broker: str, tmp_path: Path) -> None:
    """The server waits for the first snapshot, takes up newer ones, and ends with the workers.

    Prometheus finds it as it finds the workers.
    """
    events = list(open_source("synthetic:400,topics=12"))
    log, targets = tmp_path / "run.log", tmp_path / "targets"
    with (
        Streaming(broker, tmp_path, [LANE]) as streaming,
        running(with_targets(streaming, targets), log, "--serve", "0") as supervisor,
    ):
        assert eventually(lambda: "waiting for a model" in log.read_text(), 120), log.read_text()
        streaming.produce(events[:200])
        assert eventually(lambda: "/\n" in log.read_text().partition("serving ")[2], 120)
        url = re.findall(r"serving \S+ at (http://\S+)/", log.read_text())[-1]
        assert eventually(lambda: documents_of(url) >= 200, 60)
        streaming.produce(events[200:])
        assert eventually(lambda: documents_of(url) == 400, 60), log.read_text()
        request = urllib.request.Request(  # noqa: S310 - on this machine
            f"{url}/v1/rank", b'{"text": "wheat harvest"}', {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
            assert b'"ranking":[{"topic":' in answer.read()
        groups = [group for path in targets.glob("*.json") for group in read_json(path)]
        jobs = {group["labels"]["job"]: group for group in groups}
        assert jobs.keys() == {"wirerank-learner", "wirerank-tokenizer", "wirerank-serve"}
        server = jobs["wirerank-serve"]
        assert server["labels"]["worker"] == f"server of stream {streaming.name}"
        assert server["targets"] == [url.removeprefix("http://")]
        with urllib.request.urlopen(f"{url}/metrics", timeout=30) as answer:  # noqa: S310
            assert b"wirerank_" in answer.read()
        servers = [
            pid for pid, command in children_of(supervisor.pid).items() if " serve " in command
        ]
        assert len(servers) == 1
        supervisor.terminate()
        assert supervisor.wait(60) == 0, log.read_text()
        assert not is_running(servers[0])
        assert list(targets.glob("*.json")) == []


def with_targets(streaming: Streaming, folder: Path) -> Path:
    """The configuration of a stream, with a folder of scrape targets."""
    text = streaming.text.replace("[metrics]\n", f'[metrics]\ntargets_folder = "{folder}"\n')
    streaming.path.write_text(text)
    return streaming.path


def read_json(path: Path) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = orjson.loads(path.read_bytes())
    return content


def test_a_learner_serves_what_the_stream_publishes_next(broker: str, tmp_path: Path) -> None:
    """The served ranking of a document has the bytes that are published for it afterwards."""
    *events, last = open_source("synthetic:301,topics=12")
    log = tmp_path / "learn.log"
    lanes = [LANE, "arow"]
    with Streaming(broker, tmp_path, lanes, settings=f"{SMALL}\ntop = 5") as streaming:
        streaming.start("tokenize-0")
        with running(streaming.path, log, "--serve", "0", command="learn") as learner:
            streaming.produce(events)
            assert eventually(lambda: "/\n" in log.read_text().partition("serving ")[2], 120)
            url = re.findall(r"serving \S+ at (http://\S+)/", log.read_text())[-1]
            assert eventually(lambda: documents_of(url) == len(events), 120), log.read_text()
            request = urllib.request.Request(  # noqa: S310 - on this machine
                f"{url}/v1/rank",
                b'{"documents":[%b],"top":5}' % last,
                {"Content-Type": "application/json"},
            )
            with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
                served = answer.read()
            streaming.produce([last])
            wanted = len(lanes) * (len(events) + 1)
            number = orjson.loads(last)["id"]
            values = [message.value or b"{}" for message in streaming.rankings(wanted)]
            published = [value for value in values if orjson.loads(value)["id"] == number]
            learner.terminate()
            assert learner.wait(60) == 0, log.read_text()
    ordered = sorted(published, key=lambda value: lanes.index(orjson.loads(value)["lane"]))
    assert len(ordered) == len(lanes)  # lanes publish in any order
    assert b'"rankings":[%b],"refused"' % b",".join(ordered) in served


def documents_of(url: str) -> int:
    """How many documents the served model has learned; 0 if it does not answer."""
    try:
        with urllib.request.urlopen(f"{url}/v1/model", timeout=30) as answer:  # noqa: S310
            return int(orjson.loads(answer.read())["documents"])
    except OSError:
        return 0
