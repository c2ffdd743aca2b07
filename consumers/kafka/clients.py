"""Makes the clients of kafka-python: consumers, producers and the administration client.

Defaults of kafka-python that lose data or time are changed here: no automatic commits, no automatic
reset of offsets, and a broker that comes back is found again within a second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import KafkaAdminClient, MemberToRemove
from kafka.errors import GroupIdNotFoundError
from kafka.net.compat import KafkaNetClient
from kafka.partitioner.default import murmur2

from consumers.kafka.assignor import OwnedPartitionsAssignor
from consumers.kafka.batch_decoder import decode_in_batches
from consumers.kafka.batch_encoder import BatchProducer
from consumers.kafka.client_types import (
    Admin,
    Consumer,
    GroupConsumer,
    Producer,
    TransactionalProducer,
)
from consumers.kafka.errors import KafkaTimeoutError
from consumers.kafka.security import find_refusal, security_options
from consumers.kafka.workarounds import (
    finish_joins,
    keep_transactional_requests,
    pace_coordinator_lookups,
)
from consumers.settings import KafkaSettings

MAX_RECORD_BYTES = 8 << 20  # of a block; an event is smaller
# One part of a score exchange: half of what a broker accepts by default, because the topic may have
# been created by another program.
PART_BYTES = 512 << 10
# How old a client's knowledge of a topic may be: added partitions are read after about this time.
# kafka-python asks every five minutes by default.
METADATA_MS = 3_000
# Metrics of kafka-python itself, which nobody reads, take a tenth of its time.
NO_CLIENT_METRICS = {"metrics_enabled": False}


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long requests may take, in milliseconds; each is well below the next."""

    request_ms: int = 10_000
    delivery_ms: int = 20_000
    transaction_ms: int = 40_000


def connection_options(settings: KafkaSettings) -> dict[str, Any]:
    """The options that every client needs to reach the broker."""
    return {
        "bootstrap_servers": settings.bootstrap,
        "reconnect_backoff_max_ms": 1000,
        "bootstrap_timeout_ms": 5000,
        "metadata_max_age_ms": METADATA_MS,
        **security_options(settings),
    }


def connect(kind: Callable[..., Any], settings: KafkaSettings, options: dict[str, Any]) -> Any:  # noqa: ANN401
    """A client of kafka-python that has reached the broker; raises `RefusedError` if refused.

    If a client cannot be made, kafka-python leaves its thread and sockets open. They are closed
    here, because a worker that retries for long would run out of them.
    """
    networks: list[KafkaNetClient] = []

    def new_network(**given: Any) -> KafkaNetClient:  # noqa: ANN401
        networks.append(KafkaNetClient(**given))
        return networks[-1]

    try:
        return kind(**{**connection_options(settings), **options}, kafka_client=new_network)
    except BaseException as error:
        for network in networks:
            network.close()
        if not isinstance(error, KafkaTimeoutError):
            raise
    refused = find_refusal(settings)
    if refused is not None:
        raise refused
    how = f"security_protocol = {settings.security_protocol}"
    raise KafkaTimeoutError(f"no broker answers at {settings.bootstrap} ({how})")


def new_consumer(
    settings: KafkaSettings,
    undecodable_batches: bool = False,
    **options: Any,  # noqa: ANN401
) -> Consumer:
    """A consumer that neither commits nor resets offsets by itself, and reads committed records.

    With `undecodable_batches`, a batch that cannot be decoded is a record; otherwise an error.
    """
    defaults = {
        "enable_auto_commit": False,
        "allow_auto_create_topics": False,
        "auto_offset_reset": "none",
        "isolation_level": "read_committed",
        "max_partition_fetch_bytes": MAX_RECORD_BYTES,
        "fetch_max_bytes": 64 << 20,
        **NO_CLIENT_METRICS,
    }
    consumer: Consumer = connect(KafkaConsumer, settings, {**defaults, **options})
    decode_in_batches(consumer, undecodable_batches)
    return consumer


