"""Streams in Avro and JSON Schema give the rankings of the same documents as native events.

The registry is a real one, and the records are written by confluent-kafka.
"""

from __future__ import annotations

from http.client import HTTPConnection
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

import orjson
from confluent_kafka import Producer
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from pipeline.replay.progress import Progress
from pipeline.replay.replay import replay
from pipeline.replay.settings import ReplaySettings
from tests.support.fake_registry import serving
from tests.support.kafka_stream import SMALL, Streaming, eventually, values_by_lane
from tests.support.registered_events import (
    NATIVE_AVRO,
    NATIVE_JSON,
    avro_serializer,
    json_serializer,
    send,
)
from tests.support.registry_server import Registry
from tests.support.reshaped_events import random_document

WORDS = ("wheat", "corn", "ship", "oil", "gold", "up", "down")
LANES = ("mmp:loss=1", "prank:ranks=5")


class RegisteredStream(Streaming):
    """A stream whose schemas are in a registry."""

    def __init__(self, broker: str, folder: Path, url: str, format_: str, more: str = "") -> None:
        section = f'[registry]\nurl = "{url}"\ntimeout_seconds = 3.0\n'
        settings = f'{SMALL}\nformat = "{format_}"\n{more}'
        super().__init__(broker, folder, LANES, settings=settings, kafka=section)


def native_rankings(streaming: Streaming, events: list[dict[str, Any]]) -> dict[str, list[bytes]]:
    """The rankings of the same documents in native form, from a replay of a file."""
    folder = streaming.folder
    (folder / "native.jsonl").write_bytes(b"".join(orjson.dumps(e) + b"\n" for e in events))
    settings = ReplaySettings(
        source=str(folder / "native.jsonl"), lanes=LANES, rankings=folder / "native.rankings",
        dead_letters=folder / "dead", engine=streaming.stream.engine_settings(),
    )  # fmt: skip
    replay(settings, Progress())
    assert not (folder / "dead").exists()
    return values_by_lane((folder / "native.rankings").read_bytes().splitlines())


def documents_of(events: list[dict[str, Any]]) -> int:
    return sum(bool(event.keys() & {"text", "title", "features"}) for event in events)


def published_rankings(
    streaming: Streaming, events: list[dict[str, Any]]
) -> dict[str, list[bytes]]:
    messages = streaming.rankings(len(LANES) * documents_of(events))
    return values_by_lane(message.value for message in messages)


def reasons_and_details(streaming: Streaming, count: int) -> list[tuple[str, str]]:
    letters = streaming.read(streaming.stream.dead_letters, 1, count)
    headers = [dict(letter.headers) for letter in letters]
    return [(found["reason"].decode(), found["detail"].decode()) for found in headers]


def end_all(streaming: Streaming) -> None:
    for worker in ("learn", "tokenize-0"):
        assert streaming.end(worker) == 0, streaming.log(worker)


def status(streaming: Streaming, page: str) -> int:
    """The status of a page of the tokenizer."""
    parts = urlsplit(streaming.address("tokenize-0"))
    connection = HTTPConnection(parts.netloc, timeout=60)
    connection.request("GET", f"/{page}")
    answer = connection.getresponse().status
    connection.close()
    return answer


def random_events(seed: int, count: int) -> list[dict[str, Any]]:
    rng = Random(seed)
    return [random_document(rng, number) for number in range(count)]


