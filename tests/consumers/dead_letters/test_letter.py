"""Dead letters that are read again, and corrections: what is kept, and what is refused."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumers.dead_letters.corrections import Correction, read_corrections
from consumers.dead_letters.letter import is_note, note_headers, read_letter
from consumers.dead_letters.sending import DEAD_LETTER, Sendable
from consumers.kafka.batch_decoder import ConsumedRecord
from consumers.player.replay_progress import HEADERS, RecordOrigin
from consumers.tokenizer.dead_letter import MAX_ORIGIN_BYTES, OVERHEAD_BYTES, DeadLetter
from pipeline.errors import UsageError

Headers = tuple[tuple[str, bytes], ...]


def written(
    value: bytes | None, key: bytes | None = None, headers: Headers = (), detail: str = "why"
) -> DeadLetter:
    message: Any = ConsumedRecord("documents", 3, 17, 0, value, key, headers)
    return DeadLetter.of(message, "not_json", detail)


def record(letter: DeadLetter, offset: int = 5) -> Any:  # noqa: ANN401 - a Message
    return ConsumedRecord(
        "dead", 1, offset, 1_772_357_400_125, letter.value, letter.key, tuple(letter.headers)
    )


@given(
    st.none() | st.binary(max_size=50),
    st.none() | st.binary(max_size=50),
    st.lists(st.tuples(st.text(st.characters(codec="utf-8"), max_size=9), st.binary(max_size=9))),
)
def test_a_letter_is_read_as_it_was_written(
    value: bytes | None, key: bytes | None, headers: list[tuple[str, bytes]]
) -> None:
    found = read_letter(record(written(value, key, tuple(headers))))
    assert (found.value, found.topic, found.origin) == (value, "documents", (3, 17))
    assert (found.reason, found.detail, found.place) == ("not_json", "why", "1:5")
    if not found.left_out:
        assert found.key == key
        assert found.headers == tuple(headers)
    assert orjson.loads(orjson.dumps(found.as_json(sent_back=False)))["letter"] == "1:5"


def test_a_key_and_headers_that_are_too_large_are_left_out() -> None:
    fits = b"k" * (MAX_ORIGIN_BYTES - 16 - len("key"))
    assert read_letter(record(written(b"{", fits))).key == fits
    for letter in (
        written(b"{", fits + b"k"),
        written(b"{", b"", (("name", fits),)),
        written(b"{", None, (("n", b""),) * 1000),
    ):
        found = read_letter(record(letter))
        assert found.left_out
        assert (found.key, found.headers) == (None, ())
        assert found.as_json(sent_back=False)["left_out"] is True


def test_all_headers_fit_into_the_overhead() -> None:
    key = b"k" * (MAX_ORIGIN_BYTES - 16 - len("key"))
    made = written(b"", key, detail="\N{GRINNING FACE}" * 5000)
    assert sum(len(name) + len(value) + 20 for name, value in made.headers) < OVERHEAD_BYTES


def test_copies_are_equal_and_others_are_not() -> None:
    first = read_letter(record(written(b"{")))
    assert first.identity == read_letter(record(written(b"{"), offset=9)).identity
    assert first.identity != read_letter(record(written(b"["))).identity
    again = ConsumedRecord("documents", 3, 18, 0, b"{")
    other: Any = again
    assert first.identity != read_letter(record(DeadLetter.of(other, "not_json", ""))).identity


def test_an_event_cannot_pass_for_a_note() -> None:
    """Its headers have a prefix in the dead letter."""
    note: Any = ConsumedRecord(
        "dead", 1, 9, 0, None, b"key", tuple(note_headers(read_letter(record(written(b"{"))), "r"))
    )
    assert is_note(note)
    assert not is_note(record(written(b"{", None, tuple(note.headers))))


@pytest.mark.parametrize(
    "headers",
    [
        (),
        (("reason", b"\xff"), ("partition", b"-1"), ("offset", b"9" * 400), ("size", b"x")),
        (("topic", b"\x1b[2J"), ("partition", b"1"), ("offset", b""), ("key", b"")),
    ],
    ids=["none", "not numbers", "escapes"],
)
def test_records_of_others_are_read_as_far_as_possible(headers: Headers) -> None:
    message: Any = ConsumedRecord("dead", 0, 0, 0, b"\xff", None, headers)
    found = read_letter(message)
    assert orjson.dumps(found.as_json(sent_back=False))
    assert found.as_json(sent_back=False)["event_base64"] == "/w=="


def test_headers_of_a_player_are_not_sent_back() -> None:
    played = tuple(RecordOrigin("s", 7, 6, "c", 2).headers())
    letter = read_letter(record(written(b"{", None, (("trace", b"1"), *played))))
    headers = Sendable(letter, b"{}", None).headers
    assert headers == [("trace", b"1"), (DEAD_LETTER, b"1:5")]
    some = played[: len(HEADERS) - 1]
    letter = read_letter(record(written(b"{", None, (*some, (DEAD_LETTER, b"0:1")))))
    assert Sendable(letter, b"{}", None).headers == [*some, (DEAD_LETTER, b"1:5")]


def test_corrections() -> None:
    lines = [
        b'{"letter": "0:17", "event": {"id": "a"}, "reason": "not_json"}',
        b"  ",
        b'{"letter": "1:2", "event": "{}", "key": null}',
        b'{"letter": "1:3", "event_base64": "/w==", "key": "k"}',
    ]
    assert read_corrections(lines, "file") == {
        "0:17": Correction(b'{"id":"a"}', False, None),
        "1:2": Correction(b"{}", True, None),
        "1:3": Correction(b"\xff", True, b"k"),
    }


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "line 2 is not JSON"),
        (b"[]", "line 2 is not a JSON object; expected lines such as"),
        (b'{"event": "{}"}', "line 2 has no `letter` such as 0:17"),
        (b'{"letter": "17", "event": "{}"}', "line 2 has no `letter` such as 0:17"),
        (b'{"letter": "0:1", "event": "{}"}', "line 2 corrects the dead letter 0:1 a second time"),
        (b'{"letter": "0:2"}', "line 2 has no `event`"),
        (b'{"letter": "0:2", "event": null}', "line 2 has no `event`"),
        (b'{"letter": "0:2", "event": 7}', "`event` must be a text or an object"),
        (b'{"letter": "0:2", "event": "{}", "key": {}}', "`key` must be a text."),
        (b'{"letter": "0:2", "event_base64": "~"}', "`event_base64` is not base64"),
        (b'{"letter": "0:2", "event_base64": 7}', "`event_base64` is not base64"),
        (b'{"letter": "0:2", "event": "", "event_base64": ""}', "has both `event` and"),
    ],
)
def test_corrections_that_cannot_be_used(line: bytes, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_corrections([b'{"letter": "0:1", "event": "{}"}', line], "file")
    assert message in str(raised.value)
