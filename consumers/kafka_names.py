"""The names that Wirerank uses on a broker: Kafka topics, consumer groups, transactional ids.

Operators grant rights on these names, and offsets are stored under them: they do not change.
"""

from __future__ import annotations

from collections.abc import Iterable

PREFIX = "wirerank."
TOKENIZE, LEARN = ".tokenize", ".learn"


def default_topics(stream: str) -> dict[str, str]:
    """The Kafka topics of a stream, by setting, unless the configuration names others.

    >>> default_topics("newswire")["dead_letters"]
    'newswire.dead-letters'
    """
    return {
        "documents": f"{stream}.documents",
        "blocks": f"{stream}.blocks",
        "rankings": f"{stream}.rankings",
        "dead_letters": f"{stream}.dead-letters",
        "scores": f"{stream}.scores",
    }


def tokenizer_consumer_group(stream: str) -> str:
    """The consumer group of a stream's tokenizers: its offsets say what is in the log.

    >>> tokenizer_consumer_group("newswire")
    'wirerank.newswire.tokenize'
    """
    return f"{PREFIX}{stream}{TOKENIZE}"


def lane_consumer_group(stream: str, lane: str) -> str:
    """The consumer group of a published lane: its offset says how far the lane has published.

    >>> lane_consumer_group("newswire", "mmp:loss=1")
    'wirerank.newswire.learn.mmp:loss=1'
    """
    return f"{PREFIX}{stream}{LEARN}.{lane}"


def transactional_id(stream: str, lane: str | None = None, shard: int = 0) -> str:
    """The transactional id of a learner: of all whole lanes, of one lane, or of one shard.

    >>> transactional_id("newswire"), transactional_id("newswire", "mmp:loss=1", 2)
    ('wirerank.newswire.learn', 'wirerank.newswire.learn.mmp:loss=1/shard-2')
    """
    whole = f"{PREFIX}{stream}{LEARN}" + (f".{lane}" if lane else "")
    return whole + (f"/shard-{shard}" if shard else "")


def tokenized_stream(group: str) -> str | None:
    """The stream whose tokenizers form this consumer group; None if it is another group.

    >>> tokenized_stream("wirerank.newswire.tokenize"), tokenized_stream("wirerank.a.learn.mmp")
    ('newswire', None)
    """
    ours = group.startswith(PREFIX) and group.endswith(TOKENIZE)
    return group[len(PREFIX) : -len(TOKENIZE)] if ours else None


def lane_of_group(stream: str, group: str) -> str:
    """The lane of a consumer group that `lane_consumer_groups` found for the stream.

    >>> lane_of_group("newswire", "wirerank.newswire.learn.mmp:loss=1")
    'mmp:loss=1'
    """
    return group.removeprefix(lane_consumer_group(stream, ""))


def lane_consumer_groups(stream: str, groups: Iterable[str]) -> list[str]:
    """Of these consumer groups, those of a stream's lanes.

    The name of another stream may begin with the name of this one.

    >>> groups = ["wirerank.a.learn.mmp", "wirerank.a.learn.tokenize", "wirerank.a.learn.learn"]
    >>> lane_consumer_groups("a", groups)
    ['wirerank.a.learn.mmp']
    >>> lane_consumer_groups("a.learn", groups)
    ['wirerank.a.learn.learn']
    """
    known = list(groups)
    streams = {name for group in known if (name := tokenized_stream(group)) is not None}

    def owner(group: str) -> str:
        """The stream with the longest name of those that the group could belong to."""
        begins = [
            s for s in streams | {stream} if f"{group}.".startswith(lane_consumer_group(s, ""))
        ]
        return max(begins, key=len, default="")

    return [group for group in known if owner(group) == stream and not group.endswith(TOKENIZE)]
