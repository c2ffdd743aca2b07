"""How far the workers have come, by the offsets that they have committed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from tests.soak.cluster import SoakCluster

LOOK_S = 0.5


class Progress:
    """Waits until what is written now has been tokenized, ranked and published."""

    def __init__(self, cluster: SoakCluster, stream: str) -> None:
        self._cluster = cluster
        self._stream = stream

    def caught_up(
        self,
        lanes: Sequence[str],
        patience_s: float,
        turn: Callable[[], None] = lambda: None,
        learners: str = "",
        tell: Callable[[str], None] = lambda _: None,
    ) -> str:
        """Wait for all of `lanes`; returns what is still missing, empty if nothing is.

        `turn` is called again and again while this waits. `learners` is the stream of the learners
        if it has another name, but the same log.
        """
        learning = learners or self._stream
        until = time.monotonic() + patience_s
        missing = "no broker answers"
        for topic, groups in (
            (f"{self._stream}.documents", [f"wirerank.{self._stream}.tokenize"]),
            (f"{self._stream}.blocks", [f"wirerank.{learning}.learn.{lane}" for lane in lanes]),
        ):
            ends: dict[TopicPartition, int] | None = None
            while True:
                turn()
                with suppress(KafkaError, OSError):
                    ends = (self.ends(topic) or None) if ends is None else ends
                    missing = self._missing(groups, ends) if ends else f"{topic} is empty"
                if ends is not None and not missing:
                    break
                if time.monotonic() > until:
                    return missing
                tell(missing)
                time.sleep(LOOK_S)
        return ""

    def ends(self, topic: str) -> dict[TopicPartition, int]:
        """The end of each partition."""
        consumer = KafkaConsumer(
            bootstrap_servers=self._cluster.direct.split(","),
            request_timeout_ms=10_000,
            bootstrap_timeout_ms=5_000,
        )
        try:
            places = [TopicPartition(topic, n) for n in consumer.partitions_for_topic(topic) or ()]
            if not places:
                raise KafkaError(f"{topic} has no partitions yet")
            return {place: end for place, end in consumer.end_offsets(places).items() if end}
        finally:
            consumer.close(autocommit=False)

    def _missing(self, groups: Sequence[str], ends: dict[TopicPartition, int]) -> str:
        admin = self._cluster.admin()
        try:
            offsets = admin.list_group_offsets(list(groups))
        finally:
            admin.close()
        for group in groups:
            for place, end in ends.items():
                known = offsets[group].get(place)
                at = known.offset if known else 0
                if at < end:
                    return f"{group} is at {at} of {end} in {place.topic}-{place.partition}"
        return ""
