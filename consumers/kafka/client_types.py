"""Types for the part of kafka-python that is used; kafka-python itself has no types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from kafka import TopicPartition

from pipeline.storage.binary_array import BinaryArray

__all__ = [
    "Admin",
    "Consumer",
    "GroupConsumer",
    "Header",
    "Message",
    "Producer",
    "SendFuture",
    "TopicPartition",
    "TransactionalProducer",
]

Header = tuple[str, bytes]


class Message(Protocol):
    """A record that a consumer read."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header]
    damage: str  # why a batch of records could not be decoded; usually empty


class SendFuture(Protocol):
    """A record, or a batch of records, on its way to the broker."""

    is_done: bool
    exception: Exception | None

    def succeeded(self) -> bool:
        """Whether the broker has acknowledged it."""

    def get(self, timeout: float | None = None) -> Any:  # noqa: ANN401
        """Wait for the acknowledgement; raises the error if sending failed."""


class Consumer(Protocol):
    """The methods of kafka-python's consumer that are used."""

    def assign(self, partitions: Sequence[TopicPartition]) -> None: ...
    def seek(self, partition: TopicPartition, offset: int) -> None: ...
    def poll(
        self, timeout_ms: int = 0, max_records: int | None = None
    ) -> dict[Any, list[Message]]: ...
    def position(self, partition: TopicPartition, timeout_ms: int | None = None) -> int: ...
    def highwater(self, partition: TopicPartition) -> int | None: ...
    def committed(
        self, partition: TopicPartition, metadata: bool = False, timeout_ms: int | None = None
    ) -> Any: ...  # noqa: ANN401
    def beginning_offsets(self, partitions: Sequence[TopicPartition]) -> dict[Any, int]: ...
    def end_offsets(self, partitions: Sequence[TopicPartition]) -> dict[Any, int]: ...
    def close(self, autocommit: bool = True, timeout_ms: int | None = None) -> None: ...


class GroupConsumer(Consumer, Protocol):
    """A consumer that shares the partitions of its topics with the other members of a group."""

    def subscribe(self, topics: Sequence[str] = (), pattern: str | None = None) -> None: ...
    def offsets_for_times(
        self, timestamps: dict[Any, int], timeout_ms: int | None = None
    ) -> dict[Any, Any]: ...
    def assignment(self) -> set[Any]: ...
    def subscription(self) -> set[str] | None: ...
    def partitions_for_topic(self, topic: str) -> set[int] | None: ...
    def pause(self, *partitions: Any) -> None: ...  # noqa: ANN401
    def resume(self, *partitions: Any) -> None: ...  # noqa: ANN401
    def seek_to_beginning(self, *partitions: Any) -> None: ...  # noqa: ANN401
    def commit(self, offsets: Any, timeout_ms: int | None = None) -> None: ...  # noqa: ANN401
    def group_metadata(self) -> Any: ...  # noqa: ANN401


class Producer(Protocol):
    """The methods of kafka-python's producer that are used."""

    def send(
        self,
        topic: str,
        value: bytes | None = None,
        key: bytes | None = None,
        headers: Sequence[Header] | None = None,
        partition: int | None = None,
    ) -> SendFuture: ...
    def partitions_for(self, topic: str) -> set[int]: ...
    def flush(self, timeout: float | None = None) -> None: ...
    def close(self, timeout: float | None = None) -> None: ...


class TransactionalProducer(Producer, Protocol):
    """A producer that has a transactional id and can send many records in one call."""

    def send_many(
        self, topic: str, keys: BinaryArray, values: BinaryArray, headers: BinaryArray | None = None
    ) -> list[SendFuture]: ...
    def init_transactions(self) -> None: ...
    def begin_transaction(self) -> None: ...
    def send_offsets_to_transaction(self, offsets: Any, group_metadata: str) -> None: ...  # noqa: ANN401
    def commit_transaction(self) -> None: ...


class Admin(Protocol):
    """The methods of kafka-python's administration client that are used."""

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
