"""Partitions that are added to a topic of documents while tokenizers read it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from consumers.kafka.clients import METADATA_MS, connection_options, new_admin
from consumers.settings import KafkaSettings
from pipeline.corpora import open_source
from tests.support.kafka_stream import Streaming

LANE = "mmp:loss=1"
# Twenty times as long as a client may rely on what it knew; five minutes by default.
SECONDS = 60.0


def test_added_partitions_are_read_within_seconds(broker: str, tmp_path: Path) -> None:
    events = list(open_source("synthetic:90,topics=12"))
    with Streaming(broker, tmp_path, [LANE]) as streaming:
        for name in ("tokenize-0", "tokenize-1", "learn"):
            streaming.start(name)
        streaming.produce(events[:30])
        assert len(streaming.rankings(30)) == 30
        admin: Any = new_admin(streaming.config.kafka)
        admin.create_partitions({streaming.documents: 3})
        admin.close()
        streaming.produce(events[30:], partitions=(1, 2))
        published = streaming.rankings(90, SECONDS)
        ids = sorted(orjson.loads(message.value or b"")["id"] for message in published)
        assert ids == sorted(orjson.loads(event)["id"] for event in events)


def test_no_client_relies_on_old_knowledge() -> None:
    assert connection_options(KafkaSettings())["metadata_max_age_ms"] == METADATA_MS <= 5_000
