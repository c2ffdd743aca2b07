"""Rows of CSV files are events; a row that cannot be read is a dead letter with a reason."""

from __future__ import annotations

import csv
import io
import os
import tracemalloc
from collections.abc import Mapping, Sequence
from io import FileIO
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.corpora import Source, SourceError, input_file, open_source
from pipeline.corpora.csv_rows import CsvRows, RowLines
from pipeline.corpora.source import RefusedEvent
from pipeline.events.event import parse_event
from pipeline.events.fields import parse_fields
from pipeline.log.block_reader import BlockReader
from pipeline.text.tokenizer import Tokenizer
from tests.support.format_documents import documents, native, rankings
from tests.support.packing import PACKINGS

HEADER = "id,title,text,topics\r\n"


def written(rows: Sequence[Mapping[str, Any]], split: str = ";", **dialect: Any) -> str:  # noqa: ANN401
    file = io.StringIO()
    writer = csv.DictWriter(file, list(rows[0]), **dialect)
    writer.writeheader()
    for row in rows:
        writer.writerow({**row, "topics": split.join(row["topics"])})
    return file.getvalue()


def events(source: Source) -> list[dict[str, Any]]:
    """The events; none may be refused."""
    raw = [line for line in source if line.strip()]
    assert not any(isinstance(line, RefusedEvent) for line in raw)
    return [orjson.loads(line) for line in raw]


def read(path: Path, text: str | bytes, options: str = "") -> tuple[list[Any], list[Any]]:
    """The events, and the dead letters as line, reason and raw row."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    letters = []
    source = open_source(f"csv:{path}{options}")
    events = [raw for raw in source if raw.strip() and not isinstance(raw, RefusedEvent)]
    found = [orjson.loads(event) for event in events]
    for block in BlockReader(source, Tokenizer(), 100):
        letters += [(one.line, one.refusal.reason, one.raw) for one in block.dead_letters]
    return found, letters


@pytest.mark.parametrize("name", ["d.csv", "d.tsv", "d;csv", "d|csv", "d.csv.gz", "d.TSV.zip"])
def test_rankings_are_those_of_native_events(tmp_path: Path, name: str) -> None:
    every = documents()
    delimiter = "\t" if "tsv" in name.lower() else name[1] if name[1] in ";|" else ","
    split = "|" if delimiter != "|" else ";"
    text = written(every, split, delimiter=delimiter).encode()
    packing = name.rpartition(".")[2]
    path = tmp_path / name
    path.write_bytes(PACKINGS[packing](text) if packing in PACKINGS else text)
    expected = rankings(tmp_path, native(tmp_path / "native.jsonl", every))
    assert rankings(tmp_path, f"csv:{path},split={split}") == expected
    if delimiter in ",\t":  # the name says what it is; topics are separated by a semicolon
        text = written(every, delimiter=delimiter).encode()
        path.write_bytes(PACKINGS[packing](text) if packing in PACKINGS else text)
        assert rankings(tmp_path, str(path)) == expected


def test_cells_are_strings_except_topics_and_rank(tmp_path: Path) -> None:
    text = "id,text,topics,rank,time,extra\n7,x, a ; ;b ,3,1987-02-26T15:01:01Z,9\n8,y,,,,\n"
    found, letters = read(tmp_path / "f", text)
    assert not letters
    assert found == [
        {"id": "7", "text": "x", "topics": ["a", "b"], "rank": 3, "time": "1987-02-26T15:01:01Z",
         "extra": "9"},
        {"id": "8", "text": "y"},
    ]  # fmt: skip
    assert parse_event(orjson.dumps(found[0])).rank == 3
    found, _ = read(tmp_path / "f", text, ",split=none")
    assert found[0]["topics"] == " a ; ;b "


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_files_of_spreadsheets(tmp_path: Path, encoding: str) -> None:
    text = 'id\ttext\r\n1\t"Z\u00fcrich ""x""\r\n\u20ac"\r\n'
    found, _ = read(tmp_path / "f", text.encode(encoding))
    assert found == [{"id": "1", "text": 'Z\u00fcrich "x"\r\n\u20ac'}]


def test_rows_that_cannot_be_read_are_dead_letters(tmp_path: Path) -> None:
    rows = [
        b"1,a,b,c\r\n",
        b"2,a,b\n",  # a cell is missing
        b"3,a,b,c,d\n",
        b"\n",
        b'4,"a"b,c,d\n',
        b"5,\xff,b,c\n",
        b"6,a,b,c\n",
        b"7,a\0b,c,d\n",
    ]
    found, letters = read(tmp_path / "f", HEADER.encode() + b"".join(rows))
    assert [event["id"] for event in found] == ["1", "6", "7"]
    assert letters == [(n, "bad_row", rows[n - 2]) for n in (3, 4, 6, 7)]


@pytest.mark.parametrize("rest", [100, 200_000])
def test_a_quote_that_is_not_closed_costs_one_row(tmp_path: Path, rest: int) -> None:
    """However much follows, only the line with the quote is lost."""
    rows = "".join(f"{n},a,b,c\n" for n in range(rest))
    found, letters = read(tmp_path / "f", f'{HEADER}x,"a,b,c\n{rows}')
    assert [event["id"] for event in found] == [str(n) for n in range(rest)]
    assert letters == [(2, "bad_row", b'x,"a,b,c\n')]


def test_no_line_is_read_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of these lines begins a cell that never ends, in a cell that began before and alone."""
    count = 500
    reads = 0
    read_line = RowLines.__next__

    def counted(lines: RowLines) -> str:
        nonlocal reads
        reads += 1
        return read_line(lines)

    monkeypatch.setattr(RowLines, "__next__", counted)
    path = tmp_path / "f"
    path.write_text('id,text\n"\n' + 'x","\n' * count + "1,a\n" * 20)
    raw = list(CsvRows(path))[1:]
    refused = [line for line in raw if isinstance(line, RefusedEvent)]
    assert [line for line in raw if line not in refused] == [b'{"id":"1","text":"a"}'] * 20
    assert [bytes(line) for line in refused] == [b'"\n', *[b'x","\n'] * count]
    assert reads < 20 * count


