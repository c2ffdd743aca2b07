"""Reads the dead-letter topic of a stream, without a group: nothing is joined or committed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from consumers.dead_letters.letter import IDENTITY, RUN, Letter, is_note, read_letter
from consumers.kafka.client_types import Message, TopicPartition
from consumers.kafka.clients import new_consumer
from consumers.kafka.errors import KafkaTimeoutError
from consumers.kafka.topic_sample import partitions_of
from consumers.settings import KafkaSettings

POLL_MS = 500
PATIENCE_S = 30.0

Offsets = Mapping[TopicPartition, int]


class LetterTopic:
    """The dead-letter topic, as it was when it was opened; `refresh` looks again."""

    def __init__(self, settings: KafkaSettings, name: str) -> None:
        self.name = name
        self._consumer: Any = new_consumer(settings)
        try:
            self._places = partitions_of(self._consumer, [name])
            self.refresh()
        except BaseException:
            self.close()
            raise

    def refresh(self) -> None:
        """Look again where the topic begins and ends."""
        self._begins: Offsets = self._consumer.beginning_offsets(self._places)
        self._ends: Offsets = self._consumer.end_offsets(self._places)

    @property
    def ends(self) -> Offsets:
        """The end of each partition."""
        return self._ends

    def letters(self, since_ms: int | None = None) -> Iterator[Letter]:
        """The dead letters since a time, partition by partition, oldest first."""
        for message in self._messages(self._starts(since_ms)):
            if not is_note(message):
                yield read_letter(message)

    def sent_back(self, since_ms: int | None = None) -> set[bytes]:
        """The identities of the dead letters that were sent back since a time."""
        return {
            identity
            for message in self._messages(self._starts(since_ms))
            if is_note(message) and (identity := dict(message.headers).get(IDENTITY)) is not None
        }

    def count_of_run(self, run: str, starts: Offsets) -> int:
        """How many dead letters a run of `send-back` has sent, by what is on the broker."""
        return sum(
            dict(message.headers).get(RUN) == run.encode()
            for message in self._messages(starts)
            if is_note(message)
        )

    def letter_at(self, partition: int, offset: int) -> Letter | None:
        """The dead letter at an offset; None if there is none."""
        place = TopicPartition(self.name, partition)
        if place not in self._ends or not self._begins[place] <= offset < self._ends[place]:
            return None
        for message in self._records(place, offset, self._ends[place]):
            found = message.offset == offset and not is_note(message)
            return read_letter(message) if found else None
        return None

    def _starts(self, since_ms: int | None) -> Offsets:
        if since_ms is None:
            return self._begins
        found = self._consumer.offsets_for_times(dict.fromkeys(self._places, since_ms))
        return {
            place: self._ends[place] if found.get(place) is None else found[place].offset
            for place in self._places
        }

    def _messages(self, starts: Offsets) -> Iterator[Message]:
        for place in self._places:
            yield from self._records(place, starts[place], self._ends[place])

    def _records(self, place: TopicPartition, start: int, end: int) -> Iterator[Message]:
        """The records of a partition between two offsets; raises an error if not all arrive."""
        if start >= end:
            return
        consumer = self._consumer
        consumer.assign([place])
        consumer.seek(place, start)
        until = time.monotonic() + PATIENCE_S
        while consumer.position(place) < end:
            for message in consumer.poll(POLL_MS).get(place, []):
                until = time.monotonic() + PATIENCE_S
                if message.offset < end:
                    yield message
            if time.monotonic() > until:
                raise KafkaTimeoutError(
                    f"the broker has not sent the records of {place.topic}-{place.partition} from "
                    f"offset {consumer.position(place)} to {end} for {PATIENCE_S:.0f} s"
                )

    def close(self) -> None:
        """Disconnect."""
        self._consumer.close(autocommit=False, timeout_ms=1000)
