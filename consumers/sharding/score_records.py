"""The records of a scores topic: the payloads of shards, in parts that every broker accepts.

The key of a record is a JSON array: stream, lane, epoch, number of the exchange, shard, part. The
value is a container (`pipeline.storage.container`) of kind WRSC: the number of parts and bytes of
the whole payload, the backlog, the mark, and the bytes of this part. The backlog is how many
records of the log waited for the shard when it sent the payload. It is no part of the payload: a
shard that sends a payload again after a restart may have another one, and the first in the topic
counts. The mark says whether the shards have taken the segment together
(`learners.sharding.exchange`). The payload of an exchange that is complete first decides, whichever
shard sent it: payloads with the other mark do not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import orjson

from consumers.kafka.client_types import Message
from consumers.kafka.clients import PART_BYTES
from learners.sharding.exchange import APART, TOGETHER, DisagreementError, Sent
from pipeline.storage.container import DamagedError, pack, unpack

KIND, VERSION = b"WRSC", 1
MAX_PARTS = 512
MAX_PAYLOAD_BYTES = MAX_PARTS * PART_BYTES
MAX_NUMBER = 1 << 62
MAX_BACKLOG = 64  # records that shards follow as one block


class PayloadPart(NamedTuple):
    """A part of the payload of one shard in one exchange."""

    number: int
    shard: int
    part: int
    parts: int  # of the payload
    size: int  # of the payload
    content: bytes
    backlog: int = 0  # records of the log that wait behind the current block
    mark: int = APART


def split(
    number: int, shard: int, payload: bytes, backlog: int = 0, mark: int = APART
) -> list[PayloadPart]:
    """Split a payload into parts; an empty payload is one part."""
    size = len(payload)
    if size > MAX_PAYLOAD_BYTES:
        raise ValueError(
            f"an exchange has {size:,} bytes of scores; at most {MAX_PAYLOAD_BYTES:,} are "
            "possible. Make the blocks of the stream smaller."
        )
    starts = range(0, max(size, 1), PART_BYTES)
    contents = [payload[start : start + PART_BYTES] for start in starts]
    return [
        PayloadPart(number, shard, part, len(starts), size, content, backlog, mark)
        for part, content in enumerate(contents)
    ]


class ScoreRecords:
    """Encodes and decodes the records of one epoch of one lane; all other records are ignored."""

    def __init__(self, topic: str, stream: str, lane: str, epoch: str, shards: int) -> None:
        self._topic = topic
        self._lane = lane
        self._shards = shards
        self._prefix = orjson.dumps([stream, lane, epoch])[:-1] + b","

    def encode(self, part: PayloadPart) -> tuple[bytes, bytes]:
        """The key and value of the record of a part."""
        key = self._prefix + b"%d,%d,%d]" % (part.number, part.shard, part.part)
        content = {"parts": part.parts, "bytes": part.size, "backlog": part.backlog}
        if part.mark != APART:
            content["mark"] = part.mark
        scores = np.frombuffer(part.content, np.uint8)
        return key, pack(KIND, VERSION, content, {"scores": scores})

    def describe(self, message: Message) -> str:
        """The name of a record in error messages."""
        key = (message.key or b"")[:500].decode(errors="replace")
        return f"{self._topic}, offset {message.offset} ({key})"

    def decode(self, message: Message, first: int) -> PayloadPart | None:
        """The part in a record; None if it is of another epoch or of an exchange before `first`.

        Raises `DamagedError` if a record of this epoch is damaged.
        """
        key = message.key or b""
        if not key.startswith(self._prefix):
            return None
        number, shard, part = self._numbers(key, message)
        if number < first:
            return None
        name = self.describe(message)
        content, arrays = unpack(message.value or b"", KIND, VERSION, name)
        names = {"parts": None, "bytes": None, "backlog": 0, "mark": APART}
        values = [content.get(name, default) for name, default in names.items()]
        numbers = [value for value in values if type(value) is int]
        scores = arrays.get("scores")
        if len(numbers) < len(values) or scores is None:
            raise DamagedError(
                f"{name} is damaged: parts, bytes, backlog, mark or scores are missing or no number"
            )
        parts, size, backlog, mark = numbers
        if scores.dtype != np.uint8 or scores.ndim != 1:
            raise DamagedError(
                f"{name} is damaged: scores are {scores.dtype.name} of {scores.ndim} dimensions, "
                "expected bytes in a row"
            )
        if not part < parts <= MAX_PARTS or not scores.nbytes <= min(size, PART_BYTES):
            raise DamagedError(
                f"{name} is damaged: part {part} of {parts}, {scores.nbytes:,} of {size:,} bytes; "
                f"up to {MAX_PARTS} parts of {PART_BYTES:,} bytes are possible"
            )
        if not 0 <= backlog <= MAX_BACKLOG:
            raise DamagedError(
                f"{name} is damaged: a backlog of {backlog}; it must be from 0 to {MAX_BACKLOG}"
            )
        if mark not in (APART, TOGETHER):
            raise DamagedError(f"{name} is damaged: its mark is {mark}; it must be 0 or 1")
        return PayloadPart(number, shard, part, parts, size, scores.tobytes(), backlog, mark)

    def _numbers(self, key: bytes, message: Message) -> tuple[int, int, int]:
        """The number of the exchange, the shard and the part, from the key."""
        digits = key[len(self._prefix) : -1].split(b",")
        valid = key.endswith(b"]") and all(text.isdigit() and len(text) < 20 for text in digits)
        if valid and len(digits) == 3:
            number, shard, part = map(int, digits)
            if number <= MAX_NUMBER and shard < self._shards and part < MAX_PARTS:
                return number, shard, part
        raise DamagedError(
            f"{self.describe(message)} is damaged: its key must end in the number of the exchange, "
            f"the shard (of {self._shards}) and the part (of up to {MAX_PARTS})"
        )


class ExchangeParts:
    """The parts of one exchange that have arrived so far, at one of its shards."""

    def __init__(self, number: int, shard: int, shards: int) -> None:
        self.number = number
        self._shard = shard
        self._shards = shards
        self._own: list[PayloadPart] = []
        self._adopts = True
        # By shard and mark, because a shard may have sent payloads with both.
        self._arrived: dict[tuple[int, int], dict[int, PayloadPart]] = {}
        self._complete: dict[tuple[int, int], None] = {}  # the first one decides

    def give(self, own: list[PayloadPart], *, adopt: bool = False) -> None:
        """Take the parts that this shard sends.

        They are compared with what arrives from this shard, and with what has arrived already,
        unless it adopts what it has sent before a restart.
        """
        self._own, self._adopts = own, adopt
        for part in self._of(self._shard, own[0].mark).values():
            self._compare(part, "the scores topic")

    def _of(self, shard: int, mark: int) -> dict[int, PayloadPart]:
        return self._arrived.get((shard, mark), {})

    @property
    def mark(self) -> int | None:
        """The mark of the exchange, once a payload is complete."""
        return next((mark for _, mark in self._complete), None)

    @property
    def missing(self) -> tuple[int, ...]:
        """The shards whose payload, with the mark of the exchange, is not complete yet."""
        mark = self.mark
        return tuple(n for n in range(self._shards) if (n, mark) not in self._complete)

    @property
    def complete(self) -> bool:
        """Whether the payloads of all shards are complete."""
        return not self.missing

    def add(self, part: PayloadPart, name: str) -> None:
        """Add a part from the record called `name`; a repeated part is ignored.

        Raises `DisagreementError` if the part contradicts one that has arrived before.
        """
        self._compare(part, name)
        of_shard = (part.shard, part.mark)
        arrived = self._arrived.setdefault(of_shard, {})
        arrived.setdefault(part.part, part)
        if of_shard not in self._complete and len(arrived) == part.parts:
            self._check_size(part, name)
            self._complete[of_shard] = None

    def _compare(self, part: PayloadPart, name: str) -> None:
        """Compare a part with what the shard has sent before, or what this shard sends."""
        arrived, own = self._of(part.shard, part.mark), self._own
        if part.shard == self._shard and not self._adopts and own[0].mark == part.mark:
            known = own[part.part] if part.part < len(own) else own[0]
        else:
            known = arrived.get(part.part) or next(iter(arrived.values()), part)
        alike = known.part != part.part or known.content == part.content
        if not alike or (known.parts, known.size) != (part.parts, part.size):
            raise DisagreementError(
                f"{name} contradicts what shard {part.shard}/{self._shards} sent before in "
                f"exchange {part.number}: the shards do not compute the same. Run the same version "
                "with the same configuration in all shards. If they do already, start all shards "
                "over: empty their snapshot folders, and delete this topic."
            )

    def _check_size(self, last: PayloadPart, name: str) -> None:
        size = sum(len(part.content) for part in self._of(last.shard, last.mark).values())
        if size != last.size:
            raise DamagedError(
                f"{name} or an earlier part is damaged: the {last.parts} parts of shard "
                f"{last.shard} have {size:,} bytes together, expected {last.size:,}"
            )

    def own_missing(self) -> Iterator[PayloadPart]:
        """The parts of this shard that have not arrived."""
        arrived = self._of(self._shard, self._own[0].mark)
        return (part for part in self._own if part.part not in arrived)

    @property
    def backlog(self) -> int:
        """The backlog of shard 0, once all payloads are complete."""
        return self._decided(0)[0].backlog

    def sent(self) -> Sent | None:
        """The payload that was complete first, if there is one."""
        first = next(iter(self._complete), None)
        return None if first is None else Sent(first[1], self._payload(first[0]))

    def payloads(self) -> list[bytes]:
        """The payload of each shard, once all are complete."""
        return [self._payload(shard) for shard in range(self._shards)]

    def _decided(self, shard: int) -> dict[int, PayloadPart]:
        return {} if self.mark is None else self._of(shard, self.mark)

    def _payload(self, shard: int) -> bytes:
        parts = self._decided(shard)
        return b"".join(parts[number].content for number in range(len(parts)))
