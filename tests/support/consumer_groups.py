"""Watches a consumer group, and the flow of documents through it, for tests."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError

from consumers.kafka.client_types import SendFuture
from consumers.kafka.clients import connection_options, new_producer
from consumers.settings import KafkaSettings
from pipeline.log.record import decode_record
from tests.support.kafka_stream import Streaming, eventually

LOOK_S = 0.05


@dataclass(frozen=True, slots=True)
class Moment:
    """A group as the broker described it."""

    at: float
    state: str
    members: frozenset[str]
    owners: tuple[tuple[int, str], ...]  # partition and member

    def settled(self, members: int, partitions: int) -> bool:
        """Whether no member joins or leaves, and each partition has exactly one reader."""
        return (
            self.state == "Stable"
            and len(self.members) == members
            and [partition for partition, _ in self.owners] == list(range(partitions))
        )


class Background(ABC):
    """Work in a thread for as long as a `with` statement lasts."""

    def __init__(self) -> None:
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._go_on, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *unused: object) -> None:
        self._ending.set()
        self._thread.join(60)
        assert not self._thread.is_alive()

    @abstractmethod
    def _go_on(self) -> None:
        """Work until asked to end."""


class GroupWatch(Background):
    """Asks the broker for the state of a group, again and again."""

    def __init__(self, settings: KafkaSettings, group: str, partitions: int) -> None:
        super().__init__()
        self._settings = settings
        self._group = group
        self._partitions = partitions
        self.history: list[Moment] = []

    def _go_on(self) -> None:
        admin = KafkaAdminClient(**connection_options(self._settings))
        while not self._ending.wait(LOOK_S):
            try:
                group = admin.describe_groups([self._group])[self._group]
            except KafkaError:  # there is no group yet, or no coordinator
                continue
            self.history.append(as_moment(group))
        admin.close()

    @property
    def now(self) -> Moment:
        return self.history[-1] if self.history else Moment(0.0, "", frozenset(), ())

    def wait(self, condition: Callable[[Moment], bool], seconds: float = 120.0) -> None:
        """Wait until the group has the expected state."""
        assert eventually(lambda: condition(self.now), seconds), self.now

    def wait_settled(self, members: int, quiet_s: float = 0.0, seconds: float = 120.0) -> None:
        """Wait until this many members share the partitions, without a change for some time."""

        def calm() -> bool:
            restless = self.last_restless(members)
            return bool(self.history) and self.now.at - restless > quiet_s

        assert eventually(calm, seconds), self.now

    def last_restless(self, members: int) -> float:
        """When the group was last unsettled, had another number of members, or changed."""
        last, before = 0.0, None
        for moment in self.history:
            if not moment.settled(members, self._partitions) or moment.owners != before:
                last = moment.at
            before = moment.owners
        return last


def as_moment(description: dict[str, Any]) -> Moment:
    """The state of a group, asked from the broker."""
    owners = [
        (partition, member["member_id"])
        for member in description["members"]
        for topic in (member["member_assignment"] or {}).get("assigned_partitions", ())
        for partition in topic["partitions"]
    ]
    members = frozenset(member["member_id"] for member in description["members"])
    return Moment(time.time(), description["group_state"], members, tuple(sorted(owners)))


class Flow(Background):
    """A steady flow of documents, one partition after another."""

    def __init__(self, streaming: Streaming, events: Iterable[bytes], pause_s: float) -> None:
        super().__init__()
        self._streaming = streaming
        self._events = iter(events)
        self._pause_s = pause_s
        self.written: list[bytes] = []

    def _go_on(self) -> None:
        stream = self._streaming.stream
        producer = new_producer(self._streaming.config.kafka, delivery_timeout_ms=60_000)
        sent: list[SendFuture] = []
        while not self._ending.wait(self._pause_s):
            event, partition = next(self._events), len(sent) % stream.partitions
            sent.append(producer.send(self._streaming.documents, event, partition=partition))
            self.written.append(event)
        for future in sent:
            future.get(60)
        producer.close(timeout=5)


@dataclass(frozen=True, slots=True)
class Passage:
    """When a document arrived, and how long it took into the log."""

    partition: int
    arrived: float
    seconds: float  # until it was in the log


def passages(streaming: Streaming) -> list[Passage]:
    """How long each document waited until a tokenizer had written it to the log."""
    stream = streaming.stream
    arrived = {
        (message.partition, message.offset): message.timestamp
        for message in streaming.read(streaming.documents, stream.partitions)
    }
    collected: dict[tuple[int, int], int] = {}
    for message in streaming.read(stream.blocks, 1):
        record = decode_record(message.value or b"", f"offset {message.offset}")
        for span, offset in zip(record.span_of.tolist(), record.offsets.tolist(), strict=True):
            place = (record.spans[span].partition, offset)
            collected.setdefault(place, message.timestamp)  # later ones are duplicates
    assert collected.keys() == arrived.keys()
    return [
        Passage(place[0], arrived[place] / 1000, (collected[place] - arrived[place]) / 1000)
        for place in arrived
    ]


def longest(
    passed: Sequence[Passage], since: float, until: float, partitions: Iterable[int]
) -> float:
    """The longest wait of the documents that arrived in these partitions in this time."""
    wanted = set(partitions)
    waits = [p.seconds for p in passed if since <= p.arrived < until and p.partition in wanted]
    return max(waits, default=0.0)
