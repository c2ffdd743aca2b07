"""Settings of copies, and a store that cannot be reached when a worker starts."""

from __future__ import annotations

import logging
import sys
import threading
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from consumers.config import read_config
from consumers.settings import Config, ConfigError
from consumers.snapshot_copies import copies as module
from consumers.snapshot_copies.copies import SnapshotCopies
from pipeline.metrics.collectors import LearnerMetrics
from tests.support.ports import free_port

LANE = "mmp:loss=1"


def config(folder: Path, url: str) -> Config:
    path = folder / "wirerank.toml"
    path.write_text(
        f'[snapshots]\nfolder = "{folder}/snapshots"\ncopy_to = "{url}"\n'
        f'[[streams]]\nname = "wire"\nlanes = [{{spec = "{LANE}"}}]\n'
    )
    return read_config(path, {})


def copies(folder: Path, url: str) -> SnapshotCopies:
    settings = config(folder, url)
    metrics = LearnerMetrics(CollectorRegistry(), "wire")
    return SnapshotCopies(settings, settings.streams[0], folder / "snapshots" / "wire", metrics)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("bucket/prefix", "no address of an object store"),
        ("ftp://host/prefix", "no address of an object store"),
        ("s3://", "no address of an object store"),
        ("s3://user:swordfish@bucket", "give them in the environment"),
        ("s3://bucket?key=swordfish", "give them in the environment"),
    ],
)
def test_wrong_addresses_are_refused(tmp_path: Path, url: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem) as raised:
        config(tmp_path, url)
    assert "swordfish" not in str(raised.value)


def test_a_store_that_is_away_is_waited_for_and_then_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("obstore")
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0.1)
    made, stop, tries = copies(tmp_path, "s3://bucket"), threading.Event(), list[int]()

    def alive() -> None:
        tries.append(1)
        if len(tries) == 3:
            stop.set()

    monkeypatch.setattr(module, "FETCH_SECONDS", 600.0)
    made.fetch([LANE], "log", stop, alive)
    assert len(tries) == 3  # a worker that waits can be stopped
    assert "Going on" not in caplog.text
    monkeypatch.setattr(module, "FETCH_SECONDS", 0.0)
    made.fetch([LANE], "log", threading.Event(), lambda: None)
    assert "Going on with the log" in caplog.text


def test_without_the_extra_the_log_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setitem(sys.modules, "obstore", None)
    made = copies(tmp_path, "s3://bucket")
    made.fetch([LANE], "log", threading.Event(), lambda: None)
    made.start()
    made.offer(tmp_path / "x")
    made.close()
    assert caplog.text.count("pip install 'wirerank[object-store]'") == 2
