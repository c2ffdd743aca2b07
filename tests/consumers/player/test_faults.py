"""Playing with faults: a broker that is away, a client that drops records, unusual topics."""

from __future__ import annotations

import base64
import random
import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from kafka.admin import NewPartitions, NewTopic
from kafka.errors import KafkaTimeoutError

from consumers.kafka.client_types import Producer
from consumers.kafka.clients import new_admin, new_producer
from consumers.player import outbox, player, replay_progress
from consumers.player.outbox import InterruptedWaiting
from consumers.player.player import play
from consumers.player.ranking_waiter import RankingWaiter
from consumers.player.replay_progress import RecordOrigin, extend_chain, read_origin, source_name
from deploy.kafka import Cluster
from pipeline.corpora import open_source
from pipeline.interruption import Interruption
from pipeline.replay.playback import PlaybackSettings
from tests.support.kafka_fixture import need_kafka
from tests.support.player_topic import Heard, PlayedTopic, once, once_and_in_order


@pytest.fixture
def topic(broker: str) -> PlayedTopic:
    return PlayedTopic(broker)


def made(topic: PlayedTopic, partitions: int, **options: str) -> None:
    admin: Any = new_admin(topic.kafka)
    settings = {name.replace("_", "."): value for name, value in options.items()}
    admin.create_topics([NewTopic(topic.name, partitions, 1, topic_configs=settings)])
    admin.wait_for_topics([topic.name])
    admin.close()


class GivesUp:
    """A producer that drops a few records, writes later ones, and only then reports it."""

    def __init__(self, producer: Producer, rng: random.Random) -> None:
        self._producer: Any = producer
        self._lost = rng.randrange(1, 200)
        self._told = self._lost + rng.randrange(1, 150)
        self._count = 0
        self._futures: list[Any] = []
        self._rng = rng

    def send(self, *arguments: Any) -> Any:  # noqa: ANN401 - as kafka-python's
        self._count += 1
        dropped = self._lost <= self._count < self._lost + 10 or self._count > self._told + 50
        if not dropped or self._rng.random() < 0.2:
            return self._producer.send(*arguments)
        future = Dropped()
        self._futures.append(future)
        if self._count >= self._told:
            for each in self._futures:
                each.exception = KafkaTimeoutError("time is up")
                each.is_done = True
        return future

    def flush(self, timeout: float | None = None) -> None:
        self._producer.flush(timeout)

    def close(self, timeout: float | None = None) -> None:
        self._producer.close(timeout=timeout)


def written_and_closed(producer: Producer) -> None:
    """Send the records that the broken producer accepted, as it would have by then."""
    producer.flush(30)
    producer.close(timeout=5)


class Dropped:
    """The future of a record that is never written."""

    is_done = False
    exception: Exception | None = None

    def succeeded(self) -> bool:
        return False

    def get(self, timeout: float | None = None) -> None:
        time.sleep(min(timeout or 0, 0.01))
        if self.exception is None:
            self.exception, self.is_done = KafkaTimeoutError("time is up"), True
        raise KafkaTimeoutError("time is up")


