"""Reads the rankings and the log of a stream while they are written, before they are deleted."""

from __future__ import annotations

import hashlib
import threading
from collections import defaultdict
from typing import Any

import orjson
from kafka import TopicPartition

from consumers.kafka.client_types import Message
from consumers.kafka.clients import new_consumer
from consumers.settings import Config
from consumers.stream_settings import StreamSettings
from pipeline.log.coverage import Coverage
from pipeline.log.record import decode_spans
from tests.support.kafka_stream import without_scores

POLL_MS = 200


class Observer:
    """What was written so far, in a thread of its own."""

    def __init__(self, config: Config, stream: StreamSettings, divided: str) -> None:
        self.rankings: defaultdict[str, list[tuple[str, bytes]]] = defaultdict(list)
        self.log_bytes = 0  # before compression
        self.documents_before: list[int] = []  # by offset of the log
        self.error = ""
        self._covered = Coverage()
        self._divided = divided
        self._config, self._stream = config, stream
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop reading."""
        self._stopping.set()
        self._thread.join(30)

    def _run(self) -> None:
        try:
            self._read()
        except Exception as error:
            self.error = f"{type(error).__name__}: {error}"

    def _read(self) -> None:
        consumer: Any = new_consumer(self._config.kafka)
        log = TopicPartition(self._stream.blocks, 0)
        rankings = TopicPartition(self._stream.rankings, 0)
        consumer.assign([log, rankings])
        for place in (log, rankings):
            consumer.seek(place, 0)
        try:
            while not self._stopping.is_set():
                for place, messages in consumer.poll(POLL_MS).items():
                    for message in messages:
                        (self._log_record if place == log else self._ranking)(message)
        finally:
            consumer.close(autocommit=False)

    def _log_record(self, message: Message) -> None:
        if message.offset != len(self.documents_before):
            raise AssertionError(f"offset {message.offset} of the log follows a deleted record")
        self.documents_before.append(sum(self._covered.reached.values()))
        self._covered.cover(decode_spans(message.value or b"", "a record"))
        self.log_bytes += len(message.value or b"")

    def _ranking(self, message: Message) -> None:
        value = message.value or b""
        event = orjson.loads(value)
        self.rankings[event["lane"]].append(
            (event["id"], digest(value, event["lane"] == self._divided))
        )


def digest(ranking: bytes, divided: bool) -> bytes:
    """A ranking in 8 bytes. Last bits of scores depend on shards, so these do not count then."""
    value = without_scores(ranking) if divided else ranking
    return hashlib.sha256(value).digest()[:8]