def new_group_consumer(
    settings: KafkaSettings, group: str, instance: str, max_records: int
) -> GroupConsumer:
    """A member of a consumer group with cooperative rebalancing.

    It is not a static member. With kafka-python 3.0.12, a group whose static members were killed
    and restarted several times within seconds ended with no member reading, and stayed so. A
    dynamic member that dies is noticed after the session timeout, and its partitions go to the
    others. One that is restarted before that removes its former self from the group.
    """
    remove_former_member(settings, group, instance)
    assignor = OwnedPartitionsAssignor()
    consumer: GroupConsumer = new_consumer(  # type: ignore[assignment]
        settings,
        undecodable_batches=True,
        group_id=group,
        client_id=instance,
        partition_assignment_strategy=[assignor],
        session_timeout_ms=6_000,
        # A rebalance lasts until all members have heard of it, which is at their heartbeats.
        heartbeat_interval_ms=500,
        # Also how long a rebalance waits for a member that died during it.
        max_poll_interval_ms=10_000,
        max_poll_records=max_records,
    )
    assignor.owned_partitions = consumer.assignment
    finish_joins(consumer)
    pace_coordinator_lookups(consumer)
    return consumer


def remove_former_member(settings: KafkaSettings, group: str, instance: str) -> None:
    """Remove the member that this instance was before a crash; the group would wait for it."""
    admin = new_admin(settings)
    try:
        members = admin.describe_groups([group])[group]["members"]
        former = [m["member_id"] for m in members if m["client_id"] == instance]
        if former:
            admin.remove_group_members(group, [MemberToRemove(member_id=m) for m in former])
    except GroupIdNotFoundError:
        pass  # the group has never had a member
    finally:
        admin.close()


def group_client_ids(settings: KafkaSettings, group: str) -> list[str]:
    """The client ids of the members of a group; one that died stays there for its session."""
    admin = new_admin(settings)
    try:
        return [member["client_id"] for member in admin.describe_groups([group])[group]["members"]]
    except GroupIdNotFoundError:
        return []  # the group has never had a member
    finally:
        admin.close()


def new_producer(
    settings: KafkaSettings,
    kind: type[KafkaProducer] = KafkaProducer,
    **options: Any,  # noqa: ANN401
) -> Producer:
    """A producer that waits for all replicas, writes no record twice, and sends large batches."""
    timeouts = Timeouts()
    defaults = {
        "acks": "all",
        "allow_auto_create_topics": False,
        "enable_idempotence": True,
        "compression_type": "lz4",
        "batch_size": 256 << 10,
        "linger_ms": 5,
        "max_request_size": MAX_RECORD_BYTES,
        "max_block_ms": timeouts.request_ms,
        "request_timeout_ms": timeouts.request_ms,
        "delivery_timeout_ms": timeouts.delivery_ms,
        **NO_CLIENT_METRICS,
    }
    producer: Producer = connect(kind, settings, {**defaults, **options})
    return producer


def new_transactional_producer(
    settings: KafkaSettings, transactional_id: str, timeouts: Timeouts | None = None
) -> TransactionalProducer:
    """A producer with transactions, which are not to be trusted: see `learner.transactions`."""
    timeouts = timeouts or Timeouts()
    producer: TransactionalProducer = new_producer(  # type: ignore[assignment]
        settings,
        BatchProducer,
        transactional_id=transactional_id,
        # Nearly every transaction has requests that must be retried: the coordinator is still busy
        # with the previous transaction, or the next group has another coordinator.
        retry_backoff_ms=20,
        request_timeout_ms=timeouts.request_ms,
        delivery_timeout_ms=timeouts.delivery_ms,
        transaction_timeout_ms=timeouts.transaction_ms,
    )
    keep_transactional_requests(producer)
    return producer


def new_admin(settings: KafkaSettings, **options: Any) -> Admin:  # noqa: ANN401
    """A client that lists and creates topics, and lists the offsets of groups."""
    admin: Admin = connect(KafkaAdminClient, settings, options)
    return admin


def partition_of(key: bytes, partitions: int) -> int:
    """The partition that a key belongs to, as in every client of Kafka."""
    number: int = murmur2(key)
    return (number & 0x7FFFFFFF) % partitions
