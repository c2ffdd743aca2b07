"""The stream on a real broker: documents per second, delay of a ranking, and time to recover.

Speed is stated beside a bare loop of the same client on the same broker in the same run, which
reads each document and writes one record for it.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic

from consumers.kafka.clients import new_admin, new_consumer, new_producer
from consumers.settings import KafkaSettings
from deploy.kafka import Cluster, Options
from pipeline.corpora.synthetic_newswire import SyntheticNewswire
from tests.bench.workload import FOUR_LANES
from tests.conftest import REPOSITORY
from tests.support.kafka_stream import Streaming

PARTITIONS = 4
REPEATS = 5
RANKING_BYTES = 600
LIGHT = 0.05  # seconds between documents under light load


def bare_loop(
    bootstrap: str, source: str, target: str, documents: int, size: int, tuned: bool
) -> None:
    """The loop of a home-made script without its work: read a document, write a record.

    With the client's own settings, or with our large batches, compression and all.
    """
    consumer: Any
    producer: Any
    if tuned:
        settings = KafkaSettings(bootstrap=bootstrap)
        consumer = new_consumer(settings, auto_offset_reset="earliest")
        producer = new_producer(settings)
    else:
        consumer = KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
        producer = KafkaProducer(bootstrap_servers=bootstrap)
    consumer.assign([TopicPartition(source, p) for p in range(PARTITIONS)])
    answer = os.urandom(size // 2).hex().encode()
    done = 0
    while done < documents:
        for messages in consumer.poll(200).values():
            for message in messages:
                producer.send(target, answer, str(message.offset).encode())
            done += len(messages)
    producer.flush(60)
    producer.close(timeout=30)
    consumer.close(autocommit=False)


def written(settings: KafkaSettings, topic: str, partitions: int) -> list[Any]:
    """The committed records of a topic."""
    consumer: Any = new_consumer(settings, auto_offset_reset="earliest")
    consumer.assign([TopicPartition(topic, p) for p in range(partitions)])
    collected: list[Any] = []
    while polled := consumer.poll(1000):
        collected += [message for messages in polled.values() for message in messages]
    consumer.close(autocommit=False)
    return collected


def span(messages: list[Any]) -> tuple[float, float]:
    """The timestamps of the first and the last record, by the clock of this machine."""
    times = [message.timestamp / 1000 for message in messages]
    return min(times), max(times)


def records_in(settings: KafkaSettings, topic: str) -> int:
    """The number of records of a topic, including a few transaction markers; cheap to ask."""
    consumer = new_consumer(settings)
    ends = consumer.end_offsets([TopicPartition(topic, p) for p in range(PARTITIONS)])
    consumer.close(autocommit=False)
    return sum(ends.values())


def bare_rate(streaming: Streaming, documents: int, size: int, tuned: bool) -> float:
    """The documents per second of the bare loop, in a separate process."""
    target = f"{streaming.name}.bare-{time.monotonic_ns()}"
    admin = new_admin(streaming.config.kafka)
    admin.create_topics([NewTopic(target, PARTITIONS, 1)])
    admin.wait_for_topics([target])
    admin.close()
    call = (streaming.bootstrap, streaming.documents, target, documents, size, tuned)
    command = f"from tests.bench.stream import bare_loop; bare_loop(*{call!r})"
    subprocess.run([sys.executable, "-c", command], check=True, timeout=300)
    actual = written(streaming.config.kafka, target, PARTITIONS)
    assert len(actual) == documents, (len(actual), documents)
    first, last = span(actual)
    return documents / (last - first)


def our_rate(streaming: Streaming, documents: int) -> tuple[float, float]:
    """The documents per second from the first block to the last ranking, and bytes per ranking."""
    settings, stream = streaming.config.kafka, streaming.stream
    streaming.start("learn", program=("consumers",))
    while "of the log" not in streaming.log("learn"):
        time.sleep(0.2)
    streaming.start("tokenize-0", program=("consumers",))
    until = time.monotonic() + 300
    while records_in(settings, stream.rankings) < documents and time.monotonic() < until:
        time.sleep(0.5)  # polling the offsets is cheap; consuming the records would slow it down
    published = streaming.rankings(documents, seconds=30)
    for name in ("tokenize-0", "learn"):
        assert streaming.end(name) == 0, streaming.log(name)
    assert len(published) == documents, (len(published), documents)
    first, _ = span(written(settings, stream.blocks, 1))
    _, last = span(published)
    return documents / (last - first), sum(len(m.value or b"") for m in published) / documents


def throughput(bootstrap: str, folder: Path, documents: int) -> None:
    """Run and print the comparison several times."""
    print(f"Topic to topic, {documents:,} documents, four lanes, one of them published")
    print("                         bare kafka-python loop, its        tokenizer and")
    print("                         own settings      our settings     learner           ratios")
    for number in range(REPEATS):
        place = folder / f"speed-{number}"
        place.mkdir()
        lanes, watched = FOUR_LANES[:1], FOUR_LANES[1:]
        with Streaming(bootstrap, place, lanes, PARTITIONS, watched, "", every=60) as streaming:
            streaming.produce(SyntheticNewswire(documents=documents))
            if number == 0:  # a broker that has just started is slow for its first client
                bare_rate(streaming, documents, RANKING_BYTES, tuned=True)
            ours, size = our_rate(streaming, documents)
            plain = bare_rate(streaming, documents, int(size), tuned=False)
            tuned = bare_rate(streaming, documents, int(size), tuned=True)
        print(
            f"  documents/s         {plain:12,.0f}  {tuned:16,.0f}  {ours:16,.0f}"
            f"         {ours / plain:6.2f} {ours / tuned:6.2f}",
            flush=True,
        )


class Trickle:
    """A light load: a document every 50 ms, and a reader that records when each is ranked."""

    def __init__(self, streaming: Streaming) -> None:
        self._streaming = streaming
        self._stop = threading.Event()
        self.sent: dict[str, float] = {}
        self.ranked: dict[str, float] = {}
        self._threads = [threading.Thread(target=work) for work in (self._write, self._read)]

    def __enter__(self) -> Trickle:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *unused: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _write(self) -> None:
        producer = new_producer(
            self._streaming.config.kafka, linger_ms=0, delivery_timeout_ms=60_000
        )
        for raw in SyntheticNewswire(documents=1_000_000):
            if self._stop.wait(LIGHT):
                break
            key = str(orjson.loads(raw)["id"])
            self.sent[key] = time.monotonic()
            producer.send(self._streaming.documents, raw, key.encode())
        producer.close(timeout=5)

    def _read(self) -> None:
        consumer: Any = new_consumer(self._streaming.config.kafka, auto_offset_reset="earliest")
        topic = self._streaming.stream.rankings
        consumer.assign([TopicPartition(topic, p) for p in range(PARTITIONS)])
        while not self._stop.is_set():
            for messages in consumer.poll(100).values():
                now = time.monotonic()
                for message in messages:
                    self.ranked.setdefault((message.key or b"").decode(), now)
        consumer.close(autocommit=False)

    def until_flowing(self, since: float, seconds: float = 120.0) -> float:
        """The seconds until a document that was sent after `since` is ranked."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            fresh = [at for key, at in list(self.ranked.items()) if self.sent[key] > since]
            if fresh:
                return min(fresh) - since
            time.sleep(0.02)
        return float("inf")

    def delays(self, since: float) -> list[float]:
        """The delay of the ranking of each document that was sent after `since`."""
        return [
            at - self.sent[key] for key, at in list(self.ranked.items()) if self.sent[key] > since
        ]


