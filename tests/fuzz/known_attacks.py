"""Inputs that once did harm, and that are too large for a file: each is made by code.

The small ones are files in `tests/fuzz/findings/`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import orjson

from pipeline.log.record import KIND, VERSION
from pipeline.storage.container import pack, unpack
from tests.fuzz.targets.streams import record_of
from tests.support.reuters_sgml import story

MEGABYTE = 1 << 20


class Attack(NamedTuple):
    """An input, and the target that it is for."""

    name: str
    target: str
    make: Callable[[], bytes]


def combining_marks(marks: str) -> Callable[[], bytes]:
    """Return a text of about a megabyte that is one letter and its marks."""
    return lambda: b"a" + marks.encode() * (MEGABYTE // len(marks.encode()))


def event_of(text: bytes) -> bytes:
    """Return an event with this text."""
    return orjson.dumps({"id": "n1", "text": text.decode()})[:MEGABYTE]


def news_item(body: str) -> Callable[[], bytes]:
    """Return a news item whose body is this piece of markup over and over."""
    text = body * (900_000 // len(body))
    return lambda: orjson.dumps({"uri": "urn:x:1", "body_xhtml": text})


def topics_of(piece: str, count: int) -> Callable[[], bytes]:
    """Return a Reuters story whose list of topics is this piece over and over."""
    whole = story(1, labels=("grain",)).replace("<D>grain</D>", piece * count)
    return lambda: whole.encode("latin-1")


def record_with(name: str, array: list[int], dtype: type[np.generic]) -> Callable[[], bytes]:
    """Return a record of the log with another array, and a correct checksum."""

    def make() -> bytes:
        content, arrays = unpack(record_of(12), KIND, VERSION, "a record")
        arrays[name] = np.array(array, dtype)
        return pack(KIND, VERSION, content, arrays)

    return make


def falling_ends() -> bytes:
    """Return a record whose ends of terms fall, which unsigned differences do not show."""
    content, arrays = unpack(record_of(12), KIND, VERSION, "a record")
    letters = np.full(60_000, ord("a"), np.uint8)
    arrays["term_letters"] = letters
    arrays["term_ends"] = np.array([0, 60_000, 5, 60_000], np.uint16)
    return pack(KIND, VERSION, content, arrays)


ATTACKS = (
    Attack("marks of two classes", "tokenizer", combining_marks("\u0315\u0300")),
    Attack("marks of one class", "tokenizer", combining_marks("\u0300")),
    Attack("marks that compose", "tokenizer", combining_marks("\u0323\u0307\u0315")),
    Attack("jamo", "tokenizer", combining_marks("\u1100\u1161\u11a8")),
    Attack(
        "an event of marks",
        "events-wirerank",
        lambda: event_of(b"a" + b"\xcc\x95\xcc\x80" * 200_000),
    ),
    Attack("unclosed topics", "reuters21578", topics_of("<D>", 100_000)),
    Attack("unopened topics", "reuters21578", topics_of("</D>", 100_000)),
    Attack("unclosed titles", "reuters21578", topics_of("</TOPICS><TEXT><TITLE>", 30_000)),
    Attack("unclosed stories", "reuters21578", lambda: b"<REUTERS >" * 50_000),
    Attack("unclosed comments", "events-ninjs", news_item("<!-- ")),
    Attack("unclosed quotes", "events-ninjs", news_item("<a b='")),
    Attack("unclosed scripts", "events-ninjs", news_item("<script>")),
    Attack("tags without an end", "events-ninjs", news_item("<a =")),
    Attack("entities", "events-ninjs", news_item("&#" + "9" * 30)),
    Attack("falling ends of terms", "log-records", falling_ends),
    Attack(
        "falling starts of rows", "log-records", record_with("starts", [0, 60_000, 5], np.uint16)
    ),
    Attack("negative terms", "log-records", record_with("terms", [-1] * 30, np.int32)),
    Attack("deep nesting", "events-wirerank", lambda: b'{"id":' + b"[" * 500_000),
    Attack("a line without an end", "event-lines", lambda: b"x" * MEGABYTE),
    Attack("blank lines", "event-lines", lambda: b"\n" * MEGABYTE),
    Attack("brackets", "lane-specs", lambda: b"svm-map:of=[" + b"mmp,[" * 20_000),
    Attack("names of lanes", "lane-specs", lambda: b"svm-map:of=[" + b"mmp," * 900 + b"mmp]"),
    Attack(
        "a header without an end", "http-metrics", lambda: b"GET / HTTP/1.1\r\nX: " + b"a" * 200_000
    ),
    Attack("many headers", "http-page", lambda: b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 20_000),
    Attack("sentence ends", "text-files", lambda: b"." * (MEGABYTE // 4)),
    Attack("hyphens", "text-files", lambda: b"a-" * (MEGABYTE // 8)),
    Attack("folded headers", "newsgroups", lambda: b"Subject: a\n" + b" b\n" * 50_000),
    Attack("attributes", "rcv1-newsml", lambda: b"<newsitem " + b"a" * 200_000 + b">"),
    Attack("codes", "rcv1-newsml", lambda: b"<codes " * 40_000),
)
