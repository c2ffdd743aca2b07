"""Compares the clock of this machine with the broker's, and says if it is off.

Times that workers must agree on are the broker's: the topics that workers write are created with
`message.timestamp.type=LogAppendTime`, so the broker sets the time of every record. Only metrics go
by the clock of this machine. But a clock that is off shows wrong lags. And in topics that others
created, the broker may refuse records whose time is more than an hour ahead.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime

from consumers.kafka.client_types import SendFuture
from consumers.kafka.errors import KafkaError
from consumers.kafka.topics import TopicError

log = logging.getLogger(__name__)

# Requests take less, and nobody reads lags to the second.
TOLERATED_SECONDS = 10.0


class ClockCheck:
    """Learns from acknowledged records how far the clock of this machine is off."""

    def __init__(self, report: Callable[[float], None] = lambda seconds: None) -> None:
        self._report = report  # called with the seconds that the clock is ahead of the broker's
        self._warned = False

    def acknowledged(self, sent: float, future: SendFuture) -> None:
        """Take note of a record that was sent at `sent` and has been acknowledged.

        The broker wrote it between then and now. If the broker says another time, the difference is
        at least that of the clocks. Where the time of the record is the sender's, nothing follows.
        """
        at = future.get(0).timestamp
        if at is None:
            return
        written, now = at / 1000, time.time()
        ahead = sent - written if written < sent else min(0.0, now - written)
        self._report(ahead)
        if abs(ahead) <= TOLERATED_SECONDS:
            self._warned = False
        elif not self._warned:
            self._warned = True
            log.warning(
                "the clock of this machine is %.0f s %s the broker's. Rankings are not affected, "
                "but lags and other times in metrics are wrong by that much: set the clock",
                abs(ahead), "ahead of" if ahead > 0 else "behind",
            )  # fmt: skip


def clock_refusal(error: KafkaError) -> TopicError:
    """What to tell an operator if the broker refuses records because of their time."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return TopicError(
        f"the broker refuses records because of their time ({error}). The clock of this machine "
        f"says {now}: set it if that is wrong. The Kafka topics of the log, of rankings, dead "
        "letters and scores should have message.timestamp.type=LogAppendTime, so that the clocks "
        "of workers do not matter; those that Wirerank creates have it."
    )
