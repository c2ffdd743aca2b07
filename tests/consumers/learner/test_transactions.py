"""Exactly once on a real broker, with each fault of transactions caused on purpose."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from kafka import TopicPartition

from consumers.kafka.clients import Timeouts, new_consumer, new_transactional_producer
from consumers.kafka.clock import ClockCheck
from consumers.kafka.offsets import CommittedOffset, committed_offset
from consumers.kafka.topics import ensure_topics
from consumers.learner.lane_owner import LaneOwner
from consumers.learner.transactions import ExactlyOncePublisher, FencedError, RecordBatch
from consumers.settings import Config
from consumers.task import within
from pipeline.storage.binary_array import BinaryArray


class Setting:
    """The topics of a stream, and publishers for it."""

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
        self.group = f"{name}.a"

    def writer(
        self,
        wrap: Any = None,  # noqa: ANN401
        deadline_s: float = 20.0,
        owner: LaneOwner | None = None,
    ) -> ExactlyOncePublisher:
        name = self.stream.name

        def producer() -> Any:  # noqa: ANN401
            made = new_transactional_producer(self.config.kafka, name, Timeouts(5000, 8000, 15000))
            return wrap(made) if wrap else made

        return ExactlyOncePublisher(
            self.source, self.group, owner or LaneOwner(), producer, self.committed, ClockCheck(),
            deadline_s,
            pause_s=0.05,
        )  # fmt: skip

    def published(self) -> list[bytes]:
        consumer: Any = new_consumer(self.config.kafka, auto_offset_reset="earliest")
        consumer.assign([TopicPartition(self.stream.rankings, 0)])
        collected: list[bytes] = []
        quiet = 0
        while quiet < 5:
            polled = consumer.poll(200)
            quiet = 0 if polled else quiet + 1
            collected += [message.value for messages in polled.values() for message in messages]
        consumer.close(autocommit=False)
        return collected

    def records(self, *values: bytes) -> list[RecordBatch]:
        return [
            RecordBatch(
                self.stream.rankings,
                BinaryArray.from_strings([b"key"] * len(values)),
                BinaryArray.from_strings(values),
            )
        ]

    def committed(self) -> CommittedOffset:
        return committed_offset(self.config.kafka, self.group, self.source)


@pytest.fixture
def setting(broker: str) -> Setting:
    return Setting(broker)


class Faulty:
    """A real producer that fails once, at one call, before or after the call took effect."""

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


CALLS = (
    "begin_transaction",
    "send_many",
    "flush",
    "send_offsets_to_transaction",
    "commit_transaction",
)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_failure_at_any_call_neither_loses_nor_doubles(
    setting: Setting, call: str, when: str
) -> None:
    faults: list[str] = []
    writer = setting.writer(lambda real: Faulty(real, call, when, faults))
    assert writer.start() is None
    faults.append("once")
    writer.publish(setting.records(b"a", b"b"), None, 1)
    writer.publish(setting.records(b"c"), 1, 2)
    writer.close()
    assert not faults
    assert setting.published() == [b"a", b"b", b"c"]
    assert setting.committed().offset == 2


@pytest.mark.parametrize("call", [call for call in CALLS if call != "send_many"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_failure_while_a_lane_is_claimed(setting: Setting, call: str, when: str) -> None:
    """The worker is restarted, and claims the lane then, if it has not done so already."""
    faults = ["once"]
    process = LaneOwner()
    writer = setting.writer(lambda real: Faulty(real, call, when, faults), owner=process)
    with pytest.raises(ConnectionError, match="on purpose"):
        writer.start()
    assert writer.start() is None
    assert setting.committed() == process.claim(None)
    writer.publish(setting.records(b"a"), None, 1)
    writer.close()
    assert setting.published() == [b"a"]


def test_a_commit_that_hangs_is_given_up_and_the_broker_decides(setting: Setting) -> None:
    faults: list[str] = []
    writer = setting.writer(lambda real: Faulty(real, "commit_transaction", "hang", faults), 4.0)
    writer.start()
    faults.append("once")
    started = time.monotonic()
    writer.publish(setting.records(b"a"), None, 1)
    assert time.monotonic() - started < 40
    writer.close()
    assert setting.published() == [b"a"]


def test_a_second_worker_fences_the_first(setting: Setting) -> None:
    first, second = setting.writer(), setting.writer()
    first.start()
    first.publish(setting.records(b"a"), None, 1)
    assert second.start() == 1
    second.publish(setting.records(b"b"), 1, 2)
    with pytest.raises(FencedError, match="another worker runs with the same lanes"):
        first.publish(setting.records(b"zombie"), 1, 3)
    second.close()
    assert setting.published() == [b"a", b"b"]


def test_the_worker_that_started_last_keeps_the_lane(setting: Setting) -> None:
    """Even if it has published nothing yet when the one before wants to publish."""
    first, second = setting.writer(), setting.writer()
    first.start()
    first.publish(setting.records(b"a"), None, 1)
    assert second.start() == 1
    for _ in range(2):
        with pytest.raises(FencedError, match="has taken over the group"):
            first.publish(setting.records(b"zombie"), 1, 2)
    second.publish(setting.records(b"b"), 1, 2)
    second.close()
    assert setting.published() == [b"a", b"b"]
    assert setting.committed().offset == 2


def test_a_claim_does_not_make_up_an_offset(setting: Setting) -> None:
    """A lane whose offset the broker has forgotten must not begin at 0 after the next crash."""
    for _ in range(2):
        writer = setting.writer()
        assert writer.start() is None
        writer.close()
    last = setting.writer()
    last.start()
    last.publish([], None, 7)
    last.close()
    assert setting.writer().start() == 7


def test_a_worker_that_was_replaced_does_not_come_back_when_it_restarts(setting: Setting) -> None:
    """The worker of a process is restarted after errors; the process was still started first."""
    process = LaneOwner()
    first = setting.writer(owner=process)
    first.start()
    first.close()
    setting.writer(owner=process).start()  # a restart without another worker
    second = setting.writer()
    second.start()
    with pytest.raises(FencedError, match="has taken over the group"):
        setting.writer(owner=process).start()
    second.publish(setting.records(b"a"), None, 1)
    second.close()
    assert setting.published() == [b"a"]


def test_a_transaction_that_the_broker_gave_up_fences_nobody(setting: Setting) -> None:
    """The broker then takes the id from its holder, as if there were another worker."""
    writer = setting.writer()
    writer.start()
    writer.publish(setting.records(b"a"), None, 1)
    other = new_transactional_producer(setting.config.kafka, setting.stream.name)
    other.init_transactions()
    other.close(timeout=5)
    writer.publish(setting.records(b"b"), 1, 2)
    writer.close()
    assert setting.published() == [b"a", b"b"]


def test_an_offset_alone_can_be_published(setting: Setting) -> None:
    """A transaction without records still commits the offsets."""
    writer = setting.writer()
    writer.start()
    writer.publish([], None, 5)
    writer.close()
    assert setting.committed().offset == 5
    assert setting.published() == []


def test_within_gives_up_and_hands_on() -> None:
    assert within(5, "adding", lambda: 1 + 1) == 2
    with pytest.raises(TimeoutError, match="waiting took more than"):
        within(0.05, "waiting", lambda: threading.Event().wait(5))
    with pytest.raises(ZeroDivisionError):
        within(5, "dividing", lambda: 1 // 0)


def test_what_never_works_is_given_up(setting: Setting) -> None:
    """After a few attempts the error is raised."""
    faults: list[str] = []
    writer = setting.writer(lambda real: Faulty(real, "flush", "before", faults))
    writer.start()
    faults += ["always"] * 100
    with pytest.raises(ConnectionError, match="on purpose"):
        writer.publish(setting.records(b"a"), None, 1)
    writer.close()
    assert len(faults) == 97
    assert setting.published() == []
    assert setting.committed().offset == 0
