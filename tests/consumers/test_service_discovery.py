"""A real Prometheus finds the workers of a real `wirerank run`, and sees them go."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.support.kafka_stream import eventually
from tests.support.ports import free_port
from tests.support.prometheus_server import Prometheus

PATIENCE_SECONDS = 180
CONFIG = """
[kafka]
bootstrap = "127.0.0.1:{port}"

[snapshots]
folder = "{folder}/snapshots"

[metrics]
port = 0
targets_folder = "{folder}/targets"

[[streams]]
name = "wire"
lanes = [{{spec = "mmp:loss=1"}}]
"""
LEARNER = "learner of stream wire"
FIRST, SECOND = "tokenizer 0 of stream wire", "tokenizer 1 of stream wire"


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[Prometheus]:
    """A Prometheus with the job that is shipped, and nothing else."""
    shipped = (REPOSITORY / "deploy" / "prometheus" / "prometheus.yml").read_text()
    job = shipped[shipped.index("scrape_configs:") : shipped.index("  # wirerank replay")]
    server = Prometheus(tmp_path, f"global: {{scrape_interval: 1s}}\n{job}", tmp_path / "data")
    try:
        assert eventually(server.ready, PATIENCE_SECONDS)
        yield server
    finally:
        server.close()


def started(folder: Path, tokenizers: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "consumers", "run", str(folder / "wirerank.toml")]
    with (folder / "run.log").open("ab") as log:
        return subprocess.Popen(
            [*command, "--tokenizers", str(tokenizers)], cwd=REPOSITORY, stderr=log
        )


@pytest.mark.slow
def test_workers_come_and_go(prometheus: Prometheus, tmp_path: Path) -> None:
    """No broker is needed: workers serve metrics while they wait for it."""
    (tmp_path / "wirerank.toml").write_text(CONFIG.format(port=free_port(), folder=tmp_path))

    def up() -> dict[str, str]:
        current = prometheus.query("up")
        return {s["metric"]["worker"]: s["value"][1] for s in current}

    def seen(expected: dict[str, str]) -> bool:
        return eventually(lambda: up() == expected, PATIENCE_SECONDS)

    run = started(tmp_path, 2)
    try:
        assert seen({LEARNER: "1", FIRST: "1", SECOND: "1"}), (up(), log_of(tmp_path))
        run.send_signal(signal.SIGKILL)  # its workers die with it
        assert seen({LEARNER: "0", FIRST: "0", SECOND: "0"}), up()
        run.wait()
        run = started(tmp_path, 1)  # the second tokenizer is not meant to exist any more
        assert seen({LEARNER: "1", FIRST: "1"}), (up(), log_of(tmp_path))
        jobs = {s["metric"]["job"] for s in prometheus.query("wirerank_ready")}
        assert jobs == {"wirerank-learner", "wirerank-tokenizer"}
        run.send_signal(signal.SIGTERM)
        assert run.wait(PATIENCE_SECONDS) == 0
        assert list((tmp_path / "targets").iterdir()) == []
        assert seen({}), up()
    finally:
        run.kill()
        run.wait()


def log_of(folder: Path) -> str:
    return (folder / "run.log").read_text()