def test_native_names_in_avro(broker: str, registry: Registry, tmp_path: Path) -> None:
    """A registry that is killed and comes back loses nothing, and bad records are dead letters."""
    events = random_events(5, 300)
    with RegisteredStream(broker, tmp_path, registry.url, "avro") as streaming:
        topic = streaming.documents
        # The first version has fewer fields. Both versions are in one topic.
        first = {**NATIVE_AVRO, "fields": [f for f in NATIVE_AVRO["fields"] if f["name"] != "rank"]}
        old = avro_serializer(registry.url, topic, first)
        new = avro_serializer(registry.url, topic, NATIVE_AVRO)
        values = [old(event) if "rank" not in event else new(event) for event in events]
        assert len({value[1:5] for value in values}) == 2
        client = SchemaRegistryClient({"url": registry.url})
        strange = client.register_schema(
            f"{topic}-strange",
            Schema('syntax = "proto3"; message A { string id = 1; }', "PROTOBUF"),
        )
        streaming.start("tokenize-0")
        streaming.start("learn")
        send(broker, topic, [values[0]])
        streaming.wait_logged()
        registry.kill()
        unknown = (99_999_999).to_bytes(4, "big")
        bad = [
            b"\0" + unknown + b"\x02a", b"\0" + strange.to_bytes(4, "big") + b"\x0a\x01a",
            values[1][:7], values[1] + b"x", b'{"id": 1, "text": "plain"}', None,
        ]  # fmt: skip
        send(broker, topic, [*values[1:100], *bad, *values[100:]])
        waiting = f"waiting for the Schema Registry at {registry.url}: Connection refused"
        assert eventually(lambda: waiting in streaming.log("tokenize-0"), 60)
        streaming.kill("tokenize-0")  # while it waits
        streaming.start("tokenize-0")
        assert eventually(lambda: streaming.log("tokenize-0").count(waiting) == 2, 60)
        assert eventually(lambda: status(streaming, "readyz") == 503, 60)
        assert status(streaming, "healthz") == 200
        assert streaming.end("tokenize-0") == 0, streaming.log("tokenize-0")  # stops at once
        streaming.start("tokenize-0")
        assert eventually(lambda: streaming.log("tokenize-0").count(waiting) == 3, 60)
        registry.start()
        published = published_rankings(streaming, events)
        letters = reasons_and_details(streaming, len(bad))
        end_all(streaming)
        log = streaming.log("tokenize-0")
        native = native_rankings(streaming, events)
    assert published == native
    reasons = ["unknown_schema", "bad_schema", "not_avro", "not_avro", "no_schema_id", "tombstone"]
    assert [reason for reason, _ in letters] == reasons
    assert "has no schema 99999999" in letters[0][1]
    assert "type PROTOBUF, which is not supported" in letters[1][1]
    assert 'write format = "wirerank"' in letters[4][1]
    assert "answers again after" in log


MAPPED_AVRO: dict[str, Any] = {
    "type": "record", "name": "Article", "namespace": "desk",
    "fields": [
        {"name": "articleId", "type": "string"},
        {"name": "content", "type": ["null", {"type": "record", "name": "Content", "fields": [
            {"name": "headline", "type": ["null", "string"]},
            {"name": "paragraphs", "type": {"type": "array", "items": "string"}},
        ]}]},
        {"name": "tags", "type": ["null", {"type": "array", "items": {
            "type": "record", "name": "Tag", "fields": [{"name": "slug", "type": "string"}]}}]},
        {"name": "published", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "editor", "type": ["null", "string"], "default": None},
    ],
}  # fmt: skip
MAPPING = """
[streams.fields]
id = "articleId"
title = "content.headline"
text = "content.paragraphs[]"
topics = "tags[].slug"
time = "published"
"""


def test_nested_avro_with_a_mapping(broker: str, registry: Registry, tmp_path: Path) -> None:
    rng, events, rows = Random(2), list[dict[str, Any]](), list[dict[str, Any]]()
    for number in range(120):
        paragraphs = [" ".join(rng.choices(WORDS, k=5)) for _ in range(rng.randint(1, 3))]
        topics = rng.sample(["grain", "ship", "crude"], rng.randint(0, 2))
        events.append({
            "id": f"a{number}", "title": "Wheat up", "text": "\n".join(paragraphs),
            "topics": topics, "time": f"1987-02-26T15:01:{number % 60:02}.25Z",
        })  # fmt: skip
        rows.append({
            "articleId": f"a{number}", "tags": [{"slug": topic} for topic in topics],
            "content": {"headline": "Wheat up", "paragraphs": paragraphs},
            "published": 541_350_060_250 + 1000 * (number % 60), "editor": None,
        })  # fmt: skip
    with RegisteredStream(broker, tmp_path, registry.url, "avro") as streaming:
        streaming.path.write_text(streaming.path.read_text() + MAPPING)
        serialize = avro_serializer(registry.url, streaming.documents, MAPPED_AVRO)
        streaming.start("tokenize-0")
        streaming.start("learn")
        send(broker, streaming.documents, [serialize(row) for row in rows])
        published = published_rankings(streaming, events)
        end_all(streaming)
        assert published == native_rankings(streaming, events)


