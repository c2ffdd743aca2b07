"""Faults of kafka-python 3.0.12 that a client is cured of right after it was made.

Each function replaces a method of one client object. See also `assignor`, which cures the
assignment of partitions.
"""

from __future__ import annotations

import time
from typing import Any

from consumers.kafka.client_types import GroupConsumer, Producer, TransactionalProducer
from consumers.kafka.errors import KafkaError

RETRY_SECONDS = 0.1


def finish_joins(consumer: GroupConsumer) -> None:
    """Finish every attempt to join the group that was begun.

    A short poll, or a slow broker, can leave a join unfinished; the next poll should continue it.
    kafka-python instead asks again whether to join. If the reason was a change of the topic, the
    group leader has dealt with that by now, so the answer is no. The member then waits for ever,
    in a group from which the broker has long removed it.
    """
    coordinator = consumer._coordinator  # type: ignore[attr-defined]
    need_rejoin = coordinator.need_rejoin
    coordinator.need_rejoin = lambda: coordinator.rejoining or need_rejoin()


def pace_coordinator_lookups(consumer: GroupConsumer) -> None:
    """Pause before asking again for a group coordinator that cannot be reached.

    Until a cluster has noticed that one of its brokers is dead, the others still name that broker
    as the coordinator, and kafka-python asks them hundreds of times per second.
    """
    coordinator = consumer._coordinator  # type: ignore[attr-defined]
    ask, client = coordinator._send_group_coordinator_request, coordinator._client

    async def ask_and_pause() -> Any:  # noqa: ANN401 - kafka-python has no types
        node = await ask()
        if client.is_disconnected(node) and client.connection_delay(node) > 0:
            await coordinator._net.sleep(RETRY_SECONDS)
        return node

    coordinator._send_group_coordinator_request = ask_and_pause


def keep_transactional_requests(producer: TransactionalProducer) -> None:
    """Retry a transactional request whose coordinator cannot be reached.

    kafka-python's sender expects `await_ready` to return False in that case. It raises instead,
    the request is forgotten, and whoever waits for its result waits for ever.
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


def discard_producer(producer: Producer) -> None:
    """Close a producer without sending the records that it still holds.

    `close(timeout=0)` would first wait for those records, then raise, leave the sending thread
    running, and raise once more when the interpreter ends.
    """
    producer._sender.force_close()  # type: ignore[attr-defined]
    producer.close(timeout=5)
