"""What an input looks like that cannot be used, and when that is said."""

from __future__ import annotations

import bz2
import gzip
import lzma
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.events.fields import parse_fields
from pipeline.events.formats import new_decoder
from pipeline.events.record import Record
from pipeline.events.sniffing import KINDS, explain_sample, sniff
from pipeline.events.suggestions import suggest_whole_mapping
from pipeline.events.usability import Usability


@pytest.mark.parametrize(
    ("sample", "kind"),
    [
        (gzip.compress(b"x", mtime=0), "gzip"),
        (bz2.compress(b"x"), "bzip2"),
        (lzma.compress(b"x"), "xz"),
        (b"PK\x03\x04\x14\x00", "zip"),
        (b"Obj\x01\x04\x14avro.codec", "avro-file"),
        (b"\x00\x00\x00\x00\x07\x10grain", "schema-registry"),
        (b"\x00\x00\x01\x86\xa1\x10grain", "schema-registry"),
        (b"\x00\x00\x00\x09\x00\x10grain", "schema-registry"),
        (b'\x00\x00\x01\x86\xa1 {"id": 1}', "json-schema"),
        ("Wheat".encode("utf-32-be"), "utf-16"),
        (b"PAR1\x15\x04", "parquet"),
        ('﻿{"id": 1}'.encode("utf-16-le"), "utf-16"),
        ('{"id": 1}'.encode("utf-16-be"), "utf-16"),
        (b"\x80\x81\x02\x03\x04\x05" * 20, "binary"),
        ("Getreide für Zürich".encode("latin-1"), "text"),
        (b'<?xml version="1.0"?>\n<newsItem guid="x">', "newsml-g2"),
        (b"<nar:newsMessage xmlns:nar='x'/>", "newsml-g2"),
        (b'<?xml version="1.0"?><rss/>', "xml"),
        (b"<!DOCTYPE html><p>x", "html"),
        (b'[{"id": 1}]', "json-array"),
        (b"  [\n", "json-array"),
        (b"{\n", "json-text"),
        (b"id,title,topics\r\n", "csv"),
        (b"id;title;topics", "csv"),
        (b"id\ttitle\ttopics\n", "tsv"),
        (b"__label__grain wheat, up", "fasttext"),
        (b"Wheat is up", "text"),
        (b'{"uri": "urn:x", "headline": "x", "versioncreated": "y"}', "ninjs"),
        (b'{"id": 1, "text": "x"}', None),
        (b'{"id": 1, "te', None),
        (b"", None),
    ],
)
def test_a_sample(sample: bytes, kind: str | None) -> None:
    sniffed = sniff(sample)
    assert (sniffed and sniffed.kind) == kind


def test_every_kind_says_what_to_do() -> None:
    for kind in KINDS.values():
        for kafka in (True, False):
            assert len(kind.sentence(kafka)) > 30


def test_an_object_gets_a_mapping() -> None:
    event = orjson.dumps({"id": 1, "headline": "Wheat", "story": "up"})
    said = explain_sample(event, kafka=False)
    assert said.endswith("reads it: --fields title=headline --fields text=story")
    toml = '[streams.fields] title = "headline", text = "story"'
    assert explain_sample(event, kafka=True).endswith(toml)


@pytest.mark.parametrize(
    "event",
    [
        {"nr": 1, "headline": "Wheat", "story": "up"},
        {"id": None, "text": "Wheat up"},
        {"specversion": "1.0", "id": "e1", "data": {"story": "up"}},
        {"op": "c", "before": None, "after": {"nr": 1, "story": "up"}},
    ],
)
def test_the_proposed_mapping_reads_the_event(event: dict[str, Any]) -> None:
    """An event without an id got a mapping without an id, which could not read it."""
    decode = new_decoder("wirerank", parse_fields(suggest_whole_mapping(event)))
    assert decode(Record(orjson.dumps(event)), 1000).content
    assert "id=@" in explain_sample(orjson.dumps(event), kafka=False)


@given(st.binary(max_size=200))
def test_any_bytes_can_be_explained(sample: bytes) -> None:
    assert isinstance(explain_sample(sample, kafka=True), str)


def refused(count: int) -> list[tuple[str, str, bytes]]:
    return [("not_json", "the event is not valid JSON", b"id,title")] * count


def test_the_warning_comes_early_and_gets_rarer() -> None:
    usability = Usability(kafka=False)
    assert usability.note(99, refused(99)) is None
    warning = usability.note(1, refused(1))
    assert warning == (
        "100 of 100 events cannot be used (not_json 100).\n"
        "  It looks like CSV with a header: write csv:FILE.\n"
        "  The first one: the event is not valid JSON"
    )
    later = [usability.note(1000, refused(1000)) is not None for _ in range(130)]
    assert [number for number, warned in enumerate(later) if warned] == [1, 12, 113]


def test_usable_input_and_deletions_cause_no_warning() -> None:
    usability = Usability(kafka=True)
    for _ in range(50):
        assert usability.note(100, refused(80)) is None
    tombstones = [("tombstone", "no value", b"")] * 1000
    assert usability.note(1000, tombstones) is None
    assert usability.end() is None


def test_a_short_input_is_judged_at_its_end() -> None:
    usability = Usability(kafka=False)
    assert usability.note(2, refused(2)) is None
    assert usability.end() is not None
    usability = Usability(kafka=False)
    assert usability.note(200, refused(0)) is None
    assert usability.note(1, refused(1)) is None
    assert usability.end() is None  # one bad event after two hundred good ones


def test_what_an_event_says_forges_no_lines() -> None:
    usability = Usability(kafka=False)
    event = orjson.dumps({"bo\ndy": "x", "headline": "\x1b[2J"})
    usability.note(1, [("unknown_fields", "unknown keys: `bo\ndy`", event)])
    warning = usability.end()
    assert warning is not None
    assert warning.count("\n") == 2
    assert "\x1b" not in warning
