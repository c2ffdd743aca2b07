"""`python -m tests.bench --only mapping`: the cost of a field mapping, as a ratio to native events.

The time of a tokenizer is decoding and tokenizing. Native and mapped events take turns within a
run, and the time is that of the thread. The times are medians over the turns.
"""

from __future__ import annotations

import html
import statistics
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import orjson

from pipeline.corpora.synthetic_newswire import SyntheticNewswire
from pipeline.events.avro_schema import compile_schema
from pipeline.events.event import MAX_EVENT_BYTES
from pipeline.events.fields import parse_fields
from pipeline.events.formats import Decoder, new_decoder
from pipeline.events.record import Record
from pipeline.events.schema_ids import RegisteredSchema
from pipeline.log.block import Block, make_block
from pipeline.text.tokenizer import Tokenizer

PREFIX = bytes([0, 0, 0, 0, 7])  # the id of a schema
JSON = RegisteredSchema("JSON")
SCHEMA = {
    "type": "record", "name": "Document", "fields": [
        {"name": "id", "type": "string"},
        *({"name": name, "type": ["null", "string"]} for name in ("title", "text", "time")),
        {"name": "topics", "type": ["null", {"type": "array", "items": "string"}]},
        {"name": "features", "type": ["null", {"type": "map", "values": "double"}]},
        {"name": "rank", "type": ["null", "int"]},
    ],
}  # fmt: skip
BLOCK = 1000
TURNS = 31
Event = dict[str, Any]


def flat(event: Event) -> Record:
    names = {"id": "articleId", "title": "headline", "text": "body", "topics": "tags", "time": "at"}
    return Record(orjson.dumps({names[name]: value for name, value in event.items()}))


def nested(event: Event) -> Record:
    moment = datetime.fromisoformat(event["time"])
    return Record(orjson.dumps({
        "meta": {"ids": {"article": event["id"]}, "published": int(moment.timestamp() * 1000)},
        "content": {"headline": event.get("title"), "paragraphs": [{"text": event["text"]}]},
        "tags": [{"slug": topic, "name": topic.upper()} for topic in event["topics"]],
    }))  # fmt: skip


def change(event: Event) -> Record:
    row = {"body": event["text"], "title": event.get("title"), "codes": ";".join(event["topics"])}
    value = {"payload": {"op": "c", "before": None, "after": row, "source": {"db": "news"}}}
    moment = datetime.fromisoformat(event["time"])
    headers = [("trace", b"00-4bf92f")]
    return Record(
        orjson.dumps(value), str(event["id"]).encode(), int(moment.timestamp() * 1000), headers
    )


def marked_up(event: Event) -> Record:
    paragraphs = event["text"].split(". ")
    body = "".join(f"<p>{html.escape(paragraph)}.</p>\n" for paragraph in paragraphs)
    return Record(orjson.dumps({**event, "text": None, "body": {"html": body}}))


SHAPES: dict[str, tuple[Callable[[Event], Record], dict[str, Any]]] = {
    "other names": (flat, {
        "id": "articleId", "title": "headline", "text": "body", "topics": "tags", "time": "at",
    }),
    "nested, tags[].slug, milliseconds": (nested, {
        "id": "meta.ids.article", "title": "content.headline", "text": "content.paragraphs[].text",
        "topics": "tags[].slug", "time": {"path": "meta.published", "format": "milliseconds"},
    }),
    "change-data capture, @key, @timestamp": (change, {
        "unwrap": "payload.after", "id": "@key", "text": "body", "time": "@timestamp",
        "topics": {"path": "codes", "separator": ";"},
    }),
    "HTML": (marked_up, {"text": {"path": "body.html", "html": True}}),
}  # fmt: skip


def avro_number(value: int) -> bytes:
    value, written = value << 1, b""
    while value > 0x7F:
        written += bytes([value & 0x7F | 0x80])
        value >>= 7
    return written + bytes([value])


def avro_text(text: str) -> bytes:
    return avro_number(len(text.encode())) + text.encode()


def in_avro(event: Event) -> Record:
    texts = [avro_text(str(event["id"]))]
    texts += [b"\x02" + avro_text(event.get(name) or "") for name in ("title", "text", "time")]
    topics = b"".join(map(avro_text, event["topics"]))
    block = avro_number(len(event["topics"])) + topics if topics else b""
    return Record(b"".join((PREFIX, *texts, b"\x02", block, b"\x00", b"\x00\x00")))


def with_schemas(events: list[Event]) -> Iterator[tuple[str, list[Record], Decoder]]:
    """Yield documents with the id of a schema in front, with their native names."""
    avro = RegisteredSchema("AVRO", compile_schema(orjson.dumps(SCHEMA)))
    yield "Avro", [*map(in_avro, events)], new_decoder("avro", None, lambda id_: avro)
    records = [Record(PREFIX + orjson.dumps(event)) for event in events]
    yield "JSON Schema", records, new_decoder("json-schema", None, lambda id_: JSON)


def tokenized(records: list[Record], decode: Decoder, tokenizer: Tokenizer) -> list[Block]:
    return [
        make_block([decode(r, MAX_EVENT_BYTES) for r in records[start : start + BLOCK]], tokenizer)
        for start in range(0, len(records), BLOCK)
    ]


def seconds(records: list[Record], decode: Decoder, tokenizer: Tokenizer) -> float:
    began = time.thread_time()
    tokenized(records, decode, tokenizer)
    return time.thread_time() - began


def run(documents: int) -> None:
    """Print the ratio of the tokenizer's time for each shape."""
    raw = list(SyntheticNewswire(documents=documents))
    events = [orjson.loads(event) for event in raw]
    native = [Record(event) for event in raw]
    decode_native, tokenizer = new_decoder("wirerank"), Tokenizer()
    size = sum(map(len, raw)) // len(raw)
    print(f"\nField mappings: {documents:,} documents of {size:,} bytes")
    shapes = [
        (name, [shape(event) for event in events], new_decoder("wirerank", parse_fields(settings)))
        for name, (shape, settings) in SHAPES.items()
    ]
    for name, records, decode in (*shapes, *with_schemas(events)):
        seconds(native[:BLOCK], decode_native, tokenizer)
        plain, mapped = [], []
        for _ in range(TURNS):
            plain.append(seconds(native, decode_native, tokenizer))
            mapped.append(seconds(records, decode, tokenizer))
        middle = [statistics.median(times) / documents * 1e6 for times in (plain, mapped)]
        print(
            f"  {name:<40} native {middle[0]:5.1f} us, mapped {middle[1]:5.1f} us: "
            f"{middle[1] / middle[0]:.2f} times (fastest turns {min(mapped) / min(plain):.2f})"
        )
