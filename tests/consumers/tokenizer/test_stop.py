"""A stream with a `stop` reads what is before it, ranks all of that, and ends by itself."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient, NewPartitions

from consumers.config import read_config
from consumers.kafka.clients import connection_options
from consumers.settings import ConfigError
from pipeline.corpora import open_source
from tests.conftest import REPOSITORY
from tests.support.kafka_stream import (
    SMALL,
    Streaming,
    assert_exact,
    eventually,
    without_scores,
)

LANES = ("mmp:loss=1", "perceptron")
NOON = 1_000_000_000_000  # 2001-09-09T01:46:40Z
STOP = '\nstop = "2001-09-09T01:46:40Z"'
WORKERS = ("tokenize-0", "tokenize-1", "learn")


def write_at(
    streaming: Streaming, events: Sequence[bytes], times: Sequence[int], partition: int = 0
) -> None:
    """Write documents with times of their own."""
    producer: Any = KafkaProducer(**connection_options(streaming.config.kafka))
    for event, at in zip(events, times, strict=True):
        producer.send(streaming.documents, event, partition=partition, timestamp_ms=at)
    producer.flush(60)
    producer.close(timeout=5)


def assert_all_end(streaming: Streaming, names: Sequence[str] = WORKERS) -> None:
    for name in names:
        assert streaming.code(name) == 0, streaming.log(name)
        assert "the input of the stream has ended: stop = 2001" in streaming.log(name)


def test_records_from_the_stop_on_are_not_read(broker: str, tmp_path: Path) -> None:
    """Partition 0 has a later record, 1 none, 2 only later ones, 3 nothing; an earlier one last."""
    events = list(open_source("synthetic:160,topics=12"))
    with Streaming(broker, tmp_path, LANES, 4, settings=SMALL + STOP) as streaming:
        before = [NOON - 1000 + n for n in range(100)]
        write_at(streaming, events[:100], before, 0)
        write_at(streaming, events[100:110], [NOON, *[NOON - 5] * 9], 0)
        write_at(streaming, events[110:140], [NOON - 1] * 30, 1)
        write_at(streaming, events[140:150], [NOON + 1] * 10, 2)
        for name in WORKERS:
            streaming.start(name)
        assert_all_end(streaming)
        read = events[:100] + events[110:140]
        published = streaming.rankings(len(LANES) * len(read))
        assert_exact(streaming, published, read)
        # What has ended stays ended, also for what arrives late.
        write_at(streaming, events[150:155], [NOON - 7] * 5, 1)
        for name in WORKERS:
            streaming.start(name)
        assert_all_end(streaming)
        assert_exact(streaming, streaming.rankings(0), read)
        # A later stop continues.
        streaming.settings = SMALL + STOP.replace("2001", "2002")
        streaming.configure(LANES)
        for name in WORKERS:
            streaming.start(name)
        for name in WORKERS:
            assert streaming.code(name) == 0, streaming.log(name)
        published = streaming.rankings(len(LANES) * 155)
        assert_exact(streaming, published, events[:155])


@pytest.mark.slow
def test_workers_that_are_killed_stop_at_the_same_place(broker: str, tmp_path: Path) -> None:
    rng = random.Random(5)
    events = list(open_source("synthetic:3000,topics=12"))
    with Streaming(broker, tmp_path, LANES, 3, settings=SMALL + STOP) as streaming:
        read = []
        for partition in range(3):
            part = events[partition * 1000 : (partition + 1) * 1000]
            cut = rng.randrange(300, 900)
            write_at(streaming, part, [NOON - (n < cut) for n in range(1000)], partition)
            read += part[:cut]
        for name in WORKERS:
            streaming.start(name)
        for _ in range(12):
            time.sleep(rng.uniform(0.1, 1.5))
            name = rng.choice(WORKERS)
            streaming.kill(name)
            streaming.start(name)
        assert_all_end(streaming)
        published = streaming.rankings(len(LANES) * len(read))
        assert_exact(streaming, published, read)


def test_run_ends_when_its_streams_have_ended(broker: str, tmp_path: Path) -> None:
    """All workers of one command, with a lane in two shards; partitions are added on the way."""
    events = list(open_source("synthetic:200,topics=12"))
    with Streaming(broker, tmp_path, LANES, settings=SMALL + STOP, shards={LANES[0]: 2}) as stream:
        write_at(stream, events, [NOON - (n < 120) for n in range(200)])
        admin = KafkaAdminClient(**connection_options(stream.config.kafka))
        admin.create_partitions({stream.documents: NewPartitions(2)})
        admin.close()
        command = [sys.executable, "-m", "consumers", "run", str(stream.path), "--tokenizers", "2"]
        ended = subprocess.run(
            command, cwd=REPOSITORY, env=os.environ, capture_output=True, timeout=300, check=False
        )
        output = (ended.stdout + ended.stderr).decode()
        assert ended.returncode == 0, output
        assert "stopped: all 5 workers have ended" in output
        values = [message.value or b"" for message in stream.rankings(240)]
        _, expected = stream.undisturbed()
    assert sorted(map(without_scores, values)) == sorted(map(without_scores, expected))
    assert len({orjson.loads(value)["id"] for value in values}) == 120


def test_the_live_page_stays(broker: str, tmp_path: Path) -> None:
    with Streaming(broker, tmp_path, LANES, settings=SMALL + STOP) as streaming:
        write_at(streaming, list(open_source("synthetic:50,topics=12")), [NOON - 1] * 50)
        streaming.start("tokenize-0")
        streaming.start("learn", "--page")
        assert streaming.code("tokenize-0") == 0
        assert eventually(lambda: "the live page stays until" in streaming.log("learn"), 120)
        streaming.processes["learn"].send_signal(signal.SIGTERM)
        assert streaming.code("learn") == 0


@pytest.mark.parametrize(
    ("settings", "refusal"),
    [
        ('stop = "yesterday"', "expected a time with zone as in RFC 3339, such as 2026"),
        ('stop = "2026-01-01T00:00:00"', "expected a time with zone"),
        ('start = "latest"\nstop = "2026-01-01T00:00:00Z"', "a stream that begins now has nothing"),
        (
            'start = "2026-01-01T00:00:00Z"\nstop = "2026-01-01T01:00:00+01:00"',
            "must be later than start",
        ),
    ],
)
def test_a_stop_that_makes_no_sense_is_refused(tmp_path: Path, settings: str, refusal: str) -> None:
    path = tmp_path / "wirerank.toml"
    path.write_text(f'[[streams]]\nname = "s"\n{settings}\nlanes = [{{spec = "mmp"}}]\n')
    with pytest.raises(ConfigError, match=refusal):
        read_config(path, {})
