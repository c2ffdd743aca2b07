"""A malformed event as a record of the dead-letter topic, cut if it is too large for it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from consumers.kafka.client_types import Header, Message

MAX_DETAIL_CHARACTERS = 2000  # a sentence that may quote an id
OVERHEAD_BYTES = 16 << 10  # key, headers, and the batch around a record
# Key and headers of the event's record are kept if they are not larger than this together.
MAX_ORIGIN_BYTES = 4 << 10
ORIGINAL_HEADER = "header."  # before the name of a header of the event's record


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An event that cannot be used, its origin, and the reason."""

    topic: str
    partition: int
    offset: int
    value: bytes | None
    reason: str
    detail: str
    size: int | None = None  # of the whole event, if `value` is only its beginning
    digest: str = ""  # SHA-256 of the whole event, in hexadecimal
    original_key: bytes | None = None
    original_headers: Sequence[Header] = ()

    @classmethod
    def of(cls, message: Message, reason: str, detail: str) -> DeadLetter:
        """A dead letter with the whole event."""
        return cls(
            message.topic, message.partition, message.offset, message.value, reason, detail,
            original_key=message.key, original_headers=message.headers,
        )  # fmt: skip

    def cut(self, max_bytes: int) -> DeadLetter:
        """The dead letter with at most the first `max_bytes` bytes of its event."""
        value = self.value or b""
        if len(value) <= max_bytes:
            return self
        size, digest = self.size, self.digest
        if size is None:
            size, digest = len(value), hashlib.sha256(value).hexdigest()
        return replace(self, value=value[:max_bytes], size=size, digest=digest)

    @property
    def key(self) -> bytes:
        """The origin of the event."""
        return f"{self.topic}-{self.partition}-{self.offset}".encode()

    @property
    def headers(self) -> list[Header]:
        """Reason and origin; of a cut event also the size and digest of the whole.

        The key and headers of the event's record follow, so that the event can be sent back as it
        came. If they are too large, `left_out` says so.
        """
        headers = [
            ("reason", self.reason.encode()),
            ("detail", self.detail[:MAX_DETAIL_CHARACTERS].encode("utf-8", "replace")),
            ("topic", self.topic.encode()),
            ("partition", str(self.partition).encode()),
            ("offset", str(self.offset).encode()),
        ]
        if self.size is not None:
            headers += [("size", str(self.size).encode()), ("sha256", self.digest.encode())]
        original = [(f"{ORIGINAL_HEADER}{name}", value) for name, value in self.original_headers]
        if self.original_key is not None:
            original.insert(0, ("key", self.original_key))
        sizes = (16 + len(name.encode("utf-8", "replace")) + len(value) for name, value in original)
        if sum(sizes) > MAX_ORIGIN_BYTES:
            return [*headers, ("left_out", b"key and headers")]
        return headers + original
