"""A record of the dead-letter topic, read again: the event, why it was refused, and its origin.

The topic also has the notes of `send-back`: a record without a value, with the key of the dead
letter, that says which dead letter was sent back. A note comes after its dead letter in the same
partition. So the retention of the topic deletes it later, and a dead letter that is still there
is never without its note.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import Any

from consumers.kafka.client_types import Header, Message
from consumers.logs import timestamp
from consumers.tokenizer.dead_letter import ORIGINAL_HEADER

SENT_BACK = "sent_back"  # the header that makes a record a note; its value names the dead letter
IDENTITY, RUN = "identity", "run"  # more headers of a note


@dataclass(frozen=True, slots=True)
class Letter:
    """One dead letter. Texts in it are as hostile as the events of the stream."""

    partition: int  # of the dead-letter topic, as the next two
    offset: int
    time_ms: int
    record_key: bytes
    value: bytes | None
    reason: str
    detail: str
    topic: str  # the Kafka topic that the event came from
    origin: tuple[int, int] | None  # its partition and offset there
    key: bytes | None
    headers: tuple[Header, ...]  # of the event's record
    size: int | None  # of the whole event, if `value` is only its beginning
    sha256: str
    left_out: bool  # key and headers of the event were too large to be kept

    @property
    def place(self) -> str:
        """The name of the dead letter on the command line: partition and offset."""
        return f"{self.partition}:{self.offset}"

    @property
    def identity(self) -> bytes:
        """Equal for the copies of a dead letter that a crash has left, and only for these."""
        digest = hashlib.sha256(len(self.record_key).to_bytes(4) + self.record_key)
        digest.update(self.value or b"")
        return digest.digest()[:16]

    @property
    def is_cut(self) -> bool:
        """Whether only the beginning of the event was kept."""
        return self.size is not None

    def as_json(self, sent_back: bool) -> dict[str, Any]:
        """The dead letter for other programs, and for corrections."""
        partition, offset = self.origin or (None, None)
        fields: dict[str, Any] = {
            "letter": self.place,
            "time": timestamp(self.time_ms / 1000),
            "reason": self.reason,
            "detail": self.detail,
            "topic": self.topic,
            "partition": partition,
            "offset": offset,
            "sent_back": sent_back,
        }
        if self.is_cut:
            fields |= {"cut": True, "size": self.size, "sha256": self.sha256}
        if self.left_out:
            fields["left_out"] = True
        return fields | text_or_base64("key", self.key) | text_or_base64("event", self.value)


def read_letter(message: Message) -> Letter:
    """A dead letter from its record, as far as its headers can be read."""
    headers: dict[str, bytes] = {}
    for name, value in message.headers:
        headers.setdefault(name, value)

    def text(name: str) -> str:
        return headers.get(name, b"").decode("utf-8", "replace")

    def number(name: str) -> int | None:
        found = headers.get(name, b"")[:20]
        return int(found) if found.isdigit() else None

    partition, offset = number("partition"), number("offset")
    return Letter(
        partition=message.partition,
        offset=message.offset,
        time_ms=message.timestamp,
        record_key=message.key or b"",
        value=message.value,
        reason=text("reason") or "unknown",
        detail=text("detail"),
        topic=text("topic"),
        origin=None if partition is None or offset is None else (partition, offset),
        key=headers.get("key"),
        headers=tuple(
            (name.removeprefix(ORIGINAL_HEADER), value)
            for name, value in message.headers
            if name.startswith(ORIGINAL_HEADER)
        ),
        size=number("size"),
        sha256=text("sha256"),
        left_out="left_out" in headers,
    )


def is_note(message: Message) -> bool:
    """Whether a record says that a dead letter was sent back."""
    return any(name == SENT_BACK for name, _ in message.headers)


def note_headers(letter: Letter, run: str) -> list[Header]:
    """The headers of the note that a dead letter was sent back."""
    return [
        (SENT_BACK, letter.place.encode()),
        (IDENTITY, letter.identity),
        (RUN, run.encode()),
    ]


def text_or_base64(name: str, value: bytes | None) -> dict[str, str | None]:
    r"""Bytes as JSON can hold them: as text, or in base64 if they are not UTF-8.

    >>> text_or_base64("key", b"a"), text_or_base64("key", b"\xff"), text_or_base64("key", None)
    ({'key': 'a'}, {'key_base64': '/w=='}, {'key': None})
    """
    if value is None:
        return {name: None}
    try:
        return {name: value.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(value).decode()}
