"""One shard of a lane: builds its learner, and connects it to the other shards.

All shards follow the whole log, and all compute the same rankings; shard 0 publishes them. They
take snapshots at the same offsets of the log, so that another number of shards can continue from
there.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, nullcontext

import orjson

from consumers.assignment import ShardAssignment
from consumers.kafka.client_types import Message
from consumers.kafka.log_reader import LogReader
from consumers.settings import Config
from consumers.sharding.score_exchange import KafkaExchange
from consumers.sharding.shared_blocks import SharedBlocks
from consumers.sharding.shared_place import SharedPlace
from consumers.stream_settings import StreamSettings
from learners.learner import Learner
from learners.sharding.exchange import APART, Sent
from learners.sharding.meeting_place import MeetingPlace
from learners.sharding.shard import Shard
from learners.specs import LaneSpec
from pipeline.follower import Follower

log = logging.getLogger(__name__)

PROTOCOL = 2  # what shards exchange: payloads of another version are ignored


class DeferredExchange:
    """An exchange that is opened only when the worker knows where it resumes."""

    def __init__(self, assignment: ShardAssignment) -> None:
        self.shard = assignment.shard
        self.shards = assignment.shards
        self.opened: KafkaExchange | None = None

    def swap(
        self, number: int, part: bytes, *, adopt: bool = False, mark: int = APART
    ) -> list[bytes]:
        """See `Exchange.swap`."""
        return self.connection.swap(number, part, adopt=adopt, mark=mark)

    def sent(self, number: int) -> Sent | None:
        """See `Exchange.sent`."""
        return self.connection.sent(number)

    def look(self, number: int, missing: Sequence[int], seconds: float) -> Sent | None:
        """See `Exchange.look`."""
        return self.connection.look(number, missing, seconds)

    @property
    def place(self) -> MeetingPlace | None:
        """See `Exchange.place`."""
        return self.connection.place

    @property
    def connection(self) -> KafkaExchange:
        """The open exchange."""
        if self.opened is None:
            raise ValueError("the exchange was not opened")
        return self.opened


class LaneShard:
    """The shard of a lane that a learner worker has."""

    def __init__(self, config: Config, stream: StreamSettings, assignment: ShardAssignment) -> None:
        self._config = config
        self._stream = stream
        self.assignment = assignment
        self._exchange = DeferredExchange(assignment)
        self._first_offset = 0  # the offset of the log at which exchanges are counted from 0
        self._settings: dict[str, object] = {}
        self._blocks: SharedBlocks | None = None
        self._place: SharedPlace | None = None

    def build(self, spec: LaneSpec) -> Learner:
        """The learner of this shard."""
        self._settings = dict(spec.settings)
        return spec.new_shard(self._exchange, self._stream.top)

    def open(
        self,
        follower: Follower,
        reader: LogReader,
        log_identity: str,
        stop: threading.Event,
        waiting: Callable[[float], None],
    ) -> None:
        """Connect to the other shards, from the position of the follower and its reader on.

        `waiting` is called now and then with the seconds that an exchange has taken so far.
        """
        beginning = {"begun": follower.began, "scores": None}
        kept = follower.snapshot_content.get("exchange", beginning)
        self._first_offset = kept["begun"]
        shards = self.assignment.shards
        facts = [PROTOCOL, self._settings, shards, log_identity, self._first_offset]
        epoch = hashlib.blake2b(orjson.dumps(facts), digest_size=8).hexdigest()
        self.close()
        self._blocks = SharedBlocks(reader, kept.get("block", 1))
        self._place = self._open_place(epoch)
        self._exchange.opened = KafkaExchange(
            self._config.kafka, self._stream.scores, self._stream.name, self.assignment.lane, epoch,
            self.assignment.shard, shards, kept["scores"], stop, waiting, self._blocks.backlog,
            self._place,
        )  # fmt: skip

    def _open_place(self, epoch: str) -> SharedPlace | None:
        """The memory where shards on this machine meet, if there can be one."""
        lane, shard, shards = self.assignment.lane, self.assignment.shard, self.assignment.shards
        settings = {one.parsed.name: one for one in self._stream.lanes}[lane]
        if not settings.shared_memory:
            return None
        facts = orjson.dumps([self._stream.name, lane, epoch])
        try:
            return SharedPlace(hashlib.blake2b(facts, digest_size=16).hexdigest(), shard, shards)
        except OSError as error:
            log.info(
                "lane %s: there is no memory that shards on this machine could share: %s", lane,
                error,
            )  # fmt: skip
            return None

    def next_blocks(
        self, timeout_ms: int, is_due_between: Callable[[int, int], bool]
    ) -> Iterator[list[Message]]:
        """Yield the records of the next block, if they are there; see `SharedBlocks`."""
        if self._blocks is None:
            raise ValueError("the exchange was not opened")
        messages = self._blocks.take(timeout_ms, is_due_between)
        if messages:
            self._exchange.connection.backlog = 0
            yield messages
            self._blocks.took(self._exchange.connection.backlog)

    def snapshot_content(self, follower: Follower) -> dict[str, object]:
        """What a snapshot must keep of the exchange, so that a restart finds its place there."""
        learner = follower.engine.lanes[0].learner
        if not isinstance(learner, Shard) or self._blocks is None:
            raise TypeError("this learner is not a shard with an open exchange")
        scores = self._exchange.connection.position(learner.part.exchanges)
        block = self._blocks.size
        return {"exchange": {"begun": self._first_offset, "scores": scores, "block": block}}

    def close(self) -> None:
        """Disconnect from the other shards."""
        place, self._place = self._place, None
        opened, self._exchange.opened = self._exchange.opened, None
        with closing(place) if place is not None else nullcontext():
            if opened is not None:
                opened.close()
