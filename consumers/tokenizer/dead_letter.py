"""A malformed event as a record of the dead-letter topic, cut if it is too large for it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from consumers.kafka.client_types import Header, Message

MAX_DETAIL_CHARACTERS = 2000  # a sentence that may quote an id
OVERHEAD_BYTES = 16 << 10  # key, headers, and the batch around a record


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

    @classmethod
    def of(cls, message: Message, reason: str, detail: str) -> DeadLetter:
        """A dead letter with the whole event."""
        return cls(message.topic, message.partition, message.offset, message.value, reason, detail)

    def cut(self, max_bytes: int) -> DeadLetter:
        """The dead letter with at most the first `max_bytes` bytes of its event."""
        value = self.value or b""
        if len(value) <= max_bytes:
            return self
        size, digest = self.size, self.digest
        if size is None:
            size, digest = len(value), hashlib.sha256(value).hexdigest()
        return DeadLetter(
            self.topic, self.partition, self.offset, value[:max_bytes],
            self.reason, self.detail, size, digest,
        )  # fmt: skip

    @property
    def key(self) -> bytes:
        """The origin of the event."""
        return f"{self.topic}-{self.partition}-{self.offset}".encode()

    @property
    def headers(self) -> list[Header]:
        """Reason and origin; of a cut event also the size and digest of the whole."""
        headers = [
            ("reason", self.reason.encode()),
            ("detail", self.detail[:MAX_DETAIL_CHARACTERS].encode("utf-8", "replace")),
            ("topic", self.topic.encode()),
            ("partition", str(self.partition).encode()),
            ("offset", str(self.offset).encode()),
        ]
        if self.size is not None:
            headers += [("size", str(self.size).encode()), ("sha256", self.digest.encode())]
        return headers
