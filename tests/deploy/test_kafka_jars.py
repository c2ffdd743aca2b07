"""Kafka's jars are fetched once, and a failed fetch leaves nothing; Maven only pretends here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.kafka import KafkaUnavailableError, fetch, jars
from tests.support.kafka_fixture import need_kafka

REPOSITORY = Path(__file__).resolve().parents[2]

FAKE_MAVEN = """#!/bin/sh
for argument; do case "$argument" in -DoutputDirectory=*) into=${argument#*=};; esac; done
echo run >> "$FAKE_RUNS"
[ -z "$FAKE_FAILS" ] || { mkdir -p "$into"; echo "[ERROR] no route to host"; exit 1; }
mkdir -p "$into"; sleep 1; touch "$into/kafka_2.13-$FAKE_VERSION.jar"
"""


@pytest.fixture
def fake_maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty cache folder; Maven is a script that counts its runs."""
    need_kafka()
    maven = tmp_path / "bin" / "mvn"
    maven.parent.mkdir()
    maven.write_text(FAKE_MAVEN)
    maven.chmod(0o755)
    monkeypatch.setenv("PATH", f"{maven.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("FAKE_VERSION", jars.kafka_version())
    monkeypatch.setenv("WIRERANK_KAFKA_HOME", str(tmp_path / "home"))
    return tmp_path


def test_two_processes_fetch_once(fake_maven: Path) -> None:
    program = "from deploy.kafka import fetch; print(fetch())"
    both = [
        subprocess.Popen(
            [sys.executable, "-c", program], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    answers = {process.communicate(timeout=120)[0].strip() for process in both}
    assert len(answers) == 1
    assert list(Path(answers.pop()).iterdir())
    assert (fake_maven / "runs").read_text() == "run\n"
    assert not list((fake_maven / "home").glob("fetching-*"))


def test_a_failed_fetch_leaves_nothing(fake_maven: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_FAILS", "1")
    with pytest.raises(KafkaUnavailableError, match="no route to host"):
        fetch()
    assert not list((fake_maven / "home").glob("*jars*"))
    monkeypatch.setenv("FAKE_FAILS", "")
    assert fetch().is_dir()


def test_the_message_names_the_missing_program(
    fake_maven: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jars.java()  # remembered, so only Maven is gone
    monkeypatch.setenv("PATH", str(fake_maven))
    with pytest.raises(KafkaUnavailableError, match="no mvn on the path: install Java 17"):
        fetch()
    jars.find_java.cache_clear()
    with pytest.raises(KafkaUnavailableError, match="no java on the path: install Java 17"):
        fetch()
