"""The files by which Prometheus finds workers: written, replaced, withdrawn, left behind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.metrics.scrape_target import ScrapeTarget, is_locked, remove_abandoned, target_address
from tests.conftest import REPOSITORY
from tests.support.prometheus_server import program

WRITER = """
import sys
from pathlib import Path
from pipeline.metrics.scrape_target import ScrapeTarget
kept = ScrapeTarget(Path(sys.argv[1]), "wirerank-tokenizer", sys.argv[2], "wire", "127.0.0.1:1")
print(kept.path, flush=True)
sys.stdin.read()
"""


def target(folder: Path, worker: str, stream: str = "wire", port: int = 9710) -> ScrapeTarget:
    address = target_address("127.0.0.1", port)
    return ScrapeTarget(folder, "wirerank-tokenizer", worker, stream, address)


def writer(folder: Path, worker: str) -> tuple[subprocess.Popen[str], Path]:
    """A process that has written its file, and holds it until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), worker],
        cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_a_file_says_where_the_worker_is_and_goes_with_it(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "targets"
    one = target(folder, "tokenizer 0 of stream wire")
    ((group,),) = [json.loads(path.read_text()) for path in folder.iterdir()]
    assert group["targets"] == ["127.0.0.1:9710"]
    assert group["labels"]["worker"] == "tokenizer 0 of stream wire"
    one.withdraw()
    assert list(folder.iterdir()) == []


def test_promtool_accepts_the_file(tmp_path: Path) -> None:
    target(tmp_path / "targets", "tokenizer 0 of stream wire")
    configuration = (REPOSITORY / "deploy/prometheus/prometheus.yml").read_text()
    where = REPOSITORY / "deploy" / "prometheus" / "rules"
    path = tmp_path / "prometheus.yml"
    path.write_text(configuration.replace("- rules/", f"- {where}/"))
    done = subprocess.run(
        [program("promtool"), "check", "config", str(path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "does not exist" not in done.stdout + done.stderr  # as it says without a file


def test_a_worker_does_not_remove_the_file_of_its_successor(tmp_path: Path) -> None:
    first = target(tmp_path, "learner of stream wire", port=1)
    second = target(tmp_path, "learner of stream wire", port=2)
    first.withdraw()
    assert "127.0.0.1:2" in second.path.read_text()
    second.withdraw()
    assert list(tmp_path.iterdir()) == []


def test_the_file_of_a_killed_worker_stays_until_a_run_starts(tmp_path: Path) -> None:
    process, path = writer(tmp_path, "tokenizer 3 of stream wire")
    living = target(tmp_path, "tokenizer 0 of stream wire")
    try:
        assert is_locked(path)
        assert remove_abandoned(tmp_path, ["wire"]) == []
    finally:
        process.kill()
        process.communicate()
    assert path.exists()
    assert not is_locked(path)
    other = target(tmp_path, "tokenizer 0 of stream other", stream="other")
    strange = tmp_path / "strange.json"
    strange.write_text('[{"targets": []}]')
    assert remove_abandoned(tmp_path, ["other"]) == []
    assert remove_abandoned(tmp_path, ["wire"]) == [path]
    assert {living.path, other.path, strange} == set(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_an_error_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        target(tmp_path / "file", "tokenizer 0 of stream wire")
    assert remove_abandoned(tmp_path / "absent", ["wire"]) == []
