"""Kafka topics of the soak: creates them, and deletes and creates them again."""

from __future__ import annotations

import time

from kafka.errors import KafkaError, TopicAlreadyExistsError, UnknownTopicOrPartitionError

from tests.soak.cluster import SoakCluster

LARGEST = {"max.message.bytes": str(8 << 20)}
# Broker times, which no worker's clock moves.
BY_BROKER = {"message.timestamp.type": "LogAppendTime"}
PATIENCE_S = 60.0


def create_topic(cluster: SoakCluster, name: str, partitions: int, configs: dict[str, str]) -> None:
    """Create a topic, and wait until the brokers know it; tries again while a broker is away."""
    settings = {"num_partitions": partitions, "replication_factor": 3, "configs": configs}
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            admin = cluster.admin()
            try:
                admin.create_topics({name: settings}, wait_for_metadata=True)
            finally:
                admin.close()
        except TopicAlreadyExistsError:
            return
        except (KafkaError, OSError):
            if time.monotonic() > until:
                raise
            time.sleep(0.5)
        else:
            return


def delete_topic(cluster: SoakCluster, name: str) -> None:
    """Delete a topic, and wait until no broker names it."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        try:
            admin = cluster.admin()
            try:
                if name not in admin.list_topics():
                    return
                admin.delete_topics([name])
            finally:
                admin.close()
        except UnknownTopicOrPartitionError:
            pass
        except (KafkaError, OSError):
            time.sleep(0.5)
        time.sleep(0.2)
    raise RuntimeError(f"{name} could not be deleted in {PATIENCE_S:.0f} s")
