"""Records with correct checksums and wrong content: refused, or harmless to the kernels.

`make bounds` runs these tests with every index of the kernels checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from learners.specs import parse_spec
from pipeline.engine.engine import Engine
from pipeline.events.event import Event
from pipeline.follower import Follower
from pipeline.log.block import make_block
from pipeline.log.record import KIND, VERSION, LogRecord, Span, decode_record, encode_record
from pipeline.storage.container import DamagedError, pack, unpack
from tests.pipeline.engine.test_engine import TOKENIZER, random_events
from tests.support.mutations import ODD_VALUES, mutated_arrays
from tests.support.own_messages import own_messages

NAME = "blocks[0] offset=7"
LANES = ("mmp:loss=1", "feature-focus", "prank:ranks=3")


@pytest.fixture(scope="module")
def parts() -> tuple[dict[str, Any], dict[str, Any]]:
    """The content and arrays of a record with texts, features, topics, ranks and late labels."""
    events = random_events(0, 60)
    events.append(Event("features", {"size": 2.5, "héight": 0.0}, ("t1",), None, None))
    made = LogRecord(
        make_block(events, TOKENIZER),
        (Span("documents", 0, 0, 40, "i"), Span("documents", 1, 0, 900, "i")),
        np.repeat([0, 1], [40, len(events) - 40]),
        np.arange(len(events), dtype=np.int64),
    )
    return unpack(encode_record(made), KIND, VERSION, "r")


def check_no_harm(content: dict[str, Any], arrays: dict[str, Any]) -> bool:
    """Whether the record is accepted; it is then processed."""
    data = pack(KIND, VERSION, content, arrays)
    try:
        decode_record(data, NAME)
    except DamagedError:
        return False
    follower = Follower(Engine([parse_spec(lane) for lane in LANES], threads=1))
    for _ in follower.follow(data, 0, NAME, to_explain=3):
        pass
    return True


ARRAYS = ("span_of", "offsets", "ready", "starts", "terms", "values", "term_ends", "term_letters")


@pytest.mark.parametrize("name", ARRAYS)
def test_no_array_does_harm(name: str, parts: tuple[dict[str, Any], dict[str, Any]]) -> None:
    content, arrays = parts
    assert arrays.keys() == {*ARRAYS}
    assert check_no_harm(content, arrays)
    for _, changed in mutated_arrays(arrays[name]):
        check_no_harm(content, {**arrays, name: changed})
    if name not in ("offsets", "ready"):  # as bytes or as long numbers, they may be what they were
        for wide in (np.int64, np.int32):
            for _, changed in mutated_arrays(arrays[name].astype(wide)):
                check_no_harm(content, {**arrays, name: changed})
    without = {key: array for key, array in arrays.items() if key != name}
    assert not check_no_harm(content, without)


def odd_contents(content: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the content with one value changed, at the top or in a list."""
    for key, value in content.items():
        yield {name: kept for name, kept in content.items() if name != key}
        for odd in ODD_VALUES:
            yield {**content, key: odd}
            if isinstance(value, list):
                yield {**content, key: [*value[:1], odd, *value[2:]]}
                yield {**content, key: [*value, odd]}
    for at in range(5):
        for odd in ODD_VALUES:
            first, *others = content["spans"]
            yield {**content, "spans": [[*first[:at], odd, *first[at + 1 :]], *others]}
    for odd in ODD_VALUES:
        yield {**content, "topics": [["t1", odd], *content["topics"][1:]]}


def test_no_value_does_harm(parts: tuple[dict[str, Any], dict[str, Any]]) -> None:
    content, arrays = parts
    refused = sum(not check_no_harm(odd, arrays) for odd in odd_contents(content))
    assert refused > 100


