"""A stream with a mapping, several topics and labels apart is as exact as a native one.

Workers are killed on the way. The log says in which order the events of all topics came. The same
events in native form, in this order but in other blocks, must give the same rankings to the bit.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import orjson
import pytest
from kafka.admin import NewTopic

from consumers.config import read_config
from consumers.kafka.clients import new_admin, new_producer
from consumers.kafka.topics import ensure_topics
from learners.specs import parse_spec
from pipeline.engine.engine import Engine
from pipeline.engine.ranking_events import ranking_events
from pipeline.events.event import parse_event
from pipeline.log.block import make_block
from pipeline.log.record import decode_record
from pipeline.text.tokenizer import Tokenizer
from tests.support.kafka_stream import SMALL, Streaming, without_scores
from tests.support.reshaped_events import random_document

DIVIDED = "perceptron"
LANES = ("mmp:loss=1", "prank:ranks=5", "feature-focus", DIVIDED)
WORKERS = ("tokenize-0", "tokenize-1", "learn", f"learn@{DIVIDED}#0", f"learn@{DIVIDED}#1")
SHAPE = """
documents = ["NAME.first"]
documents_pattern = 'NAME[.]more[.].*'
labels = ["NAME.labels", "NAME.ranks"]

[streams.fields]
unwrap = "payload.after"
id = "@key"
title = "head.line"
text = [{path = "parts[].html", html = true}, "lead"]
features = "numbers"
topics = {path = "codes", separator = "|"}
rank = "priority"
time = "published.at"

[streams.label_fields]
id = ["article.id", "id"]
topics = "tags[].slug"
rank = "stars"
"""

Place = tuple[str, int, int]  # topic, partition, offset


def as_change(event: dict[str, Any]) -> tuple[bytes, bytes]:
    """The key and the value of a document in the shape that the mapping reads."""
    row: dict[str, Any] = {
        "head": {"line": event.get("title")}, "lead": event.get("text"), "parts": [],
        "numbers": event.get("features"), "priority": event.get("rank"), "editor": "unmapped",
        "codes": "|".join(event["topics"]) or "|" if "topics" in event else None,
        "published": {"at": event["time"]} if "time" in event else None,
    }  # fmt: skip
    value = {"payload": {"op": "c", "before": None, "after": row}}
    return event["id"].encode(), orjson.dumps(value)


def is_document(event: dict[str, Any]) -> bool:
    return bool(event.keys() & {"text", "title", "features"})


def as_label(event: dict[str, Any]) -> bytes:
    """A late label in the shape that the mapping of labels reads."""
    label: dict[str, Any] = {"article": {"id": event["id"], "text": "ignored"}}
    if "topics" in event:
        label["tags"] = [{"slug": topic} for topic in event["topics"]]
    if "rank" in event:
        label["stars"] = event["rank"]
    return orjson.dumps(label)


class Writer:
    """Writes events to the topics of a stream, and remembers which event is where."""

    def __init__(self, streaming: Streaming, rng: random.Random) -> None:
        self._producer = new_producer(streaming.config.kafka)
        self._name = streaming.name
        self._rng = rng
        self.places: dict[Place, dict[str, Any]] = {}

    def write(self, event: dict[str, Any]) -> None:
        """Write a document, in most cases with its labels apart; or a late label."""
        native = {key: value for key, value in event.items() if value is not None}
        label: dict[str, Any] = {
            key: value for key, value in native.items() if key in ("id", "topics", "rank")
        }
        if not is_document(native):
            self._label(label)
        elif len(label) == 1 or self._rng.random() < 0.4:
            self._document(native)
        else:
            document = {key: native[key] for key in native if key not in ("topics", "rank")}
            label_first = self._rng.random() < 0.3
            if label_first:
                self._label(label)
            self._document(document)
            if not label_first:
                self._label(label)

    def _document(self, event: dict[str, Any]) -> None:
        topic = self._rng.choice(("first", "more.a", "more.b"))
        key, value = as_change(event)
        self._send(topic, event, value, key)

    def _label(self, event: dict[str, Any]) -> None:
        self._send(self._rng.choice(("labels", "ranks")), event, as_label(event), None)

    def _send(self, topic: str, event: dict[str, Any], value: bytes, key: bytes | None) -> None:
        sent = self._producer.send(f"{self._name}.{topic}", value, key)
        at = sent.get(60)
        self.places[at.topic, at.partition, at.offset] = event

    def close(self) -> None:
        self._producer.close(timeout=30)


def native_rankings(streaming: Streaming, places: dict[Place, dict[str, Any]]) -> list[bytes]:
    """The rankings of the same events in native form, in the order of the log."""
    order: dict[Place, None] = {}
    for message in streaming.read(streaming.stream.blocks, 1):
        record = decode_record(message.value or b"", "record")
        for number, offset in zip(record.span_of.tolist(), record.offsets.tolist(), strict=True):
            place = record.spans[number].topic, record.spans[number].partition, offset
            order.setdefault(place)  # a record may have been written again after a kill
    assert sorted(order) == sorted(places)
    events = [parse_event(orjson.dumps(places[place])) for place in order]
    stream = streaming.stream
    names = [lane.parsed.name for lane in stream.lanes]
    engine = Engine([parse_spec(lane.spec) for lane in stream.lanes], (), stream.engine_settings())
    rankings, tokenizer = [], Tokenizer(stream.profile)
    for start in range(0, len(events), 171):
        for ranked in engine.process(make_block(events[start : start + 171], tokenizer)):
            rankings += ranking_events(ranked, names, engine.topics.names, stream.top)
    engine.close()
    return rankings


def attach(streaming: Streaming) -> None:
    """Give a stream its topics and mappings."""
    named, mappings = SHAPE.replace("NAME", streaming.name).split("\n\n", 1)
    streaming.settings = SMALL + named
    streaming.configure(LANES, shards={DIVIDED: 2})
    streaming.path.write_text(f"{streaming.text}\n{mappings}")
    streaming.config = read_config(streaming.path, {})
    streaming.stream = streaming.config.streams[0]
    admin = new_admin(streaming.config.kafka)
    more = [f"{streaming.name}.more.{name}" for name in "ab"]
    admin.create_topics([NewTopic(topic, 2, 1) for topic in more])
    admin.wait_for_topics(more)
    admin.close()
    ensure_topics(streaming.config.kafka, streaming.stream)


def comparable(value: bytes) -> bytes:
    """A ranking; without scores if its lane has shards, as their last bits differ."""
    return without_scores(value) if orjson.loads(value)["lane"] == DIVIDED else value


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_rankings_of_a_stream_of_another_shape(broker: str, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    with Streaming(broker, tmp_path, LANES, 2) as streaming:
        attach(streaming)
        for name in WORKERS:
            streaming.start(name)
        writer = Writer(streaming, rng)
        for number in range(1000):
            event = random_document(rng, number)
            writer.write({**event, "id": str(event["id"])})
            if number % 100 == 50:
                name = rng.choice(WORKERS)
                streaming.kill(name)
                streaming.start(name)
        writer.close()
        documents = sum(map(is_document, writer.places.values()))
        published = streaming.rankings(len(LANES) * documents)
        assert streaming.read(streaming.stream.dead_letters, 1) == []
        for name in WORKERS:
            assert streaming.end(name) == 0, streaming.log(name)
        expected = native_rankings(streaming, writer.places)
    values = [message.value or b"" for message in published]
    assert sorted(map(comparable, values)) == sorted(map(comparable, expected))
