"""Which events are accepted, and for which reasons others are refused."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.events.event import MAX_EVENT_BYTES, REASONS, Event, MalformedEvent, parse_event


def test_a_document() -> None:
    raw = (
        b'{"id":"a","title":"T","text":"x","topics":["b","a","b"],"time":"1987-02-26T15:01:01.7Z"}'
    )
    time = "1987-02-26T15:01:01.7Z"
    assert parse_event(raw) == Event("a", "T\nx", ("b", "a"), None, time, title_length=1)


def test_a_document_may_say_its_language() -> None:
    for language, name in (
        (b'"de"', "german"),
        (b'"pt-BR"', "portuguese"),
        (b'"English"', "english"),
    ):
        assert parse_event(b'{"id":1,"text":"x","language":%s}' % language).language == name
    for other in (b"null", b"5", b'{"code":"de"}', b'"klingon"', b'"%s"' % (b"x" * 1000)):
        assert parse_event(b'{"id":1,"text":"x","language":%s}' % other).language is None
    assert parse_event(b'{"id":1,"topics":[],"language":"de"}').content is None


def test_where_the_title_ends() -> None:
    assert parse_event(b'{"id":1,"title":"Wheat up"}').title_length == 8
    assert parse_event('{"id":1,"title":"Blé","text":"x"}'.encode()).title_length == 3
    assert parse_event(b'{"id":1,"text":"x"}').title_length == 0
    assert parse_event(b'{"id":1,"title":"","text":"x"}').title_length == 0
    assert parse_event(b'{"id":1,"features":{"a":1}}').title_length == 0


@pytest.mark.parametrize(
    ("raw", "content", "topics"),
    [
        (b'{"id":1,"text":"x"}', "x", None),
        (b'{"id":1,"title":"x"}', "x", None),
        (b'{"id":1,"text":""}', "", None),
        (b'{"id":1,"text":"x","title":null}', "x", None),
        (b'{"id":1,"text":"x","topics":[]}', "x", ()),
        (b'{"id":1,"text":"x","topics":null}', "x", None),
        (b'{"id":1,"features":{}}', {}, None),
        (b'{"id":1,"features":{"a":0.0,"b":-1e-75}}', {"a": 0.0, "b": -1e-75}, None),
        (b'{"id":1,"features":{"a":1,"b":-0.5}}', {"a": 1, "b": -0.5}, None),
        (b'{"id":1,"topics":["a"]}', None, ("a",)),
        (b'{"id":1,"topics":[]}', None, ()),
        (b'{"id":1,"rank":3}', None, None),
        (b'{"id":1,"text":"x","anything":{"else":[]}}', "x", None),
        (b'\r\n {"id":1,"text":"x"} \r\n', "x", None),
    ],
)
def test_accepted_events(raw: bytes, content: object, topics: object) -> None:
    event = parse_event(raw)
    assert (event.id, event.content, event.topics) == (1, content, topics)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "not_json"),
        (b"\xff\xfe\x00", "not_json"),
        (b'{"id":1,"text":"x"', "not_json"),
        (b'{"id":1,"features":{"a":NaN}}', "not_json"),
        (b'{"id":1,"text":"\\ud800"}', "not_json"),
        (b"[" * 5000 + b"]" * 5000, "not_json"),
        (b'{"id":"' + b"x" * MAX_EVENT_BYTES + b'"}', "too_large"),
        (b"[]", "not_an_object"),
        (b"7", "not_an_object"),
        (b"null", "not_an_object"),
        (b'{"text":"x"}', "bad_id"),
        (b'{"id":null,"text":"x"}', "bad_id"),
        (b'{"id":"","text":"x"}', "bad_id"),
        (b'{"id":true,"text":"x"}', "bad_id"),
        (b'{"id":1.5,"text":"x"}', "bad_id"),
        (b'{"id":["a"],"text":"x"}', "bad_id"),
        (b'{"id":"' + b"x" * 2000 + b'","text":"x"}', "bad_id"),
        (b'{"id":1}', "no_content"),
        (b'{"id":1,"text":null}', "no_content"),
        (b'{"id":1,"text":7}', "bad_content"),
        (b'{"id":1,"title":["x"]}', "bad_content"),
        (b'{"id":1,"text":"x","features":{}}', "bad_content"),
        (b'{"id":1,"features":[1]}', "bad_features"),
        (b'{"id":1,"features":{"a":"1"}}', "bad_features"),
        (b'{"id":1,"features":{"a":true}}', "bad_features"),
        (b'{"id":1,"features":{"a":null}}', "bad_features"),
        (b'{"id":1,"features":{"a":1e300}}', "bad_features"),
        (b'{"id":1,"features":{"a":1e-80}}', "bad_features"),
        (b'{"id":1,"features":{"a":-1e-165}}', "bad_features"),
        (b'{"id":1,"features":{"":1}}', "bad_features"),
        (b'{"id":1,"features":{"' + b"x" * 300 + b'":1}}', "bad_features"),
        (b'{"id":1,"text":"x","topics":"a"}', "bad_topics"),
        (b'{"id":1,"text":"x","topics":[1]}', "bad_topics"),
        (b'{"id":1,"text":"x","topics":[""]}', "bad_topics"),
        (b'{"id":1,"text":"x","topics":{"a":1}}', "bad_topics"),
        (b'{"id":1,"text":"x","rank":0}', "bad_rank"),
        (b'{"id":1,"text":"x","rank":"2"}', "bad_rank"),
        (b'{"id":1,"text":"x","rank":true}', "bad_rank"),
        (b'{"id":1,"text":"x","time":"yesterday"}', "bad_time"),
        (b'{"id":1,"text":"x","time":"1987-02-26"}', "bad_time"),
        (b'{"id":1,"text":"x","time":"1987-02-26T15:01:01"}', "bad_time"),
        (b'{"id":1,"text":"x","time":540000000}', "bad_time"),
    ],
)
def test_what_is_refused_and_why(raw: bytes, reason: str) -> None:
    with pytest.raises(MalformedEvent) as error:
        parse_event(raw)
    assert error.value.reason == reason
    assert reason in REASONS
    assert error.value.detail
    assert len(error.value.detail) < 400  # never the whole of a huge event in a message


@pytest.mark.parametrize(
    "event",
    [
        '{"id":1,"text":"x","rank":%s}',
        '{"id":1,"text":"x","time":%s}',
        '{"id":1,"text":"x","topics":[%s]}',
        '{"id":1,"features":{"a":%s}}',
        '{"id":1,"text":%s}',
        '{"id":%s,"text":"x"}',
    ],
)
def test_deeply_nested_values_are_refused(event: str) -> None:
    """Python cannot print such an integer, so a message must not contain it."""
    with pytest.raises(MalformedEvent) as error:
        parse_event((event % ("[" * 1000 + "]" * 1000)).encode())
    assert len(error.value.detail) < 400


def test_a_time_has_a_limited_length() -> None:
    """A time of a megabyte made the ranking too large for its Kafka topic, which stopped lanes."""
    event = '{"id":1,"text":"x","time":"1987-02-26T15:01:01.%sZ"}'
    time = parse_event((event % ("7" * 43)).encode()).time
    assert time is not None
    assert len(time) == 64
    for digits in (44, 1_000_000):
        with pytest.raises(MalformedEvent, match="`time` must be") as refused:
            parse_event((event % ("7" * digits)).encode())
        assert refused.value.reason == "bad_time"


def test_digits_of_a_time_are_ascii() -> None:
    with pytest.raises(MalformedEvent, match="RFC 3339"):
        parse_event('{"id":1,"text":"x","time":"٢٠١٣-02-26T15:01:01Z"}'.encode())


@given(st.binary(max_size=200))
def test_random_bytes_are_parsed_or_refused(raw: bytes) -> None:
    with suppress(MalformedEvent):
        parse_event(raw)
