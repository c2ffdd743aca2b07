"""A stream whose events have another shape gives the rankings of the same events, native."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path
from random import Random

import orjson

from consumers.kafka.clients import new_producer
from pipeline.corpora import open_source
from pipeline.replay.progress import Progress
from pipeline.replay.replay import replay
from pipeline.replay.settings import ReplaySettings
from tests.support.kafka_stream import SMALL, Streaming, values_by_lane
from tests.support.reshaped_events import random_document

LANES = ("mmp:loss=1", "prank:ranks=5")
FIELDS = """
[streams.fields]
unwrap = "payload.after"
id = "@key"
title = "@header.title"
text = ["lead", {path = "body.html", html = true}]
features = "numbers"
topics = "tags[].slug"
rank = "priority"
time = "@timestamp"
"""


def test_a_stream_that_is_not_understood_says_so(broker: str, tmp_path: Path) -> None:
    """Each event becomes a dead letter that says what to write, and the log says it early."""
    events = [{"id": n, "headline": "Wheat", "body": "up", "topics": ["a"]} for n in range(500)]
    with Streaming(broker, tmp_path, LANES[:1], settings=SMALL) as streaming:
        streaming.start("tokenize-0")
        streaming.produce([orjson.dumps(event) for event in events])
        letters = streaming.read(streaming.stream.dead_letters, 1, 500)
        assert streaming.end("tokenize-0") == 0, streaming.log("tokenize-0")
        log = streaming.log("tokenize-0")
    assert {dict(letter.headers)["reason"] for letter in letters} == {b"unknown_fields"}
    assert len(letters) == 500
    mapping = 'title = "headline", text = "body"'
    assert mapping.encode() in dict(letters[0].headers)["detail"]
    assert "events cannot be used (unknown_fields" in log
    assert f"Perhaps a field mapping reads it: [streams.fields] {mapping}" in log
    assert "500 events read, of which 500 dead letters" in log


def test_rankings_of_a_mapped_stream(broker: str, tmp_path: Path) -> None:
    """Also if workers are killed on the way: the mapping has no state."""
    rng = Random(3)
    events = [random_document(rng, number) for number in range(300)]
    for event in events:
        event["id"] = str(event["id"])
        event.pop("time", None)
        if "text" in event:
            event["text"] = " ".join(event["text"].split())
    with Streaming(broker, tmp_path, LANES, settings=SMALL) as streaming:
        text = streaming.path.read_text() + FIELDS
        streaming.path.write_text(text)
        streaming.start("tokenize-0")
        streaming.start("learn")
        producer = new_producer(streaming.config.kafka)
        topic = streaming.documents
        for number, event in enumerate(events):
            if number in (100, 200):
                producer.flush(60)
                for worker in ("tokenize-0", "learn") if number == 100 else ("tokenize-0",):
                    streaming.kill(worker)
                    streaming.start(worker)
            row = {
                "lead": event.get("text"), "numbers": event.get("features"), "unmapped": None,
                "tags": [{"slug": t} for t in event["topics"]] if "topics" in event else None,
                "priority": event.get("rank"),
            }  # fmt: skip
            if not event.keys() & {"text", "title", "features"}:
                row.pop("unmapped")  # a late label
            value = orjson.dumps({"payload": {"op": "c", "before": None, "after": row}})
            headers = [("title", event["title"].encode())] if "title" in event else []
            producer.send(topic, value, event["id"].encode(), [("trace", b"\xff"), *headers])
        deletion = orjson.dumps({"payload": {"op": "d", "before": {}, "after": None}})
        producer.send(topic, deletion, b"n1")
        producer.send(topic, None, b"n1")
        producer.send(topic, b'{"payload": {"after": {"lead": "no key"}}}', None)
        producer.flush(60)
        producer.close(timeout=5)
        documents = sum(bool(e.keys() & {"text", "title", "features"}) for e in events)
        published = [message.value or b"" for message in streaming.rankings(2 * documents)]
        letters = streaming.read(streaming.stream.dead_letters, 1, 3)
        assert streaming.end("learn") == 0, streaming.log("learn")
        assert streaming.end("tokenize-0") == 0, streaming.log("tokenize-0")
    reasons = [dict(letter.headers)["reason"] for letter in letters]
    assert reasons == [b"deletion", b"tombstone", b"bad_id"]
    (tmp_path / "native.jsonl").write_bytes(b"".join(orjson.dumps(e) + b"\n" for e in events))
    settings = ReplaySettings(
        source=str(tmp_path / "native.jsonl"),
        lanes=LANES,
        rankings=tmp_path / "native.rankings",
        dead_letters=tmp_path / "dead",
        engine=streaming.stream.engine_settings(),
    )
    replay(settings, Progress())
    native = values_by_lane((tmp_path / "native.rankings").read_bytes().splitlines())
    times = [orjson.loads(value).get("time") for value in published]
    assert all(isinstance(time, str) and time.startswith("20") for time in times)
    without = [{**orjson.loads(value), "time": None} for value in published]
    for lane, values in native.items():
        assert [e for e in without if e["lane"] == lane] == [
            {**orjson.loads(value), "time": None} for value in values
        ]


def test_a_topic_of_rows(broker: str, tmp_path: Path) -> None:
    """Rows of CSV without a header; what a mapping reads is ranked as native documents are."""
    events = [orjson.loads(event) for event in open_source("synthetic:120,topics=12")]
    rows = []
    for event in events:
        file = StringIO()
        cells = [
            event["id"],
            event["title"],
            event["text"],
            "|".join(event["topics"]),
            event["time"],
        ]
        csv.writer(file, delimiter=";", lineterminator="").writerow(cells)
        rows.append(file.getvalue().encode())
    format_ = 'format = "csv:columns=nr+head+body+codes+at,delimiter=semicolon"'
    with Streaming(broker, tmp_path, LANES[:1], settings=f"{SMALL}\n{format_}") as streaming:
        fields = """
            [streams.fields]
            id = "nr"
            title = "head"
            text = "body"
            topics = {path = "codes", separator = "|"}
            time = "at"
        """
        streaming.path.write_text(streaming.text + fields)
        for name in ("tokenize-0", "learn"):
            streaming.start(name)
        streaming.produce([*rows, b"too;few;cells"])
        published = [message.value or b"" for message in streaming.rankings(len(events))]
        letters = streaming.read(streaming.stream.dead_letters, 1, 1)
        for name in ("learn", "tokenize-0"):
            assert streaming.end(name) == 0, streaming.log(name)
    assert [dict(letter.headers)["reason"] for letter in letters] == [b"bad_row"]
    (tmp_path / "native.jsonl").write_bytes(b"".join(orjson.dumps(e) + b"\n" for e in events))
    settings = ReplaySettings(
        source=str(tmp_path / "native.jsonl"), lanes=LANES[:1],
        rankings=tmp_path / "native.rankings", dead_letters=tmp_path / "dead",
        engine=streaming.stream.engine_settings(),
    )  # fmt: skip
    replay(settings, Progress())
    assert published == (tmp_path / "native.rankings").read_bytes().splitlines()
