"""`wirerank serve` as a process: its paths, its token, newer models, and how it ends."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from pipeline.serving.counters import FAMILIES
from pipeline.serving.openapi import openapi_document
from tests.support.command_line import wirerank
from tests.support.model_server import ModelServer, save_model

pytestmark = pytest.mark.slow

TOKEN = "a-token-for-a-test"  # noqa: S105
DOCUMENT = b'{"text": "w1 w2", "id": "x"}'


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("served"), "mmp:loss=1", "perceptron")


@pytest.fixture(scope="module")
def server(model: Path) -> Iterator[ModelServer]:
    with ModelServer(model, "--processes", "2") as server:
        yield server


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait; a test that fails waits for a minute."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_rankings_are_those_of_rank(server: ModelServer, model: Path, tmp_path: Path) -> None:
    events = tmp_path / "one.jsonl"
    events.write_bytes(DOCUMENT + b"\n")
    ranked = wirerank("rank", str(model), str(events), "--quiet", "--processes", "1")
    lines = [line.encode() for line in ranked.stdout.splitlines()]
    answer = server.ask("/v1/rank", DOCUMENT)
    assert answer.status == 200
    assert b'"rankings":[%b],"refused":[]}' % b",".join(lines) in answer.body


def test_paths(server: ModelServer) -> None:
    described = server.ask("/openapi.json").json
    assert described == openapi_document(4 << 20)
    for path in described["paths"]:
        expected = 405 if path == "/v1/rank" else 200
        assert server.ask(path).status == expected, path
    assert [lane["name"] for lane in server.ask("/v1/lanes").json["lanes"]] == [
        "mmp:loss=1",
        "perceptron",
    ]
    assert "t1" in server.ask("/v1/topics").json["topics"]
    assert server.ask("/v1/model").json["documents"] > 100
    assert server.ask("/none").status == 404
    assert server.ask("/v1/topics", b"{}").status == 405
    assert server.ask("/v1/topics", b"{}").headers["allow"] == "GET, HEAD"
    assert server.ask("/v1/rank").headers["allow"] == "POST"
    assert server.ask("/../etc/passwd").status == 404


def test_requests_of_foreign_pages_are_refused(server: ModelServer) -> None:
    assert server.ask("/v1/model", host="evil.example").status == 421
    assert server.ask("/v1/rank", DOCUMENT, Content_Type="text/plain").status == 415
    policy = server.ask("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy


def test_metrics_of_all_processes(server: ModelServer) -> None:
    def read() -> dict[tuple[str, str], float]:
        text = server.ask("/metrics").body.decode()
        return {
            (sample.name, sample.labels.get("status", "")): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    before = read()
    for _ in range(20):  # spread over the processes
        server.ask("/v1/rank", DOCUMENT)
    after = read()
    name = "wirerank_serve_documents_total"
    assert after[name, ""] - before[name, ""] == 20
    text = server.ask("/metrics").body.decode()
    assert all(f"# TYPE {family.name}" in text for family in FAMILIES)


def test_a_token_is_needed_beyond_loopback(model: Path, tmp_path: Path) -> None:
    result = wirerank("serve", str(model), "--host", "0.0.0.0", "--port", "0")  # noqa: S104
    assert result.exit_code == 2
    assert "--token-file" in result.output
    short = tmp_path / "token"
    short.write_text("short\n")
    result = wirerank("serve", str(model), "--token-file", str(short), "--port", "0")
    assert result.exit_code == 2
    assert "16 to 1,024" in result.output
    assert "short" not in result.output.replace("shorter", "")


def test_a_token_is_checked(model: Path) -> None:
    options = ("--processes", "1", "--host", "0.0.0.0")  # noqa: S104
    with ModelServer(model, *options, environment={"WIRERANK_SERVE_TOKEN": TOKEN}) as server:
        for path in ("/healthz", "/readyz", "/", "/openapi.json"):
            assert server.ask(path).status == 200, path
        for path in ("/v1/model", "/v1/topics", "/v1/lanes", "/metrics"):
            assert server.ask(path).status == 401, path
        for wrong in ("", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x"):
            answer = server.ask("/v1/rank", DOCUMENT, authorization=wrong)
            assert answer.status == 401, wrong
            assert answer.headers["www-authenticate"] == "Bearer"
        right = server.ask("/v1/rank", DOCUMENT, authorization=f"Bearer {TOKEN}")
        assert right.status == 200


def test_a_port_in_use_is_named(server: ModelServer, model: Path) -> None:
    result = wirerank("serve", str(model), "--port", str(server.port))
    assert result.exit_code == 2
    assert "in use" in result.output


def test_a_newer_model_is_taken_up_and_a_damaged_one_is_not(tmp_path: Path) -> None:
    served = tmp_path / "served.model"
    shutil.copy(save_model(tmp_path / "old", "mmp:loss=1", events=100), served)
    newer = save_model(tmp_path / "new", "mmp:loss=1", events=300)
    with ModelServer(served, "--processes", "1", "--refresh", "0.1") as server:
        first = server.ask("/v1/model").json["documents"]
        os.replace(newer, served)
        server.wait_for("serving a newer model")
        second = server.ask("/v1/model").json["documents"]
        assert second > first
        assert server.ask("/v1/rank", DOCUMENT).status == 200
        served.write_bytes(served.read_bytes()[:-10])
        server.wait_for("the present one stays")
        assert server.ask("/v1/rank", DOCUMENT).json["model"]["documents"] == second


def test_a_process_that_dies_is_started_again(model: Path) -> None:
    with ModelServer(model, "--processes", "2") as server:
        before = server.children()
        os.kill(before[0], signal.SIGKILL)
        server.wait_for("started again")
        wait_until(lambda: len(server.children()) == 2 and before[0] not in server.children())
        for _ in range(20):
            assert server.ask("/v1/rank", DOCUMENT).status == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_no_process_is_left_behind(model: Path, number: int) -> None:
    with ModelServer(model, "--processes", "2") as server:
        children = server.children()
        assert len(children) == 2
        code = server.stop(number)
        assert code == (-signal.SIGKILL if number == signal.SIGKILL else 0)
        wait_until(lambda: not any(Path(f"/proc/{pid}/cmdline").exists() for pid in children))
