"""The loop that a user writes: read a document, rank it, write the ranking to another topic.

`client=` is `kafka-python` or `confluent-kafka`, each with its own settings. `model=plt` ranks and
learns with Vowpal Wabbit. `model=none` does no work, and writes as many bytes: what the client
costs by itself. All partitions are assigned to the one process, so nothing waits for a group.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from tests.bench.peers.programs.common import Clock, finish, parse, read_task

RANKING_BYTES = 600
PARTITIONS = 4
Answer = Callable[[bytes], bytes]
Messages = Iterator[list[tuple[bytes, bytes]]]  # per poll: keys and documents
Send = Callable[[bytes, bytes], None]


@contextmanager
def kafka_python(bootstrap: str, source: str, target: str) -> Iterator[tuple[Messages, Send]]:
    """Read and write with kafka-python."""
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition

    consumer = KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
    consumer.assign([TopicPartition(source, number) for number in range(PARTITIONS)])
    producer = KafkaProducer(bootstrap_servers=bootstrap)

    def messages() -> Messages:
        while True:
            polled = consumer.poll(200).values()
            yield [(str(m.offset).encode(), m.value) for some in polled for m in some]

    def send(key: bytes, value: bytes) -> None:
        producer.send(target, value, key)

    yield messages(), send
    producer.flush(60)
    producer.close(timeout=30)
    consumer.close(autocommit=False)


@contextmanager
def confluent(bootstrap: str, source: str, target: str) -> Iterator[tuple[Messages, Send]]:
    """Read and write with confluent-kafka."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": f"{target}-group"})
    places = [TopicPartition(source, number, OFFSET_BEGINNING) for number in range(PARTITIONS)]
    consumer.assign(places)
    producer = Producer({"bootstrap.servers": bootstrap})

    def messages() -> Messages:
        while True:
            polled = consumer.consume(500, 0.2)
            yield [(str(m.offset()).encode(), m.value() or b"") for m in polled if not m.error()]

    def send(key: bytes, value: bytes) -> None:
        while True:
            try:
                producer.produce(target, value, key)
            except BufferError:
                producer.poll(0.1)
            else:
                break
        producer.poll(0)

    yield messages(), send
    producer.flush(60)
    consumer.close()


def new_model(name: str, topics: list[str]) -> Answer:
    """A function that ranks a document, learns it, and returns the ranking as JSON."""
    if name == "none":
        same = os.urandom(RANKING_BYTES // 2).hex().encode()
        return lambda _: same
    import vowpalwabbit

    from tests.bench.peers.programs.vowpal_wabbit import arguments_for, new_lines

    workspace = vowpalwabbit.Workspace(arguments_for(name, len(topics), 0))
    line = new_lines(topics)

    def answer(raw: bytes) -> bytes:
        example = workspace.parse(line(raw).strip())
        workspace.learn(example)  # which predicts first
        ranking = [topics[i] for i in example.get_multilabel_predictions()]
        workspace.finish_example(example)
        return json.dumps({"id": parse(raw)["id"], "ranking": ranking}).encode()

    return answer


CLIENTS: dict[str, Callable[[str, str, str], AbstractContextManager[tuple[Messages, Send]]]] = {
    "kafka-python": kafka_python,
    "confluent-kafka": confluent,
}


def main() -> None:
    task = read_task()
    options = task.options
    answer = new_model(options["model"], task.topics)
    done, total, clock = 0, task.documents, Clock()
    client = CLIENTS[options["client"]]
    with client(options["bootstrap"], options["source"], options["target"]) as (messages, send):
        some = next(polled for polled in messages if polled)  # the client is connected by now
        clock.__enter__()
        while True:
            for key, value in some:
                send(key, answer(value))
            done += len(some)
            if done >= total or clock.running > task.limit:
                break
            some = next(messages)
    clock.__exit__(None, None, None)  # all is written, and the clients are closed
    finish(done, clock)


if __name__ == "__main__":
    main()