def test_what_a_client_gave_up_is_written_later(
    topic: PlayedTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records after a lost one may be in the topic: still nothing is lost or doubled."""
    rng = random.Random(2)
    source = "synthetic:4000"
    events = list(open_source(source))
    monkeypatch.setattr(replay_progress, "FIRST_STEP", 20)  # no more is looked at than is needed
    holes = 0
    for _ in range(6):
        broken = GivesUp(new_producer(topic.kafka), rng)
        monkeypatch.setattr(player, "new_producer", lambda *_, broken=broken, **__: broken)
        monkeypatch.setattr(player, "discard_producer", written_and_closed)
        result = topic.play(source)
        assert result.exit_code == 1
        assert "KafkaTimeoutError: time is up. In the topic now:" in result.stderr
        assert "The same command continues from there." in result.stderr
        numbers = {number for records in topic.played() for number, _ in records}
        holes += max(numbers) + 1 - len(numbers)
    assert holes > 20, "nothing was tested"
    monkeypatch.setattr(player, "new_producer", new_producer)
    assert topic.play(source).exit_code == 0
    once(topic, events)


def test_what_is_filled_in_claims_nothing_new(topic: PlayedTopic, tmp_path: Path) -> None:
    """Records that were written late must not end the backward search too early."""
    made(topic, 1)
    events = [
        b'{"id": %d, "text": "x", "time": "1987-02-26T10:00:0%dZ"}' % (n, n) for n in range(9)
    ]
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"".join(event + b"\n" for event in events))
    source, chain = source_name(events[0], 1, "wirerank"), ""
    for number, event in enumerate(events[:7]):
        chain = extend_chain(chain, event)
        if number not in (2, 5):  # given up by somebody's client
            topic.write([event], 0, RecordOrigin(source, number, -1, chain, 1).headers())
    assert topic.play(str(path), "--speed", "5x").exit_code == 0
    ((*_, third, sixth, eighth, ninth),) = topic.partitions()
    origins = [read_origin(message.headers) for message in (third, sixth, eighth, ninth)]
    progress = [(origin.index, origin.complete) for origin in origins if origin is not None]
    assert progress[:3] == [(2, -1), (5, -1), (7, 6)]
    assert progress[3] in [(8, 6), (8, 7)]


def test_a_broker_that_goes_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A short outage is waited for; after a long one the command ends, and can be repeated."""
    need_kafka()
    monkeypatch.setattr(outbox, "REPORT_AFTER_S", 0.5)
    source = "synthetic:3000"
    events = list(open_source(source))
    with Cluster(tmp_path / "kafka") as cluster, ThreadPoolExecutor() as pool:
        topic = PlayedTopic(cluster.bootstrap)
        slowly = PlaybackSettings(source, cluster.bootstrap, topic.name, speed=5000)
        heard, waiting, stop = Heard(), Heard(), Interruption()
        ended = pool.submit(play, slowly, topic.kafka, heard)
        while topic.size() < 10:
            assert not ended.done()
        ranked = pool.submit(RankingWaiter(topic.kafka, topic.name, waiting, stop).wait, {0: 1})
        waiting.wait_for("no workers follow")
        cluster.kill()
        heard.wait_for("the broker has not answered for")
        waiting.wait_for("the broker does not answer")
        cluster.start()
        heard.wait_for("the broker answers again")
        waiting.wait_for("the broker answers again")
        stop.signal = signal.SIGINT
        with pytest.raises(InterruptedWaiting):
            ranked.result(20)
        monkeypatch.setattr(outbox, "GIVE_UP_AFTER_S", 1.0)
        cluster.kill()
        played = ended.result(30)
        assert played.failure is not None
        assert re.search(
            r"The broker has not answered for \d+ s. In the topic now: ", played.failure
        )
        assert "The same command continues from there." in played.failure
        assert played.written < len(events)
        cluster.start()
        result = topic.play(source)
        assert result.exit_code == 0, result.stderr
        once_and_in_order(topic, events)


def test_no_broker_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(player, "BOOTSTRAP_MS", 500)
    result = PlayedTopic("127.0.0.1:1").play("synthetic:5")
    assert result.exit_code == 1
    assert "The broker at 127.0.0.1:1 cannot be used" in result.stderr
    assert "Traceback" not in result.stderr


def test_an_existing_topic_is_used_as_it_is(topic: PlayedTopic) -> None:
    made(topic, 2)
    assert "partitions = 2" in topic.play("synthetic:100").stderr
    once_and_in_order(topic, list(open_source("synthetic:100")))


def test_another_number_of_partitions_is_refused(topic: PlayedTopic) -> None:
    made(topic, 2)
    topic.play("synthetic:100", "--limit", "50")
    admin: Any = new_admin(topic.kafka)
    admin.create_partitions({topic.name: NewPartitions(3)})
    admin.wait_for_topics([topic.name])
    admin.close()
    result = topic.play("synthetic:100")
    assert result.exit_code == 2
    assert "had 2 partitions when a part of this source was played, and has 3 now" in result.stderr
    assert topic.size() == 50


def test_an_event_that_the_topic_does_not_take(topic: PlayedTopic, tmp_path: Path) -> None:
    """The message says so; when the event fits, the same command continues."""
    made(topic, 1, max_message_bytes="300000")
    noise = base64.b64encode(random.Random(1).randbytes(400_000))
    events = [b'{"id": %d, "text": "x"}' % n for n in range(300)]
    events[200] = b'{"id": 200, "text": "' + noise + b'"}'
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"".join(event + b"\n" for event in events))
    result = topic.play(str(path))
    assert result.exit_code == 1
    assert f"An event of {len(events[200]):,} bytes is larger than" in result.stderr
    assert 200 <= topic.size() < 300
    assert topic.play(str(path), "--max-event-bytes", "1000").exit_code == 0
    events[200] = events[200][:1003]  # as it is cut: too long by more than a line end
    once(topic, events)


