"""Dead letters as records, whole and cut."""

from __future__ import annotations

import hashlib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from consumers.kafka.batch_decoder import ConsumedRecord
from consumers.tokenizer.dead_letter import OVERHEAD_BYTES, DeadLetter
from pipeline.events.event import MAX_ID_CHARACTERS


def letter(value: bytes | None, detail: str = "a sentence") -> DeadLetter:
    message: Any = ConsumedRecord("documents", 3, 17, 0, value)
    return DeadLetter.of(message, "not_json", detail)


def test_a_whole_event_has_its_reason_and_origin() -> None:
    made = letter(b"{").cut(1)
    assert made.value == b"{"
    assert made.key == b"documents-3-17"
    assert dict(made.headers) == {
        "reason": b"not_json",
        "detail": b"a sentence",
        "topic": b"documents",
        "partition": b"3",
        "offset": b"17",
    }


@given(st.binary(max_size=60), st.lists(st.integers(0, 70), min_size=1, max_size=3))
def test_a_cut_event_describes_the_whole(value: bytes, limits: list[int]) -> None:
    """However often it is cut."""
    made = letter(value)
    for limit in limits:
        made = made.cut(limit)
    kept = min(len(value), *limits)
    assert made.value == value[:kept]
    told = dict(made.headers)
    if kept == len(value):
        assert "size" not in told
    else:
        assert told["size"] == str(len(value)).encode()
        assert told["sha256"] == hashlib.sha256(value).hexdigest().encode()


def test_a_null_value_stays_null() -> None:
    assert letter(None).cut(0).value is None


def test_headers_fit_into_the_overhead() -> None:
    long_id = "\N{GRINNING FACE}\ud800" * (MAX_ID_CHARACTERS // 2)
    made = letter(b"", f"event {long_id!r} {long_id} " * 50)
    assert sum(len(name) + len(value) for name, value in made.headers) < OVERHEAD_BYTES / 2