def test_without_quotes_a_quote_is_a_sign(tmp_path: Path) -> None:
    found, letters = read(tmp_path / "f", 'id\ttext\n1\t"a\n2\tb"c\n', ",quote=none")
    assert not letters
    assert [event["text"] for event in found] == ['"a', 'b"c']


def test_long_rows_are_dead_letters(tmp_path: Path) -> None:
    path = tmp_path / "f"
    lines = "x\n" * 600  # in one cell, which is read again line by line
    path.write_text(f'id,text\n1,a\n2,{"x" * (10 << 20)}\n3,c\n4,"{lines}"\n5,e\n')
    tracemalloc.start()
    try:
        raw = list(CsvRows(path, max_event_bytes=1000))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    refused = [line for line in raw if isinstance(line, RefusedEvent)]
    assert [orjson.loads(line)["id"] for line in raw[1:] if line not in refused] == ["1", "3", "5"]
    assert [one.refusal.reason for one in refused] == ["too_large", *["bad_row"] * 601]
    assert [len(one) for one in refused] == [1003, 5, *[2] * 600]
    assert peak < 1 << 20


def test_rows_come_as_they_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    into, out = os.pipe()
    monkeypatch.setattr(
        "pipeline.corpora.csv_rows.parts_of", lambda path: [input_file.pipe_part(FileIO(into))]
    )
    source = iter(CsvRows(Path("-")))
    os.write(out, b"\nid,te")
    assert [next(source), next(source)] == [b"\n", b""]
    os.write(out, b"xt\n1,a\n2,")
    assert [next(source) for _ in range(3)] == [b"\n", b'{"id":"1","text":"a"}', b""]
    os.write(out, b'"b\n')
    os.write(out, b'c"\n')
    assert next(source) == b'{"id":"2","text":"b\\nc"}'
    os.close(out)
    assert [line for line in source if line] == []


@pytest.mark.parametrize("text", ["", "\n \n", "\r\n"])
def test_a_file_without_a_header_has_no_events(tmp_path: Path, text: str) -> None:
    assert read(tmp_path / "f", text) == ([], [])


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("id,id\n", "", "the column 'id' several times"),
        ('id,"text\n', "", "the header cannot be read"),
        ('id,"a"b\n', "", "the header cannot be read"),
        ("id,a;b\n", "", "several signs .*comma semicolon.*delimiter=comma"),
        ("x" * (2 << 20), "", "the header cannot be read"),
        ("id\n", ",delimiter=xx", "no delimiter=xx; choose comma"),
        ("id\n", ",delimiter=a", "no delimiter=a"),
        ("id\n", ",quote=single", "no quote=single"),
        ("id\n", ",colour=red", "csv has no option 'colour'. Known: delimiter"),
    ],
)
def test_bad_headers_and_options_are_errors(
    tmp_path: Path, text: str, options: str, message: str
) -> None:
    with pytest.raises(SourceError, match=message):
        read(tmp_path / "f", text, options)


def test_a_sign_may_be_the_delimiter(tmp_path: Path) -> None:
    found, _ = read(tmp_path / "f", "id;a,b\n1;2\n", ",delimiter=;")
    assert found == [{"id": "1", "a,b": "2"}]
    found, _ = read(tmp_path / "f", "id:b\n1:2\n", ",delimiter=:")
    assert found == [{"id": "1", "b": "2"}]


def test_every_member_of_a_zip_file_has_a_header(tmp_path: Path) -> None:
    from tests.support.packing import zipped

    path = tmp_path / "many.csv.zip"
    path.write_bytes(zipped({"a.csv": b"id,text\n1,a", "b.csv": b"text;id\nb;2\n"}))
    assert events(open_source(str(path))) == [{"id": "1", "text": "a"}, {"id": "2", "text": "b"}]


def test_columns_of_other_names_are_mapped(tmp_path: Path) -> None:
    every = documents()
    path = tmp_path / "articles.csv"
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["nr", "headline", "lead", "body", "tags"])
    for event in every:
        lead, _, body = event["text"].partition(" ")
        writer.writerow([event["id"], event["title"], lead, body, "|".join(event["topics"])])
    path.write_text(file.getvalue())
    fields = {
        "id": "nr", "title": "headline", "text": ["lead", "body"],
        "topics": {"path": "tags", "separator": "|"},
    }  # fmt: skip
    expected = rankings(tmp_path, native(tmp_path / "native.jsonl", every))
    assert rankings(tmp_path, str(path), fields=parse_fields(fields)) == expected
