"""Tokenizers and learners of different releases on one log: it works, or the order is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from consumers.kafka.clients import new_producer
from consumers.supervisor import NEEDS_AN_OPERATOR
from tests.releases.test_releases import RELEASES, read_log, version_of, with_version
from tests.releases.writing import FOLDER, LANES, TOP
from tests.support.kafka_stream import Streaming


def append(streaming: Streaming, records: list[bytes]) -> None:
    """Write to the log, as tokenizers of another release do."""
    producer = new_producer(streaming.config.kafka)
    for record in records:
        producer.send(streaming.stream.blocks, record, partition=0).get(60)
    producer.close(timeout=5)


@pytest.mark.parametrize("release", RELEASES)
def test_learners_follow_older_tokenizers_and_refuse_newer_ones(
    broker: str, tmp_path: Path, release: str
) -> None:
    log = read_log(FOLDER / release)
    expected = (FOLDER / release / "rankings.jsonl").read_bytes().splitlines()
    with Streaming(broker, tmp_path, LANES, settings=f"top = {TOP}") as streaming:
        append(streaming, log)
        streaming.start("learn")
        made = [message.value for message in streaming.rankings(len(expected))]
        assert sorted(value or b"" for value in made) == sorted(expected)
        append(streaming, [with_version(log[-1], version_of(log[-1]) + 1)])
        assert streaming.code("learn") == NEEDS_AN_OPERATOR
        written = streaming.log("learn")
        assert f"offset {len(log)}" in written
        assert "which a newer release wrote" in written
        assert "Upgrade the learners first" in written
        assert "Traceback" not in written
        assert len(streaming.rankings(len(expected))) == len(expected)
