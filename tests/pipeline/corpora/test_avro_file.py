"""Avro files that another library writes are read, and damaged ones are refused at the damage."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path
from random import Random
from typing import Any

import avro.datafile
import avro.io
import avro.schema
import fastavro
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.corpora import SourceError, open_source
from pipeline.corpora.avro_file import avro_events
from pipeline.events.event import parse_event

SCHEMA: dict[str, Any] = {
    "type": "record", "name": "E", "fields": [
        {"name": "id", "type": "long"},
        {"name": "text", "type": "string"},
        {"name": "topics", "type": ["null", {"type": "array", "items": "string"}]},
        {"name": "raw", "type": "bytes"},
    ],
}  # fmt: skip
CODECS = ("null", "deflate", "snappy", "zstandard", "bzip2")


def documents(count: int) -> list[dict[str, Any]]:
    rng = Random(1)
    return [
        {"id": n, "text": "wheat " * rng.randint(1, 50), "topics": ["grain"], "raw": b"\xff"}
        for n in range(count)
    ]


def written(count: int, codec: str = "null", schema: object = SCHEMA) -> bytes:
    out = io.BytesIO()
    if codec == "zstandard":  # for which fastavro needs another library
        parsed = avro.schema.parse(orjson.dumps(schema).decode())
        writer = avro.datafile.DataFileWriter(out, avro.io.DatumWriter(), parsed, codec)
        for number, document in enumerate(documents(count)):
            writer.append(document)
            if number % 7 == 6:
                writer.sync()
        writer.flush()
        return out.getvalue()
    fastavro.writer(out, schema, documents(count), codec, sync_interval=1000)  # type: ignore[arg-type]
    return out.getvalue()


def events(path: Path) -> list[dict[str, Any]]:
    return [orjson.loads(event) for event in open_source(str(path))]


@pytest.mark.parametrize("codec", CODECS)
def test_all_codecs(codec: str, tmp_path: Path) -> None:
    path = tmp_path / "articles"
    path.write_bytes(written(300, codec))
    expected = [{**document, "raw": None} for document in documents(300)]
    assert events(path) == expected
    (tmp_path / "packed.gz").write_bytes(gzip.compress(path.read_bytes()))
    packed = open_source(f"avro:{tmp_path / 'packed.gz'}")
    assert [orjson.loads(event) for event in packed] == expected
    assert parse_event(next(iter(packed))).topics == ("grain",)


@pytest.mark.parametrize("codec", CODECS)
def test_a_file_that_is_cut_off(codec: str, tmp_path: Path) -> None:
    """It is never taken for a shorter file, unless it is cut between two blocks."""
    whole, path = written(60, codec), tmp_path / "cut.avro"
    path.write_bytes(whole)
    number = len(events(path))
    for size in range(5, len(whole), 97):
        path.write_bytes(whole[:size])
        try:
            assert len(events(path)) < number
        except SourceError as error:
            assert "damaged or cut off" in str(error)  # noqa: PT017


@given(st.data())
@settings(deadline=None, max_examples=300)
def test_damaged_files(data: st.DataObject) -> None:
    content = bytearray(data.draw(st.sampled_from([written(9, codec) for codec in CODECS])))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        for event in avro_events(iter([bytes(content)]), "it", 10_000):
            orjson.loads(event)
    except SourceError as error:
        assert str(error).startswith("it ")  # noqa: PT017


def with_block(count: int, data: bytes, codec: str = "null", schema: object = SCHEMA) -> bytes:
    """A file with one block that a library would not write."""
    header = written(0, codec, schema)
    out = io.BytesIO()
    for number in (count, len(data)):
        fastavro.schemaless_writer(out, "long", number)
    return header + out.getvalue() + data + header[-16:]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (with_block(2**60, b""), "cannot have"),
        (with_block(-1, b"abc"), "cannot have"),
        (with_block(1, zlib.compress(bytes(100 << 20), 9, -15), "deflate"), "expands to more than"),
        (with_block(1, b"abcd", "snappy"), "cannot be unpacked with snappy"),
        (with_block(1, b"\x02\x02a\0\0x"), "left over"),
        (with_block(1, b"\x02\x02a"), "ends in the middle"),
        (with_block(1, b"\x02\x40a"), "a length of 32 bytes"),
        (written(1).replace(b"null", b"lzma", 1), ""),
        (b"Obj\x01" + b"\xff" * 20, "more than 64 bits"),
        (b"Obj\x01\xfe\xff\xff\xff\x0f", "too many entries"),
        (b"Obj\x01\x00" + b"s" * 16, "its schema cannot be used"),
    ],
)
def test_files_that_no_library_writes(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "hostile.avro"
    path.write_bytes(content)
    with pytest.raises(SourceError) as caught:
        events(path)
    assert message in str(caught.value)


def test_what_is_no_avro_file(tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    path.write_bytes(b'{"id": 1, "text": "a"}')
    assert events(path) == [{"id": 1, "text": "a"}]  # the content decides
    with pytest.raises(SourceError, match="does not begin as an Avro file does"):
        list(open_source(f"avro:{path}"))
    with pytest.raises(SourceError, match="does not exist; expected a file of Avro records"):
        open_source(f"avro:{tmp_path / 'missing'}")
