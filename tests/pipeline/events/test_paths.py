"""Paths: what they find, what they refuse in an event, and which texts are no paths."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import UsageError
from pipeline.events.paths import MAX_PATH_CHARACTERS, PathProblem, join_path, parse_path
from pipeline.events.record import Record

EVENT: dict[str, Any] = {
    "a": {"b": {"c": 1}, "b.c": 2, "": 9},
    "tags": [{"slug": "x", "in": [1, 2]}, {"slug": None, "in": [3]}, {"in": None}],
    "words": ["p", "q"],
    "@id": "at",
    "dc:title": "colon",
    "a key": "space",
    "null": None,
    "$oid": 5,
    "same": {"same": 5},
    "empty": {},
}
RECORD = Record(
    b'{"x": 1}', b'{"payload": {"id": 7}}', 12, [("h", b"1"), ("h", b"2"), ("x.y-z", b"3")],
    "news", 3, 17,
)  # fmt: skip


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("words", ["p", "q"]),
        ("a.b.c", 1),
        ('a."b.c"', 2),
        ('a.""', 9),
        ("tags[].slug", ["x", None, None]),
        ("tags[].in[]", [1, 2, 3, None]),
        ("tags[0].slug", "x"),
        ("tags[7].slug", None),
        ("words[1]", "q"),
        ("words[]", ["p", "q"]),
        ('"@id"', "at"),
        ("dc:title", "colon"),
        ("a key", "space"),
        ("$oid", 5),
        ("null", None),
        ("null.more", None),
        ("absent.more[].yet", None),
        ("@key", '{"payload": {"id": 7}}'),
        ("@key.payload.id", 7),
        ("@timestamp", 12),
        ("@header.h", "2"),
        ("@header.x.y-z", "3"),
        ('@header."x.y-z"', "3"),
        ("@header.absent", None),
        ("@value", '{"x": 1}'),
        ("@topic", "news"),
        ("@partition", 3),
        ("@offset", 17),
        ("@origin", "news-3-17"),
        ("@envelope.outer", "around"),
    ],
)
def test_a_path_finds(path: str, value: object) -> None:
    assert parse_path(path).getter()(EVENT, RECORD, {"outer": "around"}) == value


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("words.x", "`words` is a list, not an object"),
        ("a[]", "`a` is an object, not a list"),
        ("a.b[0]", "`a.b` is an object, not a list"),
        ("tags[].slug.x", "`tags[].slug` is a string, not an object"),
        ("@key.payload.id.x", "`payload.id` is a number, not an object"),
        ("same.same.same.same", "`same.same` is a number, not an object"),
        ("empty[].x", "`empty` is an object, not a list"),
        ("words[].x", "`words[]` is a string, not an object"),
    ],
)
def test_what_is_on_the_way_is_named(path: str, problem: str) -> None:
    with pytest.raises(PathProblem) as refused:
        parse_path(path).getter()(EVENT, RECORD, EVENT)
    assert str(refused.value) == problem


@pytest.mark.parametrize(("path", "record"), [
    ("@key", Record(b"", b"\xff")),
    ("@key.id", Record(b"", b"plain")),
    ("@key.id", Record(b"", b"7")),
    ("@header.h", Record(b"", headers=[("h", b"\xff")])),
])  # fmt: skip
def test_bytes_that_are_not_text_are_refused(path: str, record: Record) -> None:
    with pytest.raises(PathProblem):
        parse_path(path).getter()({}, record, {})


@pytest.mark.parametrize(
    ("path", "advice"),
    [
        ("", "1 to 500 characters"),
        ("x" * (MAX_PATH_CHARACTERS + 1), "1 to 500 characters"),
        ("$.a.b", "is JSONPath; write 'a.b'"),
        ("$['a'][*]", "is JSONPath; write 'a[]'"),
        ("/a/b", "is a JSON Pointer; write 'a.b'"),
        ("a[*].b", "write 'a[].b'"),
        ("a[-1]", "expected [] (each element) or a number from 0"),
        ("a[x]", "expected [] (each element) or a number from 0"),
        ("a[99999999999]", "cannot be used here"),
        ("[0].a", "cannot be used here"),
        ("[].a", "must begin with a key"),
        ("a..b", "quote other keys"),
        (".a", "quote other keys"),
        ("a.", "quote other keys"),
        ('a."b', "quote other keys"),
        ('a"b"', "quote other keys"),
        ("a .b", "space at the start or end"),
        ("@id", "is quoted: \"@id\""),
        ("@header", "write @header.NAME"),
        ("@header.", "write @header.NAME"),
        ("@envelope", "write @envelope.NAME"),
        ("@timestamp.x", "write '@timestamp'"),
        ("a" + ".b" * 40, "at most 32"),
        ('"\\x"', "quote it as in JSON"),
    ],
)  # fmt: skip
def test_a_text_that_is_no_path(path: str, advice: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_path(path)
    assert advice in str(refused.value)


keys = st.text(max_size=8) | st.text('ab.[]0"@$/ \\*', max_size=5)
steps = st.lists(keys | st.integers(0, 99), max_size=6)


@given(keys, steps)
def test_any_keys_can_be_written_as_a_path(first: str, rest: list[str | int]) -> None:
    path = [first, *rest]
    assert list(parse_path(join_path(path)).steps) == path
    value: Any = 42
    for step in reversed(path):
        value = {step: value} if isinstance(step, str) else [None] * step + [value]
    assert parse_path(join_path(path)).getter()(value, RECORD, value) == 42


@given(st.text(max_size=40) | st.text('ab.[]0"@$/ \\*', max_size=12))
def test_any_text_is_a_path_or_is_refused(text: str) -> None:
    with suppress(UsageError):
        path = parse_path(text)
        assert parse_path(path.text) == path
