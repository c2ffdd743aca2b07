"""The load: writes events at a steady rate and keeps a ledger of what the brokers acknowledged.

`python -m tests.soak.load` reads commands from standard input, one per line: `partitions N`,
`pause` (answered by a line when everything is acknowledged), `generation N` (the topic was created
again: go on), `stop`. It ends with its input.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
import threading
import time
from pathlib import Path
from typing import Any

from kafka import KafkaProducer
from kafka.errors import KafkaError

from tests.soak.events import GARBAGE, Written, draw_events
from tests.soak.journal import Journal

MOST_UNANSWERED = 1_000
LAST_ANSWERS_S = 120.0


class Load:
    """Writes events to a topic."""

    def __init__(self, bootstrap: str, topic: str, partitions: int, ledger: Path) -> None:
        self._bootstrap = bootstrap
        self._topic = topic
        self.partitions = partitions
        self.generation = 0
        self._ledger = Journal(ledger)
        self._unanswered = threading.Semaphore(MOST_UNANSWERED)
        self._producer = self._new_producer()
        self.pausing, self.resumed = threading.Event(), threading.Event()
        self.stopping = threading.Event()

    def _new_producer(self) -> Any:  # noqa: ANN401 - kafka-python has no types
        return KafkaProducer(
            bootstrap_servers=self._bootstrap.split(","),
            enable_idempotence=True,
            acks="all",
            linger_ms=5,
            compression_type="lz4",
            max_request_size=16 << 20,
            delivery_timeout_ms=120_000,
            request_timeout_ms=10_000,
            max_block_ms=60_000,
            metadata_max_age_ms=2_000,
            reconnect_backoff_max_ms=500,
            bootstrap_timeout_ms=30_000,
        )

    def run(self, seed: int, rate: float) -> None:
        """Write until asked to stop, then wait for the answers."""
        rng = random.Random(f"partitions of {seed}")
        due = time.monotonic()
        for number, event in enumerate(draw_events(seed)):
            due = max(due + 1 / rate, time.monotonic() - 1.0)  # after an outage, no burst
            if self.stopping.wait(max(0.0, due - time.monotonic())):
                break
            if self.pausing.is_set():
                self._pause()
            self.write(number, event, rng.randrange(self.partitions))
        self._finish()
        self._ledger.close()

    def _pause(self) -> None:
        """Finish what was begun, and wait; a new topic needs a producer of its own."""
        self._finish()
        print("paused", flush=True)
        self.resumed.wait()
        self.pausing.clear()
        self.resumed.clear()
        self._producer = self._new_producer()

    def _finish(self) -> None:
        self._producer.flush(LAST_ANSWERS_S)
        self._producer.close(timeout=5)

    def write(self, number: int, event: Written, partition: int) -> None:
        """Write one event; the ledger gets a line when its fate is known."""
        self._unanswered.acquire()
        entry: dict[str, Any] = {
            "number": number, "kind": event.kind, "id": event.id, "partition": partition,
            "generation": self.generation, "at": time.time(), "bytes": len(event.value),
        }  # fmt: skip
        if event.kind == GARBAGE:
            entry["sha256"] = hashlib.sha256(event.value).hexdigest()
        try:
            if partition not in self._producer.partitions_for(self._topic):
                entry["partition"] = partition = 0  # this client does not know of it yet
            future = self._producer.send(self._topic, event.value, partition=partition)
        except KafkaError as error:
            self._failed(entry, error)
        else:
            future.add_callback(self._written, entry)
            future.add_errback(self._failed, entry)

    def _written(self, entry: dict[str, Any], metadata: Any) -> None:  # noqa: ANN401
        self._ledger.write({**entry, "offset": metadata.offset})
        self._unanswered.release()

    def _failed(self, entry: dict[str, Any], error: BaseException) -> None:
        """It may have been written all the same."""
        self._ledger.write({**entry, "offset": None, "error": repr(error)})
        self._unanswered.release()

    def obey(self) -> None:
        """Read commands until there are no more."""
        for line in sys.stdin:
            command, *rest = line.split()
            if command == "partitions":
                self.partitions = int(rest[0])
            elif command == "pause":
                self.pausing.set()
            elif command == "generation":
                self.generation = int(rest[0])
                self.resumed.set()
            elif command == "stop":
                break
        self.stopping.set()
        self.resumed.set()


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak.load", description=__doc__)
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--partitions", type=int, required=True)
    parser.add_argument("--ledger", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--rate", type=float, required=True, help="events per second")
    given = parser.parse_args()
    load = Load(given.bootstrap, given.topic, given.partitions, given.ledger)
    threading.Thread(target=load.obey, daemon=True).start()
    load.run(given.seed, given.rate)


if __name__ == "__main__":
    main()
