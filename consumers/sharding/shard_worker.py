"""One shard of a lane as a worker: where its snapshots are, and whom it exchanges with.

All shards follow the whole log; shard 0 says what they have found. They keep snapshots at the same
places of the log, so that any number of shards can go on where another number was.
"""

from __future__ import annotations

import hashlib
import re
import threading
import zlib
from collections.abc import Callable
from pathlib import Path

import orjson

from consumers.assignment import ShardAssignment
from consumers.config import Config, StreamSettings
from consumers.sharding.score_exchange import KafkaExchange
from learners.learner import Learner
from learners.sharding.shard import Shard
from learners.specs import LaneSpec
from pipeline.follower import Follower


def stream_folder(config: Config, stream: StreamSettings) -> Path:
    """Where the snapshots of a stream are."""
    return config.snapshots.folder / re.sub(r"[^A-Za-z0-9._-]", "_", stream.name)


def shards_folder(whole: Path, lane: str) -> Path:
    """Where the snapshots of all shards of a lane are, below those of the stream."""
    readable = re.sub(r"[^A-Za-z0-9._-]", "_", lane)
    return whole / "shards" / f"{readable}-{zlib.crc32(lane.encode()):08x}"


def folder_of(whole: Path, share: ShardAssignment) -> Path:
    """Where the snapshots of a shard are; a lane that is whole is with the others of the stream."""
    if share.shards == 1:
        return whole
    return shards_folder(whole, share.lane) / f"{share.shard}-of-{share.shards}"


class LateExchange:
    """An exchange that is opened once it is known where to go on."""

    def __init__(self, share: ShardAssignment) -> None:
        self.shard = share.shard
        self.shards = share.shards
        self.opened: KafkaExchange | None = None

    def swap(self, number: int, mine: bytes) -> list[bytes]:
        """See `Exchange.swap`."""
        if self.opened is None:
            raise ValueError("the exchange was not opened")
        return self.opened.swap(number, mine)


class ShardOfLane:
    """What a learner worker needs to know of the shard that it is."""

    def __init__(self, config: Config, stream: StreamSettings, share: ShardAssignment) -> None:
        self._config = config
        self._stream = stream
        self.share = share
        self._exchange = LateExchange(share)
        self._begun = 0  # where in the log exchanges were first counted
        self._settings: dict[str, object] = {}
        self._period: int | None = None

    def build(self, spec: LaneSpec) -> Learner:
        """The learner of this shard."""
        self._settings = dict(spec.settings)
        return Shard(spec.update_rule(), self._exchange)

    def open(
        self,
        follower: Follower,
        log_identity: str,
        stop: threading.Event,
        waiting: Callable[[float], None],
    ) -> None:
        """Begin to exchange, from where the follower is."""
        told = follower.snapshot_content.get("exchange", {"begun": 0, "scores": None})
        self._begun = told["begun"]
        facts = [self._settings, self.share.shards, log_identity, self._begun]
        epoch = hashlib.blake2b(orjson.dumps(facts), digest_size=8).hexdigest()
        self.close()
        self._exchange.opened = KafkaExchange(
            self._config.kafka, self._stream.scores, self._stream.name, self.share.lane, epoch,
            self.share.shard, self.share.shards, told["scores"], stop, waiting,
        )  # fmt: skip

    def told(self, follower: Follower) -> dict[str, object]:
        """What a snapshot must remember of the exchange."""
        learner = follower.engine.lanes[0].learner
        if not isinstance(learner, Shard) or self._exchange.opened is None:
            raise TypeError("not a shard that exchanges")
        scores = self._exchange.opened.position(learner.exchanges)
        return {"exchange": {"begun": self._begun, "scores": scores}}

    def is_agreed(self, timestamp_ms: int) -> bool:
        """Whether all shards take a snapshot before the record of this time, by what the log says.

        Whenever the clock of the log has passed a multiple of the period: no shard needs to ask.
        The clocks of tokenizers may differ a little, so it is never set back.
        """
        period = int(timestamp_ms / 1000 // self._config.snapshots.every_seconds)
        before, self._period = self._period, max(period, self._period or period)
        return before is not None and self._period > before

    def close(self) -> None:
        """Let the broker go."""
        if self._exchange.opened is not None:
            self._exchange.opened.close()
            self._exchange.opened = None
