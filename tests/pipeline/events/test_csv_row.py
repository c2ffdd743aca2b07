"""Rows of CSV as values of records: the settings name the columns."""

from __future__ import annotations

import csv
import io
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import UsageError
from pipeline.events.csv_row import DELIMITERS, CsvRowParser
from pipeline.events.event import MAX_EVENT_BYTES, Event, MalformedEvent, parse_event
from pipeline.events.fields import parse_fields
from pipeline.events.formats import check_format, new_decoder
from pipeline.events.record import Record
from tests.support.reshaped_events import WORDS

COLUMNS = ("nr", "headline", "body", "tags", "stars", "at")
FIELDS = {
    "id": "nr", "title": "headline", "text": "body", "rank": "stars", "time": "at",
    "topics": {"path": "tags", "separator": "|"},
}  # fmt: skip


def row_of(cells: list[str], delimiter: str = ",") -> bytes:
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter, lineterminator="").writerow(cells)
    return file.getvalue().encode()


@pytest.mark.parametrize("delimiter", DELIMITERS)
def test_rows_give_the_events_of_native_documents(delimiter: str) -> None:
    rng = Random(1)
    format_ = f"csv:columns={'+'.join(COLUMNS)},delimiter={delimiter}"
    decode = new_decoder(format_, parse_fields(FIELDS))
    for number in range(200):
        text = ' "'.join(rng.choices([*WORDS, "a;b,c|d\te", "two\nlines"], k=5))
        topics = rng.sample(["grain", "money-fx", "a b"], rng.randrange(1, 3))
        cells = [str(number), "Wheat", text, "|".join(topics), "4", "2026-03-01T09:30:00Z"]
        event = decode(Record(row_of(cells, DELIMITERS[delimiter])), MAX_EVENT_BYTES)
        assert event == Event(
            str(number),
            f"Wheat\n{text}",
            tuple(topics),
            4,
            "2026-03-01T09:30:00Z",
            title_length=5,
        )


def test_native_names_need_no_mapping() -> None:
    decode = new_decoder("csv:columns=id+text+topics+rank")
    native = b'{"id": "7", "text": "Prices rose.", "topics": ["grain", "ship"], "rank": 3}'
    assert decode(Record(b'7,Prices rose.,"grain; ship",3'), 1000) == parse_event(native)
    assert decode(Record(b"7,,grain,"), 1000) == parse_event(b'{"id": "7", "topics": ["grain"]}')


@pytest.mark.parametrize(
    ("value", "reason", "words"),
    [
        (b"", "bad_row", "0 rows, expected one row per record"),
        (b"1,2\n3,4", "bad_row", "2 rows, expected one"),
        (b"1", "bad_row", r"1 cells, and 2 columns are named \(id, text\)"),
        (b'1,"x', "bad_row", "cannot be read: unexpected end of data"),
        (b"1,\xff", "bad_row", "not UTF-8"),
        (b"1," + b"x" * 1000, "too_large", "more than 1,000 bytes"),
        (None, "tombstone", "no value"),
    ],
)
def test_what_is_no_row_is_refused(value: bytes | None, reason: str, words: str) -> None:
    with pytest.raises(MalformedEvent, match=words) as refused:
        new_decoder("csv:columns=id+text")(Record(value), 1000)
    assert refused.value.reason == reason


@given(st.binary(max_size=200))
def test_any_value_is_a_row_or_is_refused(value: bytes) -> None:
    refusal = None
    try:
        assert CsvRowParser(("a", "b"))(value, 1000).keys() <= {"a", "b"}
    except MalformedEvent as error:
        refusal = error.reason
    assert refusal in (None, "bad_row")


@pytest.mark.parametrize(
    ("format_", "words"),
    [
        ("csv", "names no columns; write for instance csv:columns=id"),
        ("csv:columns=", "names no columns"),
        ("csv:columns=id+id", "must name each column once"),
        ("csv:columns=id,delimiter=x", "choose comma, semicolon, tab, pipe"),
        ("csv:header=yes", "an option that is not known"),
    ],
)
def test_a_format_that_makes_no_sense_is_refused(format_: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        check_format(format_, kafka=True)


def test_a_file_is_a_source_of_its_own() -> None:
    with pytest.raises(UsageError, match="A file with a header is the source csv:PATH"):
        check_format("csv:columns=id")
