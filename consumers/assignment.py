"""Which part of a stream a learner worker has: all whole lanes, one lane, or one shard."""

from __future__ import annotations

from dataclasses import dataclass

from consumers.stream_settings import StreamSettings
from pipeline.errors import UsageError


@dataclass(frozen=True, slots=True)
class ShardAssignment:
    """One shard of one lane."""

    lane: str
    shard: int
    shards: int

    @property
    def publishes(self) -> bool:
        """Whether this shard publishes rankings and curves; all shards compute the same ones."""
        return self.shard == 0


def assigned_shard(
    stream: StreamSettings, lane: str | None, shard: str | None
) -> ShardAssignment | None:
    """The shard that `--lane` and `--shard` name; None for whole lanes.

    Raises `UsageError` if the stream has no such lane or shard.
    """
    lanes = {known.parsed.name: known for known in stream.lanes}
    if lane is None:
        if shard is not None:
            raise UsageError("--shard needs --lane: name the lane that the shard belongs to.")
        if not stream.whole_lanes:
            raise UsageError(
                "every lane of this stream has shards: name one of them, as --lane NAME --shard 0/2"
            )
        return None
    if lane not in lanes:
        raise UsageError(f"--lane must be one of {', '.join(lanes)}. Got {lane!r}.")
    shards = lanes[lane].shards
    if shard is None and shards == 1:
        return None
    possible = [f"{number}/{shards}" for number in range(shards)]
    if shard not in possible:
        allowed = f"has shards = {shards}, so --shard must be one of {', '.join(possible)}"
        expected = allowed if shards > 1 else "has no shards, so leave out --shard"
        raise UsageError(f"lane {lane!r} {expected}. Got {shard!r}.")
    return ShardAssignment(lane, possible.index(shard), shards)


def learner_number(
    stream: StreamSettings, lane: str | None, assignment: ShardAssignment | None
) -> int:
    """The number of a learner among all that a stream can have; its metrics port depends on it.

    0 is the learner of all whole lanes. The learners of one lane each come next, then all shards.
    """
    if lane is None:
        return 0
    names = [known.parsed.name for known in stream.lanes]
    if assignment is None:
        return 1 + names.index(lane)
    before = stream.lanes[: names.index(lane)]
    return 1 + len(names) + sum(known.shards for known in before) + assignment.shard


def tokenizer_name(stream: str, instance: str) -> str:
    """What logs call a tokenizer.

    >>> tokenizer_name("newswire", "0")
    'tokenizer 0 of stream newswire'
    """
    return f"tokenizer {instance} of stream {stream}"


def learner_name(stream: str, lane: str | None, assignment: ShardAssignment | None) -> str:
    """What logs call a learner.

    >>> learner_name("newswire", None, None)
    'learner of stream newswire'
    >>> learner_name("newswire", "mmp:loss=1", ShardAssignment("mmp:loss=1", 0, 2))
    'learner mmp:loss=1 shard 0/2 of stream newswire'
    """
    parts = [] if lane is None else [lane]
    parts += [] if assignment is None else [f"shard {assignment.shard}/{assignment.shards}"]
    return " ".join(["learner", *parts, "of stream", stream])


def learner_fields(
    stream: str, lane: str | None, assignment: ShardAssignment | None
) -> dict[str, str]:
    """What log lines in JSON say of a learner, by key.

    >>> learner_fields("newswire", "mmp:loss=1", ShardAssignment("mmp:loss=1", 0, 2))
    {'role': 'learner', 'stream': 'newswire', 'lane': 'mmp:loss=1', 'shard': '0/2'}
    """
    fields = {"role": "learner", "stream": stream}
    if lane is not None:
        fields["lane"] = lane
    if assignment is not None:
        fields["shard"] = f"{assignment.shard}/{assignment.shards}"
    return fields
