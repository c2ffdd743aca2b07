"""kafka-python, made by one hand: the settings it needs, and the types it lacks.

Nothing else in Wirerank imports it. Defaults that lose data or time are changed here: no automatic
commits, no automatic reset of offsets, and a broker that comes back is found again within a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, MemberToRemove
from kafka.errors import GroupIdNotFoundError, KafkaError, KafkaTimeoutError
from kafka.net.compat import KafkaNetClient
from kafka.partitioner.default import murmur2
from kafka.structs import OffsetAndMetadata

from consumers.config import KafkaSettings
from consumers.kafka.assignor import HonestAssignor
from consumers.kafka.batch_decoder import make_swift
from consumers.kafka.batch_encoder import PackedProducer
from consumers.kafka.security import RefusedError, refusal, security
from pipeline.storage.binary_array import BinaryArray

Header = tuple[str, bytes]

MAX_RECORD_BYTES = 8 << 20  # of a block; an event is smaller
# One part of a score exchange: half of what a broker accepts by default, because the topic may have
# been created by another program.
PART_BYTES = 512 << 10
RETRY_SECONDS = 0.1


class BrokerAwayError(Exception):
    """The broker did not answer before the worker had to leave; nothing is lost by that."""


class Message(Protocol):
    """A record that a consumer read."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header]


class Sent(Protocol):
    """A record on its way to the broker."""

    is_done: bool
    exception: Exception | None

    def succeeded(self) -> bool:
        """Whether the broker has it."""

    def get(self, timeout: float | None = None) -> Any:  # noqa: ANN401
        """Wait for it; raises what went wrong."""


class Consumer(Protocol):
    """What is used of kafka-python's consumer."""

    def assign(self, partitions: Sequence[TopicPartition]) -> None: ...
    def seek(self, partition: TopicPartition, offset: int) -> None: ...
    def poll(
        self, timeout_ms: int = 0, max_records: int | None = None
    ) -> dict[Any, list[Message]]: ...
    def position(self, partition: TopicPartition, timeout_ms: int | None = None) -> int: ...
    def highwater(self, partition: TopicPartition) -> int | None: ...
    def committed(self, partition: TopicPartition, timeout_ms: int | None = None) -> int | None: ...
    def beginning_offsets(self, partitions: Sequence[TopicPartition]) -> dict[Any, int]: ...
    def end_offsets(self, partitions: Sequence[TopicPartition]) -> dict[Any, int]: ...
    def close(self, autocommit: bool = True, timeout_ms: int | None = None) -> None: ...


class GroupConsumer(Consumer, Protocol):
    """A consumer that shares its topics with the other members of a group."""

    def subscribe(self, topics: Sequence[str]) -> None: ...
    def assignment(self) -> set[Any]: ...
    def partitions_for_topic(self, topic: str) -> set[int] | None: ...
    def seek_to_beginning(self, *partitions: Any) -> None: ...  # noqa: ANN401
    def commit(self, offsets: Any, timeout_ms: int | None = None) -> None: ...  # noqa: ANN401
    def group_metadata(self) -> Any: ...  # noqa: ANN401


class Producer(Protocol):
    """What is used of kafka-python's producer."""

    def send(
        self,
        topic: str,
        value: bytes | None = None,
        key: bytes | None = None,
        headers: Sequence[Header] | None = None,
        partition: int | None = None,
    ) -> Sent: ...
    def partitions_for(self, topic: str) -> set[int]: ...
    def flush(self, timeout: float | None = None) -> None: ...
    def close(self, timeout: float | None = None) -> None: ...


class TransactionalProducer(Producer, Protocol):
    """A producer that has a transactional id, and takes many records at once."""

    def send_packed(self, topic: str, keys: BinaryArray, values: BinaryArray) -> list[Sent]: ...
    def init_transactions(self) -> None: ...
    def begin_transaction(self) -> None: ...
    def send_offsets_to_transaction(self, offsets: Any, group_metadata: str) -> None: ...  # noqa: ANN401
    def commit_transaction(self) -> None: ...


class Admin(Protocol):
    """What is used of kafka-python's client for administration."""

    def describe_topics(self, topics: Sequence[str] | None = None) -> list[dict[str, Any]]: ...
    def create_topics(self, new_topics: Sequence[Any]) -> Any: ...  # noqa: ANN401
    def wait_for_topics(self, topic_names: Sequence[str]) -> None: ...
    def describe_configs(
        self, config_resources: Sequence[Any], *, config_filter: str
    ) -> dict[str, Any]: ...
    def describe_groups(self, group_ids: Sequence[str]) -> dict[str, dict[str, Any]]: ...
    def remove_group_members(self, group_id: str, members: Iterable[Any]) -> dict[Any, Any]: ...
    def list_groups(self) -> list[dict[str, Any]]: ...
    def list_group_offsets(self, group_specs: Sequence[str]) -> dict[str, dict[Any, Any]]: ...
    def list_partition_offsets(self, topic_partition_specs: Mapping[Any, Any]) -> Any: ...  # noqa: ANN401
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Limits:
    """How long things may take, in milliseconds; each lies well inside the next."""

    request_ms: int = 10_000
    delivery_ms: int = 20_000
    transaction_ms: int = 40_000


