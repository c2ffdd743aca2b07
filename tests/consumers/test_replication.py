"""Three brokers that replicate, killed one at a time: nothing lost, nothing doubled.

A document waits while the cluster notices the death and elects new leaders. How long is measured
by the soak (docs/measurements/soak.md); here it only has to end.
"""

from __future__ import annotations

import random
import time
from pathlib import Path

from kafka.errors import KafkaError

from consumers.kafka.client_types import Admin
from consumers.kafka.clients import new_admin
from consumers.kafka.topics import topic_plans, topic_settings
from deploy.kafka import Cluster
from pipeline.corpora import open_source
from tests.support.consumer_groups import Flow
from tests.support.kafka_fixture import need_kafka
from tests.support.kafka_stream import Streaming, assert_exact, eventually

LANES = ("mmp:loss=1", "perceptron:average=true,norm=l2")
WORKERS = ("tokenize-0", "tokenize-1", "learn")
KILLS = 8
MIN_INSYNC = "min.insync.replicas"


def test_brokers_die_one_at_a_time(tmp_path: Path) -> None:
    """Each broker is back before the next is killed; with every third, a worker is killed."""
    need_kafka()
    rng = random.Random(3)
    with (
        Cluster(tmp_path / "kafka", nodes=3) as cluster,
        Streaming(
            cluster.bootstrap, tmp_path, LANES, 3, kafka="replication_factor = 3"
        ) as streaming,
    ):
        for name in WORKERS:
            streaming.start(name)
        admin = new_admin(streaming.config.kafka)
        assert {topic_setting(admin, t, MIN_INSYNC) for t in created(streaming)} == {"2"}
        assert eventually(lambda: "of the log" in streaming.log("learn"), 120)
        with Flow(streaming, open_source("synthetic:50000,topics=12"), 0.015) as flow:
            for number in range(KILLS):
                assert eventually(lambda: all_in_sync(admin), 90)
                time.sleep(rng.uniform(0.0, 1.5))
                victim = rng.choice(cluster.brokers)
                victim.kill()
                if number % 3 == 2:
                    worker = WORKERS[number // 3]
                    streaming.kill(worker)
                    streaming.start(worker)
                time.sleep(rng.uniform(0.0, 1.0))
                victim.start()
        streaming.wait_learned()
        published = streaming.rankings(len(LANES) * len(flow.written))
        for name in WORKERS:
            assert streaming.end(name) == 0, streaming.log(name)[-3000:]
        assert eventually(lambda: all_in_sync(admin), 90)
        admin.close()
        assert_exact(streaming, published, flow.written)


def test_one_replica_must_be_in_sync_if_there_is_one(broker: str, tmp_path: Path) -> None:
    with Streaming(broker, tmp_path, LANES, shards={LANES[0]: 2}) as streaming:
        admin = new_admin(streaming.config.kafka)
        assert {topic_setting(admin, t, MIN_INSYNC) for t in created(streaming)} == {"1"}
        admin.close()


def created(streaming: Streaming) -> list[str]:
    """The topics that are created for a stream."""
    return [plan.name for plan in topic_plans(streaming.stream)]


def topic_setting(admin: Admin, topic: str, name: str) -> str:
    """A setting of a topic that was given when it was created, and not by the broker's defaults."""
    setting = (topic_settings(admin, topic) or {})[name]
    assert setting["config_source"] == "DYNAMIC_TOPIC_CONFIG"
    return str(setting["value"])


def all_in_sync(admin: Admin) -> bool:
    """Whether each partition of each topic, also of internal ones, has three replicas in sync."""
    try:
        topics = admin.describe_topics()
    except KafkaError:
        return False  # asked a broker that is away
    return all(len(place["isr_nodes"]) == 3 for topic in topics for place in topic["partitions"])
