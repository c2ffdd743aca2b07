"""What goes out with rankings: the document's key, chosen headers, and a choice of fields."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from consumers.kafka.clients import new_producer
from consumers.output_settings import OutputSettings
from pipeline.corpora import open_source
from pipeline.events.event import MalformedEvent
from pipeline.events.passed_on import MAX_PASSED_ON_BYTES, PassedOnParts
from pipeline.events.record import Record
from tests.support.kafka_stream import SMALL, Streaming

LANES = ("mmp:loss=1", "perceptron")
OUTPUT = """
output.key = "record"
output.headers = ["traceparent", "tenant"]
output.fields = ["id", "lane", "ranking"]
"""


def test_keys_headers_and_fields_of_rankings(broker: str, tmp_path: Path) -> None:
    """Also after workers were killed, and with two tokenizers."""
    events = list(open_source("synthetic:300,topics=12"))
    traces = {}
    with Streaming(broker, tmp_path, LANES, 2, settings=SMALL + OUTPUT) as streaming:
        for name in ("tokenize-0", "tokenize-1", "learn"):
            streaming.start(name)
        producer = new_producer(streaming.config.kafka)
        for number, event in enumerate(events):
            if number == 150:
                producer.flush(60)
                streaming.wait_learned()
                for name in ("tokenize-0", "learn"):
                    streaming.kill(name)
                    streaming.start(name)
            id_ = orjson.loads(event)["id"]
            key = None if number % 7 == 0 else b"\xff%d" % (number % 10)
            headers = [("traceparent", b"00-%d\xfe" % number), ("other", b"not passed on")]
            if number % 3 == 0:
                headers += [("tenant", b"a"), ("tenant", b"")]
            traces[id_] = key, [header for header in headers if header[0] != "other"]
            producer.send(streaming.documents, event, key, headers)
        producer.flush(60)
        producer.close(timeout=5)
        rankings = streaming.rankings(len(LANES) * len(events))
        for name in ("tokenize-0", "tokenize-1", "learn"):
            assert streaming.end(name) == 0, streaming.log(name)
        _, expected = streaming.undisturbed()
    found = set()
    for message in rankings:
        value = orjson.loads(message.value or b"")
        assert [*value] == ["id", "lane", "ranking"]
        key, headers = traces[value["id"]]
        assert message.key == (value["id"].encode() if key is None else key)
        assert [*message.headers] == headers
        found.add(message.value)
    assert len(found) == len(rankings)
    chosen = [
        orjson.dumps({name: event[name] for name in ("id", "lane", "ranking")})
        for event in map(orjson.loads, expected)
    ]
    assert found == {*chosen}


def test_a_choice_that_is_added_later_holds_for_later_documents(
    broker: str, tmp_path: Path
) -> None:
    """Documents that are in the log already have nothing to pass on."""
    events = list(open_source("synthetic:40,topics=12"))
    with Streaming(broker, tmp_path, LANES[:1]) as streaming:
        streaming.start("tokenize-0")
        streaming.produce(events[:20])
        streaming.wait_logged()
        assert streaming.end("tokenize-0") == 0
        streaming.settings = SMALL + OUTPUT
        streaming.configure(LANES[:1])
        streaming.start("tokenize-0")
        producer = new_producer(streaming.config.kafka)
        for event in events[20:]:
            producer.send(streaming.documents, event, b"key", [("tenant", b"x")], partition=0)
        producer.close(timeout=60)
        streaming.start("learn")
        rankings = streaming.rankings(len(events))
        assert streaming.end("learn") == 0, streaming.log("learn")
    ids = [orjson.loads(event)["id"].encode() for event in events[:20]]
    by_record = {(m.key, tuple(m.headers)) for m in rankings if m.key not in ids}
    assert by_record == {(b"key", (("tenant", b"x"),))}
    assert sorted(m.key or b"" for m in rankings if not m.headers) == sorted(ids)


def test_parts_that_are_too_large_are_refused() -> None:
    parts = PassedOnParts(True, frozenset(["trace"]))
    most = MAX_PASSED_ON_BYTES - len("trace")
    fits = Record(b"{}", b"", 0, [("trace", b"x" * most), ("other", b"y" * 99_999)])
    assert parts.of(fits).headers == (("trace", b"x" * most),)
    with pytest.raises(MalformedEvent, match=r"have 16,385 bytes, expected at most 16,384"):
        parts.of(fits._replace(key=b"k"))


def test_nothing_is_kept_if_nothing_is_chosen() -> None:
    assert OutputSettings().passed_on_parts is None
    assert OutputSettings(fields=("id",)).passed_on_parts is None
    assert OutputSettings(fields=("id",)).chosen_fields == {"id", "ranking", "rank"}


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(ValueError, match="'headline' is no field of a ranking; choose from id, la"):
        OutputSettings(fields=("headline",))