def connection(settings: KafkaSettings) -> dict[str, Any]:
    """What every client needs to reach the broker."""
    return {
        "bootstrap_servers": settings.bootstrap,
        "reconnect_backoff_max_ms": 1000,
        "bootstrap_timeout_ms": 5000,
        **security(settings),
    }


def connected(kind: Callable[..., Any], settings: KafkaSettings, options: dict[str, Any]) -> Any:  # noqa: ANN401
    """A client of kafka-python that has reached the broker; raises `RefusedError` if it may not.

    kafka-python leaves the thread and the sockets of a client behind that could not be made, so
    that one that is tried again for long would run out of them.
    """
    networks: list[KafkaNetClient] = []

    def new_network(**given: Any) -> KafkaNetClient:  # noqa: ANN401
        networks.append(KafkaNetClient(**given))
        return networks[-1]

    try:
        return kind(**{**connection(settings), **options}, kafka_client=new_network)
    except BaseException as error:
        for network in networks:
            network.close()
        if not isinstance(error, KafkaTimeoutError):
            raise
    refused = refusal(settings)
    if refused is not None:
        raise refused
    how = f"security_protocol = {settings.security_protocol}"
    raise KafkaTimeoutError(f"no broker answers at {settings.bootstrap} ({how})")


def new_consumer(settings: KafkaSettings, **options: Any) -> Consumer:  # noqa: ANN401
    """A consumer that commits and resets nothing by itself, and reads only what is committed."""
    defaults = {
        "enable_auto_commit": False,
        "allow_auto_create_topics": False,
        "auto_offset_reset": "none",
        "isolation_level": "read_committed",
        "max_partition_fetch_bytes": MAX_RECORD_BYTES,
        "fetch_max_bytes": 64 << 20,
    }
    consumer: Consumer = connected(KafkaConsumer, settings, {**defaults, **options})
    return consumer


def new_group_consumer(
    settings: KafkaSettings, group: str, instance: str, max_records: int
) -> GroupConsumer:
    """A member of a group that shares a topic cooperatively: only what changes hands stands still.

    Not a static member: with kafka-python 3.0.12 a group whose static members were killed and came
    back several times in a few seconds ended with nobody reading, and stayed so. A dynamic member
    that dies is missed after the session timeout, and its share goes to the others; one that comes
    back before that puts its former self out of the group.
    """
    dismiss(settings, group, instance)
    assignor = HonestAssignor()
    consumer: GroupConsumer = new_consumer(  # type: ignore[assignment]
        settings,
        group_id=group,
        client_id=instance,
        partition_assignment_strategy=[assignor],
        session_timeout_ms=6_000,
        # A change of hands lasts until all members have heard of it, which is at their heartbeats.
        heartbeat_interval_ms=500,
        # Also how long a rebalance waits for a member that died in the middle of it.
        max_poll_interval_ms=10_000,
        max_poll_records=max_records,
    )
    assignor.owned = consumer.assignment
    make_swift(consumer)
    finish_joins(consumer)
    pace_lookups(consumer)
    return consumer


def finish_joins(consumer: GroupConsumer) -> None:
    """Have every join that was begun be brought to its end.

    A poll that is short, or a broker that is slow, leaves a join on its way, and the next poll is
    to take it up. kafka-python asks once more whether to join, then. If a change of the topic was
    the reason, the leader has taken that into account by now, and the answer is no: the member
    waits for ever, for a group that the broker has long put it out of.
    """
    coordinator = consumer._coordinator  # type: ignore[attr-defined]
    need_rejoin = coordinator.need_rejoin
    coordinator.need_rejoin = lambda: coordinator.rejoining or need_rejoin()


def pace_lookups(consumer: GroupConsumer) -> None:
    """Rest a moment when the group's coordinator cannot be reached, before asking for it again.

    Until a cluster has noticed that one of its brokers is dead, the others go on to name it, and
    kafka-python asks them hundreds of times a second.
    """
    coordinator = consumer._coordinator  # type: ignore[attr-defined]
    ask, client = coordinator._send_group_coordinator_request, coordinator._client

    async def ask_and_rest() -> Any:  # noqa: ANN401 - kafka-python has no types
        node = await ask()
        if client.is_disconnected(node) and client.connection_delay(node) > 0:
            await coordinator._net.sleep(RETRY_SECONDS)
        return node

    coordinator._send_group_coordinator_request = ask_and_rest