def test_json_schema(broker: str, registry: Registry, tmp_path: Path) -> None:
    """Labels in a topic of their own have the same format."""
    events = random_events(8, 120)
    labels = f"labels-{tmp_path.name}-{broker.rpartition(':')[2]}"
    with RegisteredStream(
        broker, tmp_path, registry.url, "json-schema", f'labels = "{labels}"'
    ) as streaming:
        assert streaming.stream.label_format == "json-schema"
        serialize = json_serializer(registry.url, streaming.documents, NATIVE_JSON)
        values = [serialize(event) for event in events]
        avro = avro_serializer(registry.url, f"{streaming.documents}-avro", NATIVE_AVRO)
        bad = [b"\0\0\0\xff\xff{}", avro({"id": "1", "text": "a"}), values[0][:5] + b"{"]
        streaming.start("tokenize-0")
        streaming.start("learn")
        send(broker, streaming.documents, [*values, *bad])
        published = published_rankings(streaming, events)
        letters = reasons_and_details(streaming, len(bad))
        send(broker, labels, [json_serializer(registry.url, labels, NATIVE_JSON)({"id": "none"})])
        more = reasons_and_details(streaming, len(bad) + 1)
        end_all(streaming)
        native = native_rankings(streaming, events)
    assert published == native
    assert [reason for reason, _ in letters] == ["unknown_schema", "bad_schema", "not_json"]
    assert 'write format = "avro"' in letters[1][1]
    assert more[-1][0] == "no_content"


def test_a_registry_that_refuses_the_user_is_final(broker: str, tmp_path: Path) -> None:
    with serving(lambda path: (401, b"")) as server:
        streaming = RegisteredStream(broker, tmp_path, server.url, "avro")
        with streaming:
            streaming.start("tokenize-0")
            assert streaming.code("tokenize-0") == 3
            log = streaming.log("tokenize-0")
    assert "it refuses a client without a user (status 401): correct registry.user" in log
    assert "Traceback" not in log


def test_plain_text(broker: str, tmp_path: Path) -> None:
    """Ids are the keys of records, and topics a header."""
    events: list[dict[str, Any]] = [
        {"id": f"k{n}", "text": f"wheat prices {n}", "topics": ["grain", "corn"][: 1 + n % 2]}
        for n in range(60)
    ]
    with Streaming(broker, tmp_path, LANES, settings=f'{SMALL}\nformat = "text"') as streaming:
        mapping = 'id = "@key"\ntopics = {path = "@header.topics", separator = ";"}'
        text = f"{streaming.path.read_text()}\n[streams.fields]\n{mapping}\n"
        streaming.path.write_text(text)
        streaming.start("tokenize-0")
        streaming.start("learn")
        producer = Producer({"bootstrap.servers": broker, "log_level": 2})
        for event in events:
            headers: dict[str, str | bytes | None] = {"topics": ";".join(event["topics"])}
            producer.produce(
                streaming.documents, event["text"], event["id"], headers=headers, partition=0
            )
        producer.produce(streaming.documents, b"\xff", "bad", partition=0)
        assert producer.flush(60) == 0
        published = published_rankings(streaming, events)
        letters = reasons_and_details(streaming, 1)
        end_all(streaming)
        assert published == native_rankings(streaming, events)
    assert [reason for reason, _ in letters] == ["not_text"]
