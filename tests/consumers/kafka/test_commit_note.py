"""The notes of committed offsets: what another program has written there does no harm."""

from __future__ import annotations

import orjson
import pytest

from consumers.kafka.commit_note import CommitNote

NOTE = CommitNote("an id", 3, 2, "a process")
FIELDS = orjson.loads(NOTE.encode())


def test_a_note_survives_the_broker() -> None:
    assert CommitNote.decode(NOTE.encode()) == NOTE


@pytest.mark.parametrize(
    "text",
    [
        "",
        "set by hand",
        "3",
        "[]",
        "null",
        "{}",
        '{"topic_id": "an id"}',
        orjson.dumps({**FIELDS, "starts": "3"}).decode(),
        orjson.dumps({**FIELDS, "trials": None}).decode(),
        orjson.dumps({**FIELDS, "topic_id": 7}).decode(),
        NOTE.encode()[:-1],
        "[" * 5000,
    ],
)
def test_what_is_no_note_says_nothing(text: str) -> None:
    assert CommitNote.decode(text) == CommitNote()
