"""The names that Wirerank uses on a broker: Kafka topics, consumer groups, transactional ids.

Operators grant rights on these names, and offsets are stored under them: they do not change.
(Transactional ids changed once, see docs/decisions/0025-lane-owners.md.)
"""

from __future__ import annotations

from collections.abc import Iterable

PREFIX = "wirerank."
TOKENIZE, LEARN = ".tokenize", ".learn"
RUN = "@run"  # ends the client ids of tokenizers that `run` started


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


def tokenizer_client_id(host: str, instance: str, supervised: bool) -> str:
    """The client id of a tokenizer in its group; it tells whether a `run` started it.

    >>> tokenizer_client_id("london", "0", supervised=True)
    'london-0@run'
    """
    return f"{host}-{instance}" + (RUN if supervised else "")


def host_of_run(client_id: str) -> str | None:
    """The machine of the `run` that started a tokenizer; None if it was started by itself.

    >>> host_of_run("new-york-0@run"), host_of_run("new-york-0")
    ('new-york', None)
    """
    return client_id.removesuffix(RUN).rpartition("-")[0] if client_id.endswith(RUN) else None


def lane_consumer_group(stream: str, lane: str) -> str:
    """The consumer group of a published lane: its offset says how far the lane has published.

    >>> lane_consumer_group("newswire", "mmp:loss=1")
    'wirerank.newswire.learn.mmp:loss=1'
    """
    return f"{PREFIX}{stream}{LEARN}.{lane}"


def transactional_id(stream: str, lane: str) -> str:
    """The transactional id under which a lane is published, by whatever worker.

    The broker lets only one producer at a time use an id. So a lane has one publisher, whether the
    worker has all lanes, this lane alone, or the first shard of it.

    >>> transactional_id("newswire", "mmp:loss=1")
    'wirerank.newswire.learn.mmp:loss=1'
    """
    return f"{PREFIX}{stream}{LEARN}.{lane}"


def send_back_id(stream: str) -> str:
    """The transactional id under which dead letters of a stream are sent back.

    >>> send_back_id("newswire")
    'wirerank.newswire.send-back'
    """
    return f"{PREFIX}{stream}.send-back"


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