def test_far_behind_the_records_of_others(
    topic: PlayedTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay_progress, "FIRST_STEP", 200)
    topic.play("synthetic:1000", "--limit", "500")
    for partition in range(4):
        topic.write([b"stranger"] * 900, partition, [("index", b"7")])
    result = topic.play("synthetic:1000", "--limit", "600")
    assert "other programs write to this topic too; searching further back" in result.stderr
    assert "in the topic already: 500 of 600 events" in result.stderr
    once_and_in_order(topic, list(open_source("synthetic:1000"))[:600])
    for partition in range(4):
        topic.write([b"stranger"] * 900, partition, [])
    monkeypatch.setattr(replay_progress, "MOST_SEARCHED", 500)
    result = topic.play("synthetic:1000", "--limit", "1")
    assert (
        "the topic holds many records of other programs; none of this source was found"
        in result.stderr
    )


def test_what_cannot_be_told_is_not_guessed(
    topic: PlayedTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The source is found in one partition, buried in another, and events are missing between."""
    topic.play("synthetic:1000")
    topic.write([b"stranger"] * 900, 0, [])
    monkeypatch.setattr(replay_progress, "FIRST_STEP", 200)
    monkeypatch.setattr(replay_progress, "MOST_SEARCHED", 500)
    result = topic.play("synthetic:1000")
    assert result.exit_code == 2
    assert "the missing events of this source cannot be found" in result.stderr


def test_a_full_window_leaves_marks_that_are_believed(
    topic: PlayedTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "MOST_IN_FLIGHT", 20)
    monkeypatch.setattr(replay_progress, "MOST_IN_FLIGHT", 20)
    for limit in ("500", "700"):
        assert topic.play("synthetic:700", "--limit", limit).exit_code == 0
    once_and_in_order(topic, list(open_source("synthetic:700")))
    origins = [read_origin(message.headers) for message in topic.by_number().values()]
    assert all(origins)
    ahead = [origin.index - origin.complete for origin in origins if origin is not None]
    assert max(ahead) == 20


def test_headers_of_others_are_not_ours() -> None:
    origin = RecordOrigin("s", 5, 3, "c", 4)
    assert read_origin(origin.headers()) == origin
    changes: list[tuple[str, bytes]] = [
        ("index", b"x"), ("index", b"3"), ("index", b"-7"), ("complete", b"-2"), ("index", b"9999"),
        ("source", b"\xff"), ("index", b"9" * 5000),
    ]  # fmt: skip
    for name, value in changes:
        headers = [(each, value if each == name else kept) for each, kept in origin.headers()]
        assert read_origin(headers) is None, (name, value)
    assert read_origin(origin.headers()[1:]) is None
