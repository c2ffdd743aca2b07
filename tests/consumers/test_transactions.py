"""Exactly once on a real broker, with each way that transactions break put in on purpose."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from kafka import TopicPartition

from consumers.clients import Limits, new_consumer, new_transactional_producer
from consumers.config import Config
from consumers.topics import ensure_topics
from consumers.transactions import ExactlyOnce, FencedError, Outgoing, within


class Setting:
    """A stream's topics, and writers for it."""

    def __init__(self, bootstrap: str) -> None:
        name = f"transactions-{time.time_ns()}"
        self.config = Config.model_validate(
            {
                "kafka": {"bootstrap": bootstrap},
                "streams": [{"name": name, "partitions": 1, "lanes": [{"spec": "mmp"}]}],
            }
        )
        self.stream = self.config.streams[0]
        ensure_topics(self.config.kafka, self.stream)
        self.source = TopicPartition(self.stream.blocks, 0)
        self.consumer = new_consumer(self.config.kafka, group_id=name)

    def writer(self, wrap: Any = None, patience_s: float = 20.0) -> ExactlyOnce:  # noqa: ANN401
        name = self.stream.name

        def producer() -> Any:  # noqa: ANN401
            made = new_transactional_producer(self.config.kafka, name, Limits(5000, 8000, 15000))
            return wrap(made) if wrap else made

        def committed() -> int | None:
            return self.consumer.committed(self.source)

        return ExactlyOnce(name, self.source, producer, committed, patience_s, pause_s=0.05)

    def published(self) -> list[bytes]:
        consumer: Any = new_consumer(self.config.kafka, auto_offset_reset="earliest")
        consumer.assign([TopicPartition(self.stream.rankings, 0)])
        found: list[bytes] = []
        quiet = 0
        while quiet < 5:
            polled = consumer.poll(200)
            quiet = 0 if polled else quiet + 1
            found += [message.value for messages in polled.values() for message in messages]
        consumer.close(autocommit=False)
        return found

    def record(self, value: bytes) -> Outgoing:
        return Outgoing(self.stream.rankings, b"key", value)


@pytest.fixture
def setting(broker: str) -> Setting:
    return Setting(broker)


class Faulty:
    """A real producer that goes wrong once, at one call, before or after doing it."""

    def __init__(self, real: Any, call: str, when: str, faults: list[str]) -> None:  # noqa: ANN401
        self._real, self._call, self._when, self._faults = real, call, when, faults

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        real = getattr(self._real, name)
        if name != self._call or not self._faults:
            return real

        def goes_wrong(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401
            self._faults.pop()
            if self._when == "hang":
                threading.Event().wait(60)
            if self._when == "after":
                real(*arguments, **named)
            raise ConnectionError("on purpose")

        return goes_wrong


CALLS = ("begin_transaction", "send", "flush", "send_offsets_to_transaction", "commit_transaction")


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_failure_at_any_call_neither_loses_nor_doubles(
    setting: Setting, call: str, when: str
) -> None:
    faults = ["once"]
    writer = setting.writer(lambda real: Faulty(real, call, when, faults))
    assert writer.start() is None
    writer.publish([setting.record(b"a"), setting.record(b"b")], None, 1)
    writer.publish([setting.record(b"c")], 1, 2)
    writer.close()
    assert not faults
    assert setting.published() == [b"a", b"b", b"c"]
    assert setting.consumer.committed(setting.source) == 2


def test_a_commit_that_hangs_is_given_up_and_the_broker_decides(setting: Setting) -> None:
    faults = ["once"]
    writer = setting.writer(lambda real: Faulty(real, "commit_transaction", "hang", faults), 4.0)
    writer.start()
    started = time.monotonic()
    writer.publish([setting.record(b"a")], None, 1)
    assert time.monotonic() - started < 40
    writer.close()
    assert setting.published() == [b"a"]


def test_a_second_worker_fences_the_first(setting: Setting) -> None:
    first, second = setting.writer(), setting.writer()
    first.start()
    first.publish([setting.record(b"a")], None, 1)
    assert second.start() == 1
    second.publish([setting.record(b"b")], 1, 2)
    with pytest.raises(FencedError, match="another worker runs with the same lanes"):
        first.publish([setting.record(b"zombie")], 1, 3)
    second.close()
    assert setting.published() == [b"a", b"b"]


def test_an_offset_alone_can_be_published(setting: Setting) -> None:
    """Lanes that are only watched write nothing, but must know where they were."""
    writer = setting.writer()
    writer.start()
    writer.publish([], None, 5)
    writer.close()
    assert setting.consumer.committed(setting.source) == 5
    assert setting.published() == []


def test_within_gives_up_and_hands_on() -> None:
    assert within(5, "adding", lambda: 1 + 1) == 2
    with pytest.raises(TimeoutError, match="waiting took more than"):
        within(0.05, "waiting", lambda: threading.Event().wait(5))
    with pytest.raises(ZeroDivisionError):
        within(5, "dividing", lambda: 1 // 0)
