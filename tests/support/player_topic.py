"""A Kafka topic that sources are played into, and the command that plays them, for tests."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterable
from typing import Any

from kafka import TopicPartition
from typer.testing import Result

from consumers.cli import new_app
from consumers.kafka.client_types import Header, Message
from consumers.kafka.clients import new_consumer, new_producer
from consumers.settings import KafkaSettings
from pipeline.replay.progress import Progress
from tests.conftest import REPOSITORY
from tests.support.command_line import wirerank


class PlayedTopic:
    """One topic, with a name of its own."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.kafka = KafkaSettings(bootstrap=bootstrap)
        self.name = f"played-{time.time_ns()}"

    def arguments(self, source: str, *more: str) -> list[str]:
        return ["replay", source, "--kafka", self.bootstrap, "--topic", self.name, *more]

    def play(self, source: str, *more: str) -> Result:
        """Run the command in this process."""
        return wirerank(*self.arguments(source, *more), app=new_app())

    def start(self, source: str, *more: str, **options: Any) -> subprocess.Popen[bytes]:  # noqa: ANN401
        """Start the command as a process."""
        return subprocess.Popen(
            [sys.executable, "-m", "consumers", *self.arguments(source, *more)],
            cwd=REPOSITORY,
            stderr=subprocess.PIPE,
            **options,
        )

    def size(self) -> int:
        """The number of records in the topic; 0 if there is no topic."""
        consumer: Any = new_consumer(self.kafka)
        try:
            numbers = consumer.partitions_for_topic(self.name) or ()
            places = [TopicPartition(self.name, number) for number in numbers]
            return sum(consumer.end_offsets(places).values()) if places else 0
        finally:
            consumer.close(autocommit=False)

    def wait_for(self, records: int, process: subprocess.Popen[bytes]) -> None:
        """Wait until the topic has this many records."""
        until = time.monotonic() + 180
        while self.size() < records:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < until
            time.sleep(0.02)

    def write(self, values: Iterable[bytes], partition: int, headers: list[Header]) -> None:
        """Write records that were not played."""
        producer = new_producer(self.kafka)
        sent = [
            producer.send(self.name, value, None, headers, partition=partition) for value in values
        ]
        producer.flush(30)
        for future in sent:
            future.get(0)
        producer.close(timeout=5)

    def partitions(self) -> list[list[Message]]:
        """All records, by partition."""
        consumer: Any = new_consumer(self.kafka)
        try:
            numbers = sorted(consumer.partitions_for_topic(self.name))
            collected = []
            for number in numbers:
                place = TopicPartition(self.name, number)
                end = consumer.end_offsets([place])[place]
                consumer.assign([place])
                consumer.seek(place, 0)
                messages: list[Message] = []
                while consumer.position(place) < end:
                    messages += consumer.poll(500).get(place, [])
                collected.append(messages)
            return collected
        finally:
            consumer.close(autocommit=False)

    def played(self) -> list[list[tuple[int, bytes | None]]]:
        """By partition: the number and value of every record that was played."""
        return [
            [(index, m.value) for m in messages if (index := number_of(m)) is not None]
            for messages in self.partitions()
        ]

    def by_number(self) -> dict[int, Message]:
        """The records by the number of their event in the source."""
        every = [message for messages in self.partitions() for message in messages]
        return {number: m for m in every if (number := number_of(m)) is not None}


def number_of(message: Message) -> int | None:
    """The number of the event in its source; None if the record was not played."""
    headers = dict(message.headers)
    return int(headers["index"]) if "chain" in headers else None


class Heard(Progress):
    """Keeps the messages of a playback."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)

    def wait_for(self, words: str) -> None:
        until = time.monotonic() + 180
        while not any(words in line for line in self.lines):
            assert time.monotonic() < until, self.lines
            time.sleep(0.05)


def once_and_in_order(topic: PlayedTopic, events: list[bytes]) -> None:
    """Check that every event is there once, unchanged, and in the order of the source."""
    for records in topic.played():
        numbers = [number for number, _ in records]
        assert numbers == sorted(set(numbers))
    once(topic, events)


def once(topic: PlayedTopic, events: list[bytes]) -> None:
    """Check that every event is there once, unchanged."""
    together = sorted(record for records in topic.played() for record in records)
    assert together == list(enumerate(events))
