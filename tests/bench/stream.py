"""Topic to topic on a real broker: documents per second beside a bare loop of the same client."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from kafka import TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic

from consumers.clients import committed_offsets, connection, new_consumer, new_producer
from consumers.config import KafkaSettings
from deploy.kafka import Cluster, Options
from pipeline.corpora.synthetic import SyntheticNewswire
from pipeline.replay import DEFAULT_LANES
from tests.consumers.streaming import Streaming

PARTITIONS = 4
BY_THE_BROKER = {"message.timestamp.type": "LogAppendTime"}


def fill(streaming: Streaming, documents: int) -> None:
    """Put the documents into the topic, before anything is timed."""
    streaming.produce(SyntheticNewswire(documents=documents))


def make_topic(settings: KafkaSettings, name: str) -> None:
    admin: Any = KafkaAdminClient(**connection(settings))
    admin.create_topics([NewTopic(name, PARTITIONS, 1, topic_configs=BY_THE_BROKER)])
    admin.wait_for_topics([name])
    admin.close()


def written(settings: KafkaSettings, topic: str, partitions: int) -> tuple[int, float, float]:
    """Of a topic: its records, and when the broker wrote the first and the last one."""
    consumer: Any = new_consumer(settings, auto_offset_reset="earliest")
    consumer.assign([TopicPartition(topic, p) for p in range(partitions)])
    times: list[int] = []
    while polled := consumer.poll(1000):
        times += [message.timestamp for messages in polled.values() for message in messages]
    consumer.close(autocommit=False)
    return len(times), min(times) / 1000, max(times) / 1000


def bare_loop(bootstrap: str, source: str, target: str, documents: int, size: int) -> None:
    """What a home-made script does, without the work: read a document, write a record for it."""
    settings = KafkaSettings(bootstrap=bootstrap)
    consumer: Any = new_consumer(settings, auto_offset_reset="earliest")
    consumer.assign([TopicPartition(source, p) for p in range(PARTITIONS)])
    producer = new_producer(settings)
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


def bare_rate(streaming: Streaming, documents: int, size: int, number: int) -> float:
    """Documents per second of the bare loop, a process of its own."""
    target = f"{streaming.name}.bare-{number}"
    make_topic(streaming.config.kafka, target)
    call = (streaming.bootstrap, streaming.stream.documents, target, documents, size)
    command = f"from tests.bench.stream import bare_loop; bare_loop(*{call!r})"
    subprocess.run([sys.executable, "-c", command], check=True, timeout=120)
    count, first, last = written(streaming.config.kafka, target, PARTITIONS)
    assert count == documents, (count, documents)
    return documents / (last - first)


def count_records(streaming: Streaming) -> int:
    """Records of the rankings topic, and the marks of transactions, which are few."""
    consumer = new_consumer(streaming.config.kafka)
    where = [TopicPartition(streaming.stream.rankings, p) for p in range(PARTITIONS)]
    ends = consumer.end_offsets(where)
    consumer.close(autocommit=False)
    return sum(ends.values())


def our_rate(streaming: Streaming, documents: int) -> tuple[float, float]:
    """Documents per second from the first block to the last ranking; and bytes of a ranking."""
    streaming.start("learn")
    time.sleep(6)  # it is ready and waits
    streaming.start("tokenize-0")
    group = f"wirerank.{streaming.name}.learn.{DEFAULT_LANES[0]}"
    log = TopicPartition(streaming.stream.blocks, 0)
    until = time.monotonic() + 120
    ranked = 0
    while ranked < documents and time.monotonic() < until:  # looking costs little, reading much
        time.sleep(1)
        if committed_offsets(streaming.config.kafka, [group], log)[group]:
            ranked = count_records(streaming)
    found = streaming.rankings(documents, seconds=60)
    for name in ("tokenize-0", "learn"):
        assert streaming.end(name) == 0, streaming.log(name)
    assert len(found) == documents, (len(found), documents)
    last = max(message.timestamp for message in found) / 1000
    _, first, _ = written(streaming.config.kafka, streaming.stream.blocks, 1)
    return documents / (last - first), sum(len(m.value or b"") for m in found) / documents


def run(documents: int, folder: Path) -> None:
    """Print the comparison."""
    with Cluster(folder / "kafka", options=Options(heap_mb=1024, quick=False)) as cluster:
        for number in range(3):
            place = folder / str(number)
            place.mkdir()
            with Streaming(
                cluster.bootstrap,
                place,
                DEFAULT_LANES[:1],
                PARTITIONS,
                watched=DEFAULT_LANES[1:],
                settings="",
                every=60,
            ) as streaming:
                fill(streaming, documents)
                ours, size = our_rate(streaming, documents)
                bare = bare_rate(streaming, documents, int(size), number)
            print(
                f"  bare {bare:8,.0f}/s   wirerank {ours:8,.0f}/s   {ours / bare:.2f} x", flush=True
            )
