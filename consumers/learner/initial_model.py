"""The model that a stream begins with: what a replay has learned, before the log's first record.

A lane that has no snapshot follows the log from its beginning, and its state at the beginning is
that of the model. So a stream goes on as if the events of the model were the first of its log, also
after a crash, and for a lane that is added later.

All lanes need the same beginning. So snapshots keep digests of what lanes share: the vocabulary,
and for each kind of label what waits for labels, and the topics. A model with more lanes that has
learned the same events has the same digests.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import orjson

from consumers.assignment import ShardAssignment
from consumers.sharding.resharding import shard_snapshot
from consumers.stream_settings import StreamSettings
from learners.specs import LaneSpec
from pipeline.errors import UsageError
from pipeline.models.backup import is_backup, place_of
from pipeline.models.model import Model
from pipeline.models.model_file import read_model
from pipeline.snapshots.snapshot import MismatchError, Snapshot
from pipeline.storage.container import DamagedError

# What lanes share: keys of a snapshot's content, and the prefix of its arrays.
SHARED = {
    "vocabulary": (("documents",), "vocabulary/"),
    "topics": (("topics", "topics_refused", "rounds", "pending", "early"), "pending/"),
    "ranks": (("ranks",), "ranks/pending/"),
}


@dataclass(frozen=True, slots=True)
class InitialModel:
    """A model as the state of a stream at offset 0 of its log; the empty one is no model."""

    snapshot: Snapshot | None = None
    digests: dict[str, str] = field(default_factory=dict)

    def check(self, lanes: Sequence[LaneSpec]) -> None:
        """Raise `MismatchError` if the model lacks one of these lanes."""
        if self.snapshot is None:
            return
        known = self.snapshot.all_lanes
        for lane in lanes:
            if lane.name not in known:
                raise MismatchError(
                    f"{self.snapshot.name}, which the stream begins with (`initial`), has no lane "
                    f"{lane.name}. It has {', '.join(known)}. Replay the same events with this "
                    "lane, too, and save another model (wirerank replay SOURCE --lane ... --save "
                    "MODEL); or leave out the lane."
                )

    def check_restored(self, content: dict[str, object], lanes: Sequence[str]) -> None:
        """Raise `MismatchError` if a restored snapshot is of a stream with another beginning."""
        before = content.get("initial", {})
        if not isinstance(before, dict):
            raise DamagedError("the snapshot is damaged: initial: expected an object")
        both = before.keys() & self.digests.keys()
        if bool(before) == bool(self.digests) and all(before[k] == self.digests[k] for k in both):
            return
        now = "names a model" if self.digests else "is not set"
        if self.digests and before:
            now = "names a model of other events"
        began = "with a model" if before else "without a model"
        raise MismatchError(
            f"lane {', '.join(lanes)} began {began}, but now `initial` {now}. A stream "
            "keeps its beginning: restore the setting and the file, or begin another stream with a "
            "name of its own."
        )


NO_MODEL = InitialModel()


def read_initial_model(
    stream: StreamSettings, shard: ShardAssignment | None = None
) -> InitialModel:
    """The model that a stream begins with, if it has one; of a shard, its part of the model.

    Raises `MismatchError` if it is no model for this stream, `DamagedError` if it is damaged.
    """
    if stream.initial is None:
        return NO_MODEL
    try:
        model = read_model(stream.initial)
    except UsageError as error:
        raise MismatchError(f"`initial` of stream {stream.name}: {error}") from None
    check_profile(stream, model)
    digests = shared_digests(model)
    content = {**model.snapshot.content, "position": 0, "published": []}
    # A log that goes on from a backup must go on at the documents that the backup ends with.
    content["coverage"] = place_of(content, model.name).coverage if is_backup(content) else []
    snapshot = Snapshot(content, model.snapshot.arrays, model.name)
    if shard is not None and shard.lane in snapshot.all_lanes:
        snapshot = shard_snapshot([snapshot], shard)
    return InitialModel(snapshot, digests)


def check_profile(stream: StreamSettings, model: Model) -> None:
    """Raise `MismatchError` if the model has split its texts in another way."""
    if model.input.profile != stream.profile:
        raise MismatchError(
            f"{model.name} was learned with profile = {model.input.profile}, but stream "
            f"{stream.name} has profile = {stream.profile}: write the same profile, or name "
            "another model as `initial`."
        )


def shared_digests(model: Model) -> dict[str, str]:
    """A digest of each part that lanes share, as far as the model has lanes that use it."""
    content, arrays = model.snapshot.content, model.snapshot.arrays
    has_topics = any(not lane.is_ordinal for lane in model.lanes)
    used = {"vocabulary": True, "topics": has_topics, "ranks": "ranks" in content}
    digests = {}
    for name, (keys, prefix) in SHARED.items():
        if not used[name]:
            continue
        digest = hashlib.blake2b(digest_size=16)
        shared = {key: content[key] for key in keys}
        digest.update(orjson.dumps(shared, option=orjson.OPT_SORT_KEYS))
        for array_name in sorted(arrays):
            if array_name.startswith(prefix):
                array = arrays[array_name]
                digest.update(f"{array_name} {array.dtype.str} {array.shape}".encode())
                digest.update(array.tobytes())
        digests[name] = digest.hexdigest()
    return digests
