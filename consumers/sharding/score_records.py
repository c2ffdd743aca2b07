"""The records of a scores topic: the payloads of shards, in parts that every broker takes.

The key is a JSON array: stream, lane, epoch, number of the exchange, shard, part. The value is a
box (`pipeline.storage.container`) of the kind WRSC, which says how many parts and bytes the payload
has, and holds the bytes of this part.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import orjson

from consumers.kafka.client_types import Message
from consumers.kafka.clients import PART_BYTES
from learners.sharding.exchange import DisagreementError
from pipeline.storage.container import DamagedError, pack, unpack

KIND, VERSION = b"WRSC", 1
MOST_PARTS = 512
MOST_PAYLOAD_BYTES = MOST_PARTS * PART_BYTES
MOST_NUMBER = 1 << 62


class Part(NamedTuple):
    """A part of what one shard gives in one exchange."""

    number: int
    shard: int
    part: int
    parts: int  # of the payload
    size: int  # of the payload
    content: bytes


def split(number: int, shard: int, payload: bytes) -> list[Part]:
    """A payload in parts; an empty one is one part too."""
    size = len(payload)
    if size > MOST_PAYLOAD_BYTES:
        raise ValueError(
            f"{size:,} bytes of scores in one exchange; up to {MOST_PAYLOAD_BYTES:,} are taken. "
            "Make the blocks of the stream smaller."
        )
    starts = range(0, max(size, 1), PART_BYTES)
    return [
        Part(number, shard, part, len(starts), size, payload[start : start + PART_BYTES])
        for part, start in enumerate(starts)
    ]


class ScoreRecords:
    """Writes and reads the records of one epoch of one lane; those of others are nothing to it."""

    def __init__(self, topic: str, stream: str, lane: str, epoch: str, shards: int) -> None:
        self._topic = topic
        self._lane = lane
        self._shards = shards
        self._prefix = orjson.dumps([stream, lane, epoch])[:-1] + b","

    def written(self, part: Part) -> tuple[bytes, bytes]:
        """Key and value of a record."""
        key = self._prefix + b"%d,%d,%d]" % (part.number, part.shard, part.part)
        content = {"parts": part.parts, "bytes": part.size}
        scores = np.frombuffer(part.content, np.uint8)
        return key, pack(KIND, VERSION, content, {"scores": scores})

    def called(self, message: Message) -> str:
        """What messages call a record."""
        key = (message.key or b"")[:500].decode(errors="replace")
        return f"{self._topic}, offset {message.offset} ({key})"

    def read(self, message: Message, least: int) -> Part | None:
        """The part that a record holds; None if it is of others, or of an exchange before `least`.

        Raises `DamagedError` if it is of this epoch, but not as it must be.
        """
        key = message.key or b""
        if not key.startswith(self._prefix):
            return None
        number, shard, part = self._place(key, message)
        if number < least:
            return None
        name = self.called(message)
        content, arrays = unpack(message.value or b"", KIND, VERSION, name)
        parts, size, scores = content.get("parts"), content.get("bytes"), arrays.get("scores")
        if type(parts) is not int or type(size) is not int or scores is None:
            raise DamagedError(f"{name} is damaged: it lacks the number of parts, bytes, or scores")
        if not part < parts <= MOST_PARTS or not scores.nbytes <= min(size, PART_BYTES):
            raise DamagedError(
                f"{name} is damaged: part {part} of {parts}, {scores.nbytes:,} of {size:,} bytes; "
                f"up to {MOST_PARTS} parts of {PART_BYTES:,} bytes are possible"
            )
        return Part(number, shard, part, parts, size, scores.tobytes())

    def _place(self, key: bytes, message: Message) -> tuple[int, int, int]:
        """Number, shard and part, as the key has them."""
        digits = key[len(self._prefix) : -1].split(b",")
        sound = key.endswith(b"]") and all(text.isdigit() and len(text) < 20 for text in digits)
        if sound and len(digits) == 3:
            number, shard, part = map(int, digits)
            if number <= MOST_NUMBER and shard < self._shards and part < MOST_PARTS:
                return number, shard, part
        raise DamagedError(
            f"{self.called(message)} is damaged: its key must end in the number of the exchange, "
            f"the shard (of {self._shards}) and the part (of up to {MOST_PARTS})"
        )


class Gathering:
    """The payloads of one exchange, as far as they have come.

    `mine` is what this shard has to give, against which its own parts are held that come back.
    """

    def __init__(self, shards: int, mine: list[Part]) -> None:
        self.number = mine[0].number
        self._shard = mine[0].shard
        self._mine = mine
        self._found: list[dict[int, Part]] = [{} for _ in range(shards)]
        self._missing = dict.fromkeys(range(shards))

    @property
    def missing(self) -> tuple[int, ...]:
        """The shards of which something has not come yet."""
        return tuple(self._missing)

    @property
    def whole(self) -> bool:
        """Whether everything is there."""
        return not self._missing

    def take(self, part: Part, name: str) -> None:
        """Add a part that came in the record called `name`; one that is there already is nothing.

        Raises `DisagreementError` if it is not the same as the one that is there.
        """
        found = self._found[part.shard]
        if part.shard == self._shard:
            known = self._mine[part.part] if part.part < len(self._mine) else self._mine[0]
        else:
            known = found.get(part.part) or next(iter(found.values()), part)
        alike = known.part != part.part or known.content == part.content
        if not alike or (known.parts, known.size) != (part.parts, part.size):
            raise DisagreementError(
                f"{name} is not what shard {part.shard}/{len(self._found)} gives in exchange "
                f"{part.number} otherwise: the shards do not compute alike (different versions of "
                "the software, or different configurations?). Let all shards run the same; if they "
                "do, start all of them anew: empty snapshot folders, and this topic deleted."
            )
        found[part.part] = part
        if part.shard in self._missing and len(found) == part.parts:
            self._check_size(part, name)
            del self._missing[part.shard]

    def _check_size(self, last: Part, name: str) -> None:
        size = sum(len(part.content) for part in self._found[last.shard].values())
        if size != last.size:
            raise DamagedError(
                f"{name} is damaged, or a part before it: the {last.parts} parts of shard "
                f"{last.shard} have {size:,} bytes together, expected {last.size:,}"
            )

    def not_given(self) -> Iterator[Part]:
        """The parts of this shard that have not come back."""
        return (part for part in self._mine if part.part not in self._found[self._shard])

    def payloads(self) -> list[bytes]:
        """What each shard gave, when everything is there."""
        return [
            b"".join(found[part].content for part in range(len(found))) for found in self._found
        ]