@contextmanager
def supervised(streaming: Streaming) -> Iterator[subprocess.Popen[bytes]]:
    """Start `wirerank run` as an operator does."""
    with (streaming.folder / "run.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "consumers", "run", str(streaming.path)],
            cwd=REPOSITORY, stdout=log, stderr=log,
        )  # fmt: skip
        try:
            yield process
        finally:
            process.terminate()
            process.wait(60)


def child_of(parent: int, command: str) -> int:
    """The id of the process in which a supervisor runs a command."""
    actual = subprocess.run(
        ["pgrep", "-P", str(parent), "-f", f"consumers {command}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return int(actual.stdout.split()[0])


def delay_and_recovery(folder: Path) -> None:
    """Print the delay of a ranking, and how long rankings stop after a process was killed."""
    place = folder / "recovery"
    place.mkdir()
    options = Options(heap_mb=512, quick=False)
    lanes, watched = FOUR_LANES[:1], FOUR_LANES[1:]
    with (
        Cluster(folder / "kafka-killed", options=options) as cluster,
        Streaming(cluster.bootstrap, place, lanes, PARTITIONS, watched, "", 10) as streaming,
        supervised(streaming) as process,
        Trickle(streaming) as trickle,
    ):
        trickle.until_flowing(0)
        time.sleep(3)
        since = time.monotonic()
        time.sleep(20)
        delays = sorted(trickle.delays(since))
        print(
            f"From a document to its ranking, {1 / LIGHT:.0f} documents per second: "
            f"p50 {statistics.median(delays) * 1000:.0f} ms, "
            f"p99 {delays[int(0.99 * len(delays))] * 1000:.0f} ms ({len(delays)} documents)",
            flush=True,
        )

        def killed(command: str) -> Callable[[], None]:
            return lambda: os.kill(child_of(process.pid, command), signal.SIGKILL)

        def broker() -> None:
            cluster.brokers[0].kill()
            time.sleep(2)
            cluster.brokers[0].start()

        for what, kill in (
            ("the learner was killed", killed("learn")),
            ("the tokenizer was killed", killed("tokenize")),
            ("the broker had come back", broker),
        ):
            seconds = []
            for _ in range(3):
                kill()
                seconds.append(trickle.until_flowing(time.monotonic()))
                time.sleep(6)
            times = ", ".join(f"{s:.1f}" for s in seconds)
            print(f"  first ranking after {what}: {times} s", flush=True)


def run(documents: int, folder: Path) -> None:
    """Run and print all parts."""
    with Cluster(folder / "kafka", options=Options(heap_mb=1024, quick=False)) as cluster:
        throughput(cluster.bootstrap, folder, documents)
    delay_and_recovery(folder)
