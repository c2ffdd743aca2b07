"""What was read of a source so far, in a few bytes, and how to find that place again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

from pipeline.errors import UsageError

DIGEST_BYTES = 16

Line = tuple[int, bytes]  # the number of a line in the source, and its bytes


@dataclass(frozen=True, slots=True)
class ReadEvents:
    """How many events were read, with digests of all of them and of the first one.

    The first event tells whether a source is known.
    """

    events: int
    digest: str
    first_digest: str


class EventDigest:
    """Adds up the digests of events while they are read."""

    def __init__(self) -> None:
        self._digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
        self.events = 0
        self._first: str | None = None

    def add(self, event: bytes) -> None:
        """Take note of the next event."""
        self._digest.update(len(event).to_bytes(8, "little"))
        self._digest.update(event)
        self.events += 1
        if self._first is None:
            self._first = self._digest.hexdigest()

    @property
    def so_far(self) -> ReadEvents:
        """What was read so far."""
        digest = self._digest.hexdigest()
        return ReadEvents(self.events, digest, self._first or digest)


def as_event(raw: bytes) -> bytes:
    """Return the event in a line of a source; empty if the line is blank."""
    event = raw.rstrip(b"\r\n")
    return event if event.strip() else b""


@dataclass(frozen=True, slots=True)
class FoundPlace:
    """Where a run goes on in a source, and the lines from there on."""

    lines: Iterator[Line]
    digest: EventDigest  # of the events before that place
    is_known: bool  # whether the source is the one that was read before
    is_found: bool = True


class Interrupted(Exception):  # noqa: N818 - not an error
    """A signal came before the place was found."""


def find_place(
    lines: Iterator[Line], before: ReadEvents, name: str, is_interrupted: Callable[[], bool]
) -> FoundPlace:
    """Skip the events that were read before, if the source begins with them.

    A source with another first event is a new one, and nothing of it is skipped. A source that
    begins with the same event but differs later, or is shorter, is a UsageError.
    """
    digest = EventDigest()
    held = list[Line]()
    while not digest.events and before.events:
        line = next_line(lines, is_interrupted)
        if line is None:
            break
        held.append(line)
        if event := as_event(line[1]):
            digest.add(event)
    if digest.so_far.first_digest != before.first_digest:
        return FoundPlace(chain(held, lines), EventDigest(), is_known=False)
    del held
    while digest.events < before.events:
        skipped = next_event(lines, is_interrupted)
        if skipped is None:
            raise UsageError(
                f"{name} begins like the source of the model, but ends after "
                f"{digest.events:,} events, and the model has read {before.events:,}. Give "
                "the whole source, or --from-start to learn this one from its first event."
            )
        digest.add(skipped)
    if digest.so_far.digest != before.digest:
        raise UsageError(
            f"{name} begins like the source of the model, but differs from it within the "
            f"{before.events:,} events that the model has read. Give the unchanged source, or "
            "--from-start to learn this one from its first event."
        )
    return FoundPlace(lines, digest, is_known=True)


def next_event(lines: Iterator[Line], is_interrupted: Callable[[], bool]) -> bytes | None:
    """Return the next event, or None if the source has ended."""
    while (line := next_line(lines, is_interrupted)) is not None:
        if event := as_event(line[1]):
            return event
    return None


def next_line(lines: Iterator[Line], is_interrupted: Callable[[], bool]) -> Line | None:
    """Return the next line, or None if the source has ended."""
    if is_interrupted():
        raise Interrupted
    return next(lines, None)