def test_ends_of_terms_that_fall_are_seen_in_every_type(
    parts: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    """A difference of unsigned numbers is never negative."""
    content, arrays = parts
    for dtype in (np.uint16, np.int32, np.int64):
        ends = arrays["term_ends"].astype(dtype)
        ends[1] = 60_000 if dtype is np.uint16 else 10**6
        with pytest.raises(DamagedError, match=r"array term_ends falls from .* at index 2"):
            decode_record(pack(KIND, VERSION, content, {**arrays, "term_ends": ends}), NAME)


def test_a_rank_that_is_no_index_is_refused(
    parts: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    content, arrays = parts
    for rank in (0, -1, -(2**40)):
        changed = {**content, "ranks": [rank, *content["ranks"][1:]]}
        with pytest.raises(DamagedError, match="a rank is below 1"):
            decode_record(pack(KIND, VERSION, changed, arrays), NAME)


@pytest.mark.parametrize("offset", [40, 41, 2**40])
def test_an_entry_outside_of_its_span_is_refused(
    offset: int, parts: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    """It would be skipped in silence, like an entry of a record that is repeated."""
    content, arrays = parts
    offsets = arrays["offsets"].astype(np.int64)
    offsets[3] = offset
    with pytest.raises(DamagedError, match="outside of documents"):
        decode_record(pack(KIND, VERSION, content, {**arrays, "offsets": offsets}), NAME)


def test_an_entry_before_its_span_is_refused(
    parts: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    content, arrays = parts
    (first, second) = content["spans"]
    changed = {**content, "spans": [[*first[:2], 1, *first[3:]], second]}
    with pytest.raises(DamagedError, match="offset 0, outside of documents"):
        decode_record(pack(KIND, VERSION, changed, arrays), NAME)


def test_an_offset_that_occurs_twice_is_refused(
    parts: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    """Its document would be ranked and learned twice."""
    content, arrays = parts
    for first, second in ((5, 5), (6, 5)):
        offsets = arrays["offsets"].copy()
        offsets[[5, 6]] = first, second
        data = pack(KIND, VERSION, content, {**arrays, "offsets": offsets})
        with pytest.raises(DamagedError, match=rf"offset {second} follows offset {first}"):
            decode_record(data, NAME)


@pytest.mark.parametrize("second", [(0, 900), (40, 900), (900, 900)])
def test_two_spans_of_one_partition_are_refused(
    second: tuple[int, int], parts: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    """Where they overlap, documents would be learned twice."""
    content, arrays = parts
    spans = [["documents", 0, 0, 40, "i"], ["documents", 0, *second, "i"]]
    with pytest.raises(DamagedError, match="two spans are of the same partition"):
        decode_record(pack(KIND, VERSION, {**content, "spans": spans}, arrays), NAME)
    for changed in (["documents", 0, 0, 900, ""], ["other", 0, 0, 900, "i"]):
        spans[1] = changed
        decode_record(pack(KIND, VERSION, {**content, "spans": spans}, arrays), NAME)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("ids", "", "ids has lengths from 0"),
        ("ids", "x" * 1025, "1,025, expected 1 to 1,024"),
        ("topics", [""], "topics has lengths from 0"),
        ("topics", ["y" * 256], "256, expected 1 to 255"),
        ("topics", [f"t{number}" for number in range(1001)], "1,001, expected 1 to 1,000"),
    ],
)
def test_names_are_as_long_as_those_of_events(
    column: str, value: object, message: str, parts: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    """The ceiling of the memory rests on that."""
    content, arrays = parts
    changed = {**content, column: [value, *content[column][1:]]}
    with pytest.raises(DamagedError, match=message):
        decode_record(pack(KIND, VERSION, changed, arrays), NAME)


def test_events_that_a_false_span_hides_are_logged(
    parts: tuple[dict[str, Any], dict[str, Any]], caplog: pytest.LogCaptureFixture
) -> None:
    """A record without events can claim that all offsets to come are covered already."""
    caplog.set_level("INFO", "pipeline.follower")
    follower = Follower(Engine([parse_spec("mmp:loss=1")], threads=1))
    spans = (Span("documents", 0, 0, (1 << 63) - 1, "i"),)
    none = make_block([], TOKENIZER)
    empty = LogRecord(none, spans, np.empty(0, np.int64), np.empty(0, np.int64))
    assert not list(follower.follow(encode_record(empty), 6, NAME))
    assert not own_messages(caplog)
    content, arrays = parts
    ranked = list(follower.follow(pack(KIND, VERSION, content, arrays), 7, NAME))
    events = len(arrays["offsets"])
    assert follower.position == 8
    assert 0 < sum(len(segment.documents) for segment in ranked) <= events - 40
    expected = f"{NAME}: skipped 40 of {events} events, because earlier records cover their offsets"
    assert own_messages(caplog) == [expected]


@pytest.mark.parametrize("value", [-1000.0, 0.0, 0.5, np.nan, np.inf, 1e300])
def test_a_count_is_at_least_one(
    value: float, parts: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    """Small counts are looked up in a table."""
    content, arrays = parts
    values = arrays["values"].astype(np.float64)
    text = int(np.flatnonzero(~arrays["ready"] & (np.diff(arrays["starts"]) > 0))[0])
    values[arrays["starts"][text]] = value
    with pytest.raises(DamagedError, match="array values has"):
        decode_record(pack(KIND, VERSION, content, {**arrays, "values": values}), NAME)


def test_terms_are_text(parts: tuple[dict[str, Any], dict[str, Any]]) -> None:
    content, arrays = parts
    letters = arrays["term_letters"].copy()
    letters[0] = 0xFF
    with pytest.raises(DamagedError, match="not a valid block"):
        decode_record(pack(KIND, VERSION, content, {**arrays, "term_letters": letters}), NAME)
