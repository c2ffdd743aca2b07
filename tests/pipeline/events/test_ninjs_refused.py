"""For which reasons ninjs items are refused."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.events.event import MAX_EVENT_BYTES, REASONS, MalformedEvent
from pipeline.events.ninjs import NOT_USABLE, parse_ninjs
from tests.pipeline.events.test_ninjs import read


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "not_json"),
        (b"\xff", "not_json"),
        (b'{"uri":"a","headline":"x"', "not_json"),
        (b'{"uri":"a","body_text":"two\nlines"}', "not_json"),
        (b"[" * 5000 + b"]" * 5000, "not_json"),
        (b'{"uri":"' + b"x" * MAX_EVENT_BYTES + b'"}', "too_large"),
        (b"[]", "not_an_object"),
        (b"null", "not_an_object"),
        (b"{}", "bad_id"),
        (b'{"id":"a","headline":"x"}', "bad_id"),
        (b'{"uri":7,"headline":"x"}', "bad_id"),
        (b'{"uri":"","headline":"x"}', "bad_id"),
        (b'{"uri":{},"guid":"a","headline":"x"}', "bad_id"),
        (b'{"uri":"' + b"x" * 2000 + b'","headline":"x"}', "bad_id"),
    ],
)
def test_raw_events_that_are_no_items(raw: bytes, reason: str) -> None:
    with pytest.raises(MalformedEvent) as error:
        parse_ninjs(raw)
    assert error.value.reason == reason
    assert 0 < len(error.value.detail) < 400


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ({}, "no_content"),
        ({"headline": "", "bodies": [], "subject": None}, "no_content"),
        ({"title": "only a name", "slugline": "x", "versioncreated": "x"}, "no_content"),
        ({"associations": {"a": {"headline": "x"}}}, "no_content"),
        ({"headline": 7}, "bad_content"),
        ({"headline": ["x"]}, "bad_content"),
        ({"headline_short": 7, "headline": "x"}, "bad_content"),
        ({"headline_" + "x" * 5000: 7}, "bad_content"),
        ({"headlines": "x"}, "bad_content"),
        ({"headlines": ["x"]}, "bad_content"),
        ({"headlines": [None]}, "bad_content"),
        ({"headlines": [{"value": 7}]}, "bad_content"),
        ({"headlines": [{"value": "x", "role": 7}]}, "bad_content"),
        ({"body_text": 7}, "bad_content"),
        ({"body_text": True}, "bad_content"),
        ({"bodies": {"value": "x"}}, "bad_content"),
        ({"bodies": [{"value": ["x"]}]}, "bad_content"),
        ({"bodies": [{"value": "x", "contenttype": {}}]}, "bad_content"),
        ({"description_text": 7}, "bad_content"),
        ({"descriptions": [7]}, "bad_content"),
        ({"subject": "a"}, "bad_topics"),
        ({"subject": {"code": "a"}}, "bad_topics"),
        ({"subject": ["a"]}, "bad_topics"),
        ({"subject": [None]}, "bad_topics"),
        ({"subject": [{}]}, "bad_topics"),
        ({"subject": [{"rel": "about", "scheme": "http://x/"}]}, "bad_topics"),
        ({"subject": [{"code": 15012000, "name": "n"}]}, "bad_topics"),
        ({"subject": [{"code": "x" * 256}]}, "bad_topics"),
        ({"subject": [{"code": str(i)} for i in range(1001)]}, "bad_topics"),
        ({"subjects": [{"uri": "http://x/y/"}]}, "bad_topics"),
        ({"urgency": 0}, "bad_rank"),
        ({"urgency": 10}, "bad_rank"),
        ({"urgency": 2.5}, "bad_rank"),
        ({"urgency": True}, "bad_rank"),
        ({"urgency": "3"}, "bad_rank"),
        ({"urgency": ""}, "bad_rank"),
        ({"headline": "x", "versioncreated": "Last Tuesday"}, "bad_time"),
        ({"headline": "x", "versioncreated": "2024-02-07"}, "bad_time"),
        ({"headline": "x", "versioncreated": "2024-02-07T10:00:00"}, "bad_time"),
        ({"headline": "x", "versioncreated": "2024-02-07T10:00Z"}, "bad_time"),
        ({"headline": "x", "versioncreated": "20240207T100000Z"}, "bad_time"),
        ({"headline": "x", "versioncreated": "2024-02-07T10:00:00+2500"}, "bad_time"),
        ({"headline": "x", "versioncreated": 1707300000}, "bad_time"),
    ],
)
def test_what_is_refused_and_why(item: dict[str, Any], reason: str) -> None:
    with pytest.raises(MalformedEvent) as error:
        read(**item)
    assert error.value.reason == reason
    assert reason in REASONS
    assert 0 < len(error.value.detail) < 400


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("headline", "bad_content"),
        ("headlines", "bad_content"),
        ("bodies", "bad_content"),
        ("subject", "bad_topics"),
        ("urgency", "bad_rank"),
        ("versioncreated", "bad_time"),
        ("pubstatus", NOT_USABLE),
    ],
)
def test_values_nested_deeper_than_python_can_print(key: str, reason: str) -> None:
    nested = "[" * 1015 + "]" * 1015
    with pytest.raises(MalformedEvent) as error:
        parse_ninjs(f'{{"uri": "a", "body_text": "x", "{key}": {nested}}}'.encode())
    assert error.value.reason == reason


@pytest.mark.parametrize("status", ["canceled", "withheld", "Canceled", "replaced", 1, {}])
def test_items_that_are_not_usable_are_refused(status: object) -> None:
    for item in ({"headline": "x", "subject": [{"code": "a"}]}, {"urgency": 1}, {"headline": 7}):
        with pytest.raises(MalformedEvent) as error:
            read(pubstatus=status, **item)
        assert error.value.reason == NOT_USABLE


@pytest.mark.parametrize("status", ["usable", "Usable", "", None])
def test_usable_is_the_default(status: object) -> None:
    assert read(headline="x", pubstatus=status).content == "x"


def test_nesting_is_no_recursion() -> None:
    event = read(body_xhtml="<div><span>" * 50_000 + "deep" + "</span></div>" * 10)
    assert event.content == "deep"


def test_a_number_too_long_for_int() -> None:
    assert read(body_html="<p>&#" + "9" * 50_000 + ";a").content == "\ufffda"
    assert read(body_html="<p>&#x" + "f" * 50_000 + ";a").content == "\ufffda"


# Whatever comes


keys = st.sampled_from(
    """
    uri guid headline headline_x headlines body_text body_xhtml body_x bodies description_text
    descriptions subject subjects urgency versioncreated pubstatus role contenttype value code
    literal name x
    """.split()  # noqa: SIM905 - words read better than quotes
)
strings = st.text(max_size=8) | st.sampled_from(["usable", "text/html", "<p>x", "&#1;", "main"])
scalars = st.none() | st.booleans() | st.integers(-1, 11) | st.floats(allow_nan=False) | strings
values = st.recursive(
    scalars,
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(keys, inside, max_size=6),
    max_leaves=20,
)
maybe = st.none() | strings
texts = st.lists(
    st.fixed_dictionaries({}, optional=dict.fromkeys(("role", "contenttype", "value"), maybe)),
    max_size=3,
)
subjects = st.lists(st.fixed_dictionaries({"name": st.just("n")}, optional={"code": maybe}))
likely = st.fixed_dictionaries(
    {"uri": st.just("urn:x:1"), "urgency": st.integers(1, 9)},
    optional={
        "headline": maybe,
        "headlines": texts,
        "body_xhtml": maybe,
        "bodies": texts,
        "subjects": st.none() | subjects,
    },
)


@given(values | st.dictionaries(keys, values, max_size=10).map(lambda item: {"uri": "a", **item}))
def test_random_json_is_read_or_refused(value: object) -> None:
    with suppress(MalformedEvent):
        parse_ninjs(json.dumps(value).encode())


@given(likely)
def test_items_that_follow_the_schema_are_read(item: dict[str, Any]) -> None:
    event = parse_ninjs(json.dumps(item).encode())
    assert event.content is None or (isinstance(event.content, str) and event.content)
    assert (event.topics is None) == (item.get("subjects") is None)
    assert event.rank == item["urgency"]


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(raw: bytes) -> None:
    with suppress(MalformedEvent):
        parse_ninjs(raw)
