"""The log proves that it is complete: repeats are skipped, gaps and damage are errors."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from pipeline.events.event import Event, PassedOn
from pipeline.log.block import Block, make_block
from pipeline.log.coverage import Coverage, GapError
from pipeline.log.record import (
    KIND,
    VERSION,
    LogRecord,
    Span,
    decode_record,
    encode_record,
    narrow,
)
from pipeline.log.writer import EventBatch, encode_batches
from pipeline.storage.container import DamagedError, pack, unpack
from tests.pipeline.engine.test_engine import TOKENIZER, random_events, run


def record(start: int, stop: int, partition: int = 0, seed: int = 0) -> LogRecord:
    """Return a record of the events at these offsets of an endless source."""
    events = random_events(seed, 400)[start:stop]
    return LogRecord(
        make_block(events, TOKENIZER),
        (Span("documents", partition, start, stop),),
        np.zeros(len(events), np.int64),
        np.arange(start, stop, dtype=np.int64),
    )


def described(block: Block) -> list[object]:
    """Return a block as plain values, which do not depend on the numbering of its terms."""
    from pipeline.text.terms import words_of

    words, counts = words_of(block.counts.table), block.counts
    plain: list[object] = []
    for entry in block.entries:
        terms: dict[str, float] = {}
        if entry.row is not None:
            start, stop = counts.starts[entry.row], counts.starts[entry.row + 1]
            for term, value in zip(
                counts.terms[start:stop], counts.values[start:stop], strict=True
            ):
                terms[words[term]] = float(value)
        ready = None if entry.row is None else bool(block.ready[entry.row])
        plain.append((entry.id, entry.topics, entry.time, ready, terms))
    return plain


def test_a_decoded_record_equals_the_encoded_one() -> None:
    for start, stop in ((0, 100), (100, 101), (5, 5)):
        original = record(start, stop)
        decoded_record = decode_record(encode_record(original), "blocks[0] offset=7")
        assert described(decoded_record.block) == described(original.block)
        assert decoded_record.spans == original.spans
        assert decoded_record.offsets.tolist() == original.offsets.tolist()


def test_damage_is_named() -> None:
    data = bytearray(encode_record(record(0, 20)))
    data[-3] ^= 1
    with pytest.raises(DamagedError, match=r"blocks\[0\] offset=7 is damaged"):
        decode_record(bytes(data), "blocks[0] offset=7")


@pytest.mark.parametrize("seed", range(5))
def test_repeated_and_overlapping_records_give_each_entry_once(seed: int) -> None:
    """Two tokenizers, one per partition, crash and start again from an older offset."""
    rng = random.Random(seed)
    reached = [0, 0]
    records = []
    while min(reached) < 300:
        partition = rng.randrange(2)
        start = max(0, reached[partition] - rng.choice((0, 0, 0, 5, 40, 400)))
        stop = min(300, start + rng.randrange(60))
        records.append(record(start, stop, partition, seed=partition))
        reached[partition] = max(reached[partition], stop)
    coverage = Coverage()
    plain: list[list[object]] = [[], []]
    for number, written in enumerate(records):
        block = coverage.admit(decode_record(encode_record(written), "r"), f"record {number}")
        if block is not None:
            plain[written.spans[0].partition] += described(block)
        coverage = Coverage.from_state(coverage.state())  # as a snapshot would keep it
    for partition in (0, 1):
        expected = described(record(0, 300, seed=partition).block)
        assert plain[partition] == expected


def test_a_gap_stops_the_reader() -> None:
    coverage = Coverage()
    coverage.admit(record(10, 20), "blocks[0] offset=0")
    with pytest.raises(GapError, match=r"documents\[0\] offsets 20 to 24 are in no earlier record"):
        coverage.admit(record(25, 30), "blocks[0] offset=1")
    assert coverage.reached == {("documents", "", 0): 20}


def test_offsets_without_events_are_covered_too() -> None:
    """Dead letters and control records have offsets, but are no entries."""
    events = random_events(0, 10)[:2]
    sparse = LogRecord(
        make_block(events, TOKENIZER),
        (Span("documents", 0, 0, 9),),
        np.zeros(2, np.int64),
        np.array([3, 7]),
    )
    empty = LogRecord(
        make_block([], TOKENIZER),
        (Span("documents", 0, 9, 12),),
        np.zeros(0, np.int64),
        np.zeros(0, np.int64),
    )
    coverage = Coverage()
    assert coverage.admit(sparse, "a") is not None
    assert coverage.admit(decode_record(encode_record(empty), "b"), "b") is None
    assert coverage.reached == {("documents", "", 0): 12}
    assert coverage.admit(sparse, "a again") is None


def test_records_give_the_same_rankings_as_the_events() -> None:
    from learners.specs import parse_spec
    from pipeline.engine.engine import Engine
    from pipeline.engine.ranking_events import ranking_events
    from tests.pipeline.engine.test_engine import LANES

    events = random_events(3, 400)[:300]
    _, expected = run(events)
    engine, coverage = Engine([parse_spec(lane) for lane in LANES]), Coverage()
    rankings: list[bytes] = []
    for start, stop in ((0, 100), (60, 180), (0, 10), (180, 180), (150, 300)):
        block = coverage.admit(decode_record(encode_record(record(start, stop, seed=3)), "r"), "r")
        if block is not None:
            for ranked in engine.process(block):
                rankings += ranking_events(ranked, LANES, engine.topics.names, 0)
    assert rankings == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("terms", 10**6), ("terms", -1), ("starts", 10**6), ("starts", -5), ("span_of", 1),
        ("term_ends", 10**6), ("term_ends", -1),
    ],
)  # fmt: skip
def test_indices_out_of_range_are_damage(name: str, value: int) -> None:
    """A correct checksum does not prove that the content is valid."""
    content, arrays = unpack(encode_record(record(0, 20)), KIND, VERSION, "r")
    arrays[name] = arrays[name].astype(np.int64)
    arrays[name][len(arrays[name]) // 2] = value
    with pytest.raises(DamagedError, match="r is not a valid block"):
        decode_record(pack(KIND, VERSION, content, arrays), "r")


def test_keys_and_headers_pass_through_a_record() -> None:
    everything = bytes(range(256))
    passed_on = [
        PassedOn(None, ()), PassedOn(b"", (("trace", everything),)), None,
        PassedOn(everything, (("\u00fc", b""), ("\u00fc", b"1"))),
    ]  # fmt: skip
    events = [Event(str(n), "text", None, None, None, p) for n, p in enumerate(passed_on)]
    log_record = LogRecord(
        make_block(events, TOKENIZER), (Span("d", 0, 0, 4),), np.zeros(4, np.int64), np.arange(4)
    )
    decoded = decode_record(encode_record(log_record), "r")
    assert [entry.passed_on for entry in decoded.block.entries] == passed_on


@pytest.mark.parametrize(
    "wrong", [7, "key", ["k"], ["k", 1], ["k", [["a"]]], ["k", [[1, "v"]]], ["\u1234", []],
              [1, []], [None, [["a", None]]], ["x" * 20_000, []]],
)  # fmt: skip
def test_damaged_keys_and_headers_are_damage(wrong: object) -> None:
    content, arrays = unpack(encode_record(record(0, 20)), KIND, VERSION, "r")
    content["passed_on"] = [None] * (len(content["ids"]) - 1) + [wrong]
    with pytest.raises(DamagedError, match="r is not a valid block"):
        decode_record(pack(KIND, VERSION, content, arrays), "r")


@pytest.mark.parametrize(
    "numbers", [[0.0, 255.0], [-0.0, 1.0], [256.0, 3.0], [70000.0], [0.5], [np.nan], [np.inf], []]
)
def test_narrow_arrays_have_the_same_numbers(numbers: list[float]) -> None:
    values = np.array(numbers)
    assert narrow(values).astype(np.float64).tobytes() == values.tobytes()
    assert narrow(values).nbytes <= values.nbytes


def test_a_recreated_topic_starts_from_offset_0_again() -> None:
    """Its first documents are not mistaken for those of the old topic at the same offsets."""
    coverage = Coverage()
    assert coverage.admit(record(0, 50), "old") is not None
    again = record(0, 30)
    fresh = replace(again, spans=tuple(replace(span, identity="new") for span in again.spans))
    admitted = coverage.admit(decode_record(encode_record(fresh), "new"), "new")
    assert admitted is not None
    assert len(admitted.entries) == 30
    assert coverage.admit(fresh, "new again") is None


@pytest.mark.parametrize("most", [500, 2_000, 10_000, 10**6])
def test_records_are_split_until_they_fit(most: int) -> None:
    rng = random.Random(most)
    batches = []
    for partition in range(3):
        events = random_events(partition, 70)
        offsets = sorted(rng.sample(range(100, 400), len(events)))
        batches.append(EventBatch(Span("documents", partition, 90, 410, "id"), offsets, events))
    records = list(encode_batches(batches, TOKENIZER, most))
    decoded = [decode_record(data, "r") for data in records]
    assert (len(records) == 1) == (most == 10**6)
    for data, decoded_record in zip(records, decoded, strict=True):
        assert len(data) <= most or len(decoded_record.block.entries) == 1
    coverage, plain = Coverage(), list[object]()
    for decoded_record in decoded:
        admitted = coverage.admit(decoded_record, "r")
        plain += described(admitted) if admitted else []
    assert plain == [e for s in batches for e in described(make_block(s.events, TOKENIZER))]
    assert coverage.reached == {("documents", "id", p): 410 for p in range(3)}
