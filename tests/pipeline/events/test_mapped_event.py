"""Field mappings: what they read, and what they refuse, in settings and in events."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from pipeline.errors import UsageError
from pipeline.events.event import MAX_EVENT_BYTES, REASONS, Event, MalformedEvent
from pipeline.events.fields import check_for_files, parse_fields
from pipeline.events.formats import new_decoder
from pipeline.events.record import Record


def decode(fields: dict[str, Any], event: object, **record: Any) -> Event:  # noqa: ANN401
    made = Record(orjson.dumps(event), **record)
    return new_decoder("wirerank", parse_fields(fields))(made, MAX_EVENT_BYTES)


def refused(fields: dict[str, Any], event: object, **record: Any) -> MalformedEvent:  # noqa: ANN401
    with pytest.raises(MalformedEvent) as problem:
        decode(fields, event, **record)
    assert problem.value.reason in REASONS
    return problem.value


ISSUE = {
    "id": "articleId",
    "title": "headline",
    "text": ["lead", {"path": "body.html", "html": True}],
    "topics": "tags[].slug",
    "rank": "priority",
    "time": "published.at",
}


def test_a_nested_document() -> None:
    event = {
        "articleId": 7, "headline": "Wheat up", "lead": "Prices rose.",
        "body": {"html": "<p>Traders &amp; farmers</p><p>smiled."}, "priority": 3,
        "tags": [{"slug": "grain"}, {"slug": "ship"}, {"slug": "grain"}],
        "published": {"at": "1987-02-26T15:01:01Z"}, "desk": "markets",
    }  # fmt: skip
    text = "Wheat up\nPrices rose.\n Traders & farmers  smiled."
    assert decode(ISSUE, event) == Event(
        7, text, ("grain", "ship"), 3, "1987-02-26T15:01:01Z", title_length=8
    )


def test_fields_that_are_not_mapped_are_read_as_in_native_events() -> None:
    event = {"id": "a", "headline": "T", "text": "x", "topics": ["b"], "rank": 2, "features": 5}
    assert decode({"title": "headline"}, event) == Event(
        "a", "T\nx", ("b",), 2, None, title_length=1
    )
    assert decode({"id": "id"}, {"id": 1, "features": {"a": 1.5}}).content == {"a": 1.5}


def test_the_language_may_be_anywhere() -> None:
    event = {"id": 1, "text": "x", "language": "fr", "meta": {"lang": "de-CH"}}
    assert decode({"id": "id"}, event).language == "french"
    assert decode({"language": "meta.lang"}, event).language == "german"
    assert decode({"language": []}, event).language is None
    assert decode({"language": "meta"}, event).language is None


def test_a_field_can_be_left_out() -> None:
    event = {"id": "a", "title": {"no": "title"}, "text": "x", "topics": 5.5, "time": "then"}
    assert decode({"title": [], "topics": [], "time": []}, event) == Event(
        "a", "x", None, None, None
    )


@pytest.mark.parametrize(
    ("setting", "value", "topics"),
    [
        ("tags", ["a", "b", "a"], ("a", "b")),
        ("tags", [3, 4], ("3", "4")),
        ("tags", "a; b", ("a; b",)),
        ("tags", 12, ("12",)),
        ("tags", [], ()),
        ("tags", "", None),
        ("tags", None, None),
        ("tags[].x", [], ()),
        ("tags[].x", None, None),
        ("tags[].x[].y", [{"x": [{"y": "a"}]}, {"x": []}], ("a",)),
        ({"path": "tags", "separator": ";"}, "a; b ;;a", ("a", "b")),
        ({"path": "tags", "separator": ";"}, ["a;b", "c"], ("a", "b", "c")),
        ({"path": "tags", "separator": ";"}, "", None),
        (["tags", "section"], "a", ("a", "politics")),
        (["absent", "section"], "a", ("politics",)),
    ],
)
def test_topics(setting: object, value: object, topics: tuple[str, ...] | None) -> None:
    event = {"id": 1, "text": "x", "tags": value, "section": "politics"}
    assert decode({"topics": setting}, event).topics == topics


def test_the_first_id_that_there_is() -> None:
    fields = {"id": ["guid", "meta.id", "@key"]}
    assert decode(fields, {"guid": None, "meta": {"id": 5}, "text": "x"}).id == 5
    assert decode(fields, {"text": "x"}, key=b"k7").id == "k7"


def test_the_record_is_a_source() -> None:
    fields = {
        "id": "@key", "time": "@timestamp", "topics": {"path": "@header.topics", "separator": ","},
        "title": "@header.x-title",
    }  # fmt: skip
    headers = [("topics", b"grain,ship"), ("x-title", b"Wheat")]
    event = decode(fields, {"text": "up"}, key=b"k", timestamp=541350061250, headers=headers)
    assert event == Event(
        "k", "Wheat\nup", ("grain", "ship"), None, "1987-02-26T15:01:01.25Z", title_length=5
    )
    assert decode({"id": "@origin"}, {"text": "x"}, topic="t", partition=1, offset=2).id == "t-1-2"
    assert decode({"time": "@timestamp"}, {"id": 1, "text": "x"}, timestamp=-1).time is None
    assert decode({"id": "@offset", "text": "@value"}, {}, offset=3) == Event(
        3, "{}", None, None, None
    )


@pytest.mark.parametrize(("value", "rank"), [(3, 3), ("3", 3), (3.0, 3), ("", None), (None, None)])
def test_ranks(value: object, rank: int | None) -> None:
    assert decode({"rank": "stars"}, {"id": 1, "text": "x", "stars": value}).rank == rank


def test_change_data_capture() -> None:
    fields = {"unwrap": "payload.after", "text": "body", "time": {"path": "@envelope.payload.ts_ms",
              "format": "milliseconds"}}  # fmt: skip
    row = {"id": 7, "body": "Wheat", "topics": ["grain"]}
    change = {"schema": {}, "payload": {"before": None, "after": row, "op": "c", "ts_ms": 1000}}
    wanted = Event(7, "Wheat", ("grain",), None, "1970-01-01T00:00:01Z")
    assert decode(fields, change) == wanted
    change["payload"]["after"] = orjson.dumps(row).decode()  # as from MongoDB
    assert decode(fields, change) == wanted
    assert (
        refused(fields, {"payload": {"before": row, "after": None, "op": "d"}}).reason == "deletion"
    )
    assert refused(fields, {"payload": {"before": row, "op": "d"}}).reason == "deletion"
    for other in ({}, row, {"payload": None}, {"payload": 5}, {"payload": {"op": "m"}},
                  {"payload": {"after": [row]}}, {"payload": {"after": "no JSON"}},
                  {"payload": {"after": "[1]"}}):  # fmt: skip
        problem = refused(fields, other)
        assert (problem.reason, "payload" in problem.detail) == ("bad_envelope", True), other


def test_cloud_events() -> None:
    fields = {"unwrap": "data", "id": "@envelope.id", "time": "@envelope.time", "text": "story"}
    event = {
        "specversion": "1.0", "id": "e1", "source": "/desk", "type": "story",
        "time": "1987-02-26T15:01:01Z", "data": {"story": "Wheat up"},
    }  # fmt: skip
    assert decode(fields, event) == Event("e1", "Wheat up", None, None, "1987-02-26T15:01:01Z")


def test_a_tombstone_is_one() -> None:
    for mapping in (None, parse_fields({"id": "@key"})):
        with pytest.raises(MalformedEvent) as problem:
            new_decoder("wirerank", mapping)(Record(None, b"k"), 1000)
        assert problem.value.reason == "tombstone"


@pytest.mark.parametrize(
    ("fields", "event", "reason", "said"),
    [
        ({"id": "no"}, {"id": 1, "text": "x"}, "bad_id", "the id (`no`) is missing; its keys are"),
        ({"id": "no"}, {"no": 1.5, "text": "x"}, "bad_id", "`no` must be a string or an integer"),
        ({"id": "a.b"}, {"a": "x"}, "bad_id", "`a.b`, but `a` is a string, not an object"),
        ({"text": "b"}, {"id": 1, "b": ["x"]}, "bad_content", "write `b[]` to join"),
        ({"text": "b"}, {"id": 1, "b": {"html": "x"}}, "bad_content", "keys `html` (write `b."),
        ({"text": "b[].t"}, {"id": 1, "b": [{"t": 5}]}, "bad_content", "from `b[].t`, must be"),
        ({"features": "f", "text": "t"}, {"id": 1, "f": {}, "t": "x"}, "bad_content", "both"),
        ({"features": "f.g"}, {"id": 1, "f": {"g": 1}}, "bad_features", "`f.g` must be an object"),
        ({"topics": "t"}, {"id": 1, "text": "x", "t": [{"slug": "a"}]}, "bad_topics", "`t[].slug`"),
        ({"topics": "t[].a"}, {"id": 1, "text": "x", "t": [{"b": 1}]}, "bad_topics",
         "found an element without one"),
        ({"topics": "t"}, {"id": 1, "text": "x", "t": [True]}, "bad_topics", "integers, found"),
        ({"topics": "t"}, {"id": 1, "text": "x", "t": ["y" * 256]}, "bad_topics", "in `t` must be"),
        ({"rank": "r"}, {"id": 1, "text": "x", "r": 0}, "bad_rank", "read from `r`, must be"),
        ({"rank": "r"}, {"id": 1, "text": "x", "r": True}, "bad_rank", "an integer of at least 1"),
        ({"time": "t"}, {"id": 1, "text": "x", "t": 1700000000000}, "bad_time",
         'perhaps time = {path = "t", format = "milliseconds"}'),
        ({"time": {"path": "t", "format": "%d.%m.%Y %z"}}, {"id": 1, "text": "x", "t": "now"},
         "bad_time", "`t`: expected a time in the format '%d.%m.%Y %z', found 'now'"),
        ({"id": "id"}, [], "not_an_object", "expected a JSON object"),
        ({"text": "b"}, {"id": 1}, "no_content", "has no text"),
        ({"text": "b"}, {"id": 1, "story": "x", "topics": ["a"]}, "unknown_fields",
         'unknown keys: `story`. If its text is there, write in `fields` text = "story"'),
    ],
)  # fmt: skip
def test_an_event_that_does_not_fit(
    fields: dict[str, Any], event: object, reason: str, said: str
) -> None:
    problem = refused(fields, event)
    assert problem.reason == reason
    assert said in problem.detail


def test_late_labels_may_have_keys_that_the_mapping_names() -> None:
    label = {"id": 1, "topics": ["a"], "by": "desk", "v": 3}
    assert refused({"text": "body"}, label).reason == "unknown_fields"
    for ignore in (["by", "v"], "*"):
        assert decode({"text": "body", "ignore": ignore}, label).content is None
    assert refused({"ignore": ["by"]}, label).reason == "unknown_fields"
    assert decode({"rank": "v", "title": "by.name", "text": []}, {**label, "by": {}}).rank == 3


def test_text_and_headers_together_are_limited() -> None:
    fields, headers = {"title": "@header.h"}, [("h", b"x" * MAX_EVENT_BYTES)]
    assert refused(fields, {"id": 1, "text": "x"}, headers=headers).reason == "too_large"


@pytest.mark.parametrize(
    ("fields", "advice"),
    [
        (5, "expected a table"),
        ({"titel": "x"}, "did you mean 'title'?"),
        ({"colour": "x"}, "choose from id, title"),
        ({"id": []}, "an event needs an id"),
        ({"id": 5}, "expected a path (a string)"),
        ({"id": {"from": "x"}}, "there is no option 'from'; known: path"),
        ({"text": {"html": True}}, "the table must have a path"),
        ({"text": {"path": "a", "html": "yes"}}, "html must be true or false"),
        ({"id": {"path": "a", "html": True}}, "there is no option 'html'"),
        ({"topics": {"path": "a", "separator": ""}}, "separator must be a text"),
        ({"topics": ["a"] * 33}, "at most 32 paths"),
        ({"id": "ids[]"}, "write 'ids[0]'"),
        ({"text": "$.a"}, "fields.text: '$.a' is JSONPath; write 'a'"),
        ({"time": {"path": "t", "format": "epoch"}}, "fields.time: there is no time format"),
        ({"time": {"path": "t", "zone": "Nowhere"}}, "no time zone"),
        ({"unwrap": "a[0]"}, "must be keys with dots"),
        ({"unwrap": "@key"}, "must be keys with dots"),
        ({"unwrap": ["a"]}, "expected a path such as"),
        ({"ignore": 5}, "expected a list of keys"),
        ({"ignore": [5]}, "expected a list of keys"),
    ],
)  # fmt: skip
def test_settings_that_are_refused(fields: object, advice: str) -> None:
    with pytest.raises(UsageError) as problem:
        parse_fields(fields)
    assert advice in str(problem.value)


def test_what_a_file_does_not_have() -> None:
    for path in ("@key", "@key.id", "@header.id", "@timestamp"):
        with pytest.raises(UsageError, match="Kafka records only"):
            check_for_files(parse_fields({"id": path}))
    check_for_files(parse_fields({"id": ["@key", "id"]}))
    check_for_files(parse_fields({"id": "@origin"}))
    with pytest.raises(UsageError, match="leave out `fields`"):
        new_decoder("ninjs", parse_fields({}))
