"""`python -m tests.bench --only mapping`: the cost of a field mapping, as a ratio to native events.

The time of a tokenizer is decoding and tokenizing. Native and mapped events take turns within a
run, and the time is that of the thread. The times are medians over the turns.
"""

from __future__ import annotations

import html
import statistics
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

import orjson

from pipeline.corpora.synthetic_newswire import SyntheticNewswire
from pipeline.events.event import MAX_EVENT_BYTES
from pipeline.events.fields import parse_fields
from pipeline.events.formats import Decoder, new_decoder
from pipeline.events.record import Record
from pipeline.log.block import Block, make_block
from pipeline.text.tokenizer import Tokenizer

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
    for name, (shape, settings) in SHAPES.items():
        records = [shape(event) for event in events]
        decode = new_decoder("wirerank", parse_fields(settings))
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