def dismiss(settings: KafkaSettings, group: str, instance: str) -> None:
    """Put the former self of a member out of its group, which would wait for it otherwise."""
    admin = new_admin(settings)
    try:
        members = admin.describe_groups([group])[group]["members"]
        mine = [m["member_id"] for m in members if m["client_id"] == instance]
        if mine:
            admin.remove_group_members(group, [MemberToRemove(member_id=m) for m in mine])
    except GroupIdNotFoundError:
        pass  # nobody was ever in it
    finally:
        admin.close()


def new_producer(
    settings: KafkaSettings,
    kind: type[KafkaProducer] = KafkaProducer,
    **options: Any,  # noqa: ANN401
) -> Producer:
    """A producer that waits for all replicas, writes no record twice, and sends large batches."""
    limits = Limits()
    defaults = {
        "acks": "all",
        "allow_auto_create_topics": False,
        "enable_idempotence": True,
        "compression_type": "lz4",
        "batch_size": 256 << 10,
        "linger_ms": 5,
        "max_request_size": MAX_RECORD_BYTES,
        "max_block_ms": limits.request_ms,
        "request_timeout_ms": limits.request_ms,
        "delivery_timeout_ms": limits.delivery_ms,
    }
    producer: Producer = connected(kind, settings, {**defaults, **options})
    return producer


def new_transactional_producer(
    settings: KafkaSettings, transactional_id: str, limits: Limits | None = None
) -> TransactionalProducer:
    """A producer for `consumers.learner.transactions`, which is the only one to use it."""
    limits = limits or Limits()
    producer: TransactionalProducer = new_producer(  # type: ignore[assignment]
        settings,
        PackedProducer,
        transactional_id=transactional_id,
        # Nearly every transaction has requests that are tried again: the coordinator is still busy
        # with the one before, or is not that of the group before.
        retry_backoff_ms=20,
        request_timeout_ms=limits.request_ms,
        delivery_timeout_ms=limits.delivery_ms,
        transaction_timeout_ms=limits.transaction_ms,
    )
    keep_requests(producer)
    return producer


def keep_requests(producer: TransactionalProducer) -> None:
    """Have a transactional request tried again whose coordinator cannot be reached.

    kafka-python expects its client to say so by returning False. The client raises instead, the
    request is forgotten, and whoever waits for its outcome waits for ever.
    """
    client = producer._sender._client  # type: ignore[attr-defined]
    await_ready = client.await_ready

    def is_ready(node: int, timeout_ms: int) -> bool:
        try:
            return bool(await_ready(node, timeout_ms=timeout_ms))
        except KafkaError:
            time.sleep(RETRY_SECONDS)
            return False

    client.await_ready = is_ready


def abandon(producer: Producer) -> None:
    """Close a producer without sending what it still holds.

    `close(timeout=0)` would wait for that first, raise, leave the thread that sends running, and
    raise once more when the interpreter ends.
    """
    producer._sender.force_close()  # type: ignore[attr-defined]
    producer.close(timeout=5)


def new_admin(settings: KafkaSettings, **options: Any) -> Admin:  # noqa: ANN401
    """A client to ask for and make topics, and to ask how far groups have come."""
    admin: Admin = connected(KafkaAdminClient, settings, options)
    return admin


def partition_of(key: bytes, partitions: int) -> int:
    """The partition that a key belongs to, as every client of Kafka has it."""
    number: int = murmur2(key)
    return (number & 0x7FFFFFFF) % partitions


def in_words(error: Exception) -> str:
    """An error with its name, once; kafka-python puts it into some of its texts."""
    name, text = type(error).__name__, str(error)
    named = text.startswith(name) or isinstance(error, RefusedError)
    return text if named else f"{name}: {text}"


def committable(offsets: Mapping[Any, int]) -> dict[Any, Any]:
    """Offsets by partition in the form that kafka-python commits."""
    return {where: OffsetAndMetadata(offset, "", -1) for where, offset in offsets.items()}


def committed_offsets(
    settings: KafkaSettings, groups: Iterable[str], where: TopicPartition
) -> dict[str, int | None]:
    """How far these groups have come in a partition, once no transaction is under way there."""
    found: dict[str, int | None] = {}
    for group in groups:
        consumer = new_consumer(settings, group_id=group)
        try:
            found[group] = consumer.committed(where, timeout_ms=Limits().request_ms)
        finally:
            consumer.close(autocommit=False, timeout_ms=1000)
    return found
