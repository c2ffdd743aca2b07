"""The rights that each role needs on the broker, and no others: what `wirerank acls` prints.

Every worker looks at all Kafka topics of its stream at its start, so that a wrong topic is noticed
then. Hence the right to describe topics that a worker neither reads nor writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from consumers.kafka_names import PREFIX, lane_consumer_group, tokenizer_consumer_group
from consumers.stream_settings import StreamSettings

READ, WRITE, CREATE, DELETE = "Read", "Write", "Create", "Delete"
DESCRIBE, CONFIGS = "Describe", "DescribeConfigs"
TOPIC, GROUP, TRANSACTIONAL_ID = "topic", "group", "transactional-id"
SPECIAL = re.compile(r"[\\.^$*+?{}\[\]|()]")


class Role(StrEnum):
    """Who uses the broker."""

    TOKENIZER = "tokenizer"
    LEARNER = "learner"
    PLAYER = "player"  # `wirerank replay --kafka`, or whoever writes the documents
    READER = "reader"  # the application that reads the rankings


class Right(NamedTuple):
    """Operations that a role may do with a resource of the broker."""

    role: Role
    kind: str
    name: str
    operations: tuple[str, ...]
    is_prefix: bool = False


def rights(stream: StreamSettings, create: bool, reader_group: str) -> Iterator[Right]:
    """All rights that a stream needs; `create`: also that of creating its Kafka topics."""
    inputs = [Right(Role.TOKENIZER, TOPIC, name, (READ,)) for name in stream.input_topics]
    if stream.documents_pattern:
        beginning = literal_beginning(stream.documents_pattern)
        inputs.append(Right(Role.TOKENIZER, TOPIC, beginning or "*", (READ,), bool(beginning)))
    scores = [stream.scores] if stream.divided_lanes else []
    used: dict[Role, dict[str, tuple[str, ...]]] = {
        Role.TOKENIZER: {stream.blocks: (WRITE,), stream.dead_letters: (WRITE,)},
        Role.LEARNER: {
            stream.blocks: (READ, DELETE) if stream.log.is_trimmed else (READ,),
            stream.rankings: (WRITE,),
            **dict.fromkeys(scores, (READ, WRITE)),
        },
    }
    ours = (stream.blocks, stream.rankings, stream.dead_letters, *scores)
    yield from inputs
    for role, topics in used.items():
        if role is Role.LEARNER:
            yield from (right._replace(role=role, operations=(DESCRIBE,)) for right in inputs)
        for topic in ours:
            yield Right(role, TOPIC, topic, (*topics.get(topic, (DESCRIBE,)), CONFIGS))
    yield Right(Role.TOKENIZER, GROUP, tokenizer_consumer_group(stream.name), (READ,))
    lanes = lane_consumer_group(stream.name, "")
    yield Right(Role.LEARNER, GROUP, lanes, (READ,), is_prefix=True)
    if stream.stop:  # a learner ends when the tokenizers have read everything
        yield Right(Role.LEARNER, GROUP, tokenizer_consumer_group(stream.name), (DESCRIBE,))
    yield Right(Role.LEARNER, TRANSACTIONAL_ID, lanes, (WRITE,), is_prefix=True)
    for topic in stream.documents:
        # It reads what it has written, to go on where it was.
        yield Right(Role.PLAYER, TOPIC, topic, (READ, WRITE))
    yield Right(Role.READER, TOPIC, stream.rankings, (READ,))
    yield Right(Role.READER, GROUP, reader_group, (READ,))
    if create:
        for role in (Role.TOKENIZER, Role.LEARNER):
            for topic in (*stream.input_topics, *ours):
                yield Right(role, TOPIC, topic, (CREATE,))
        for topic in stream.documents:
            yield Right(Role.PLAYER, TOPIC, topic, (CREATE,))


def literal_beginning(pattern: str) -> str:
    """The characters with which all names that match a pattern begin.

    >>> literal_beginning("wire[.].*"), literal_beginning("(a|b).*"), literal_beginning("ab?")
    ('wire', '', 'a')
    """
    found = SPECIAL.search(pattern)
    if found is None:
        return pattern
    is_optional = found[0] in "*?{"
    return "" if "|" in pattern else pattern[: found.start() - is_optional]


def acl_command(right: Right, principal: str, bootstrap: str, config: str) -> list[str]:
    """The command of Kafka that grants a right."""
    kind = ["--resource-pattern-type", "prefixed"] if right.is_prefix else []
    operations = [part for name in right.operations for part in ("--operation", name)]
    client = ["--command-config", config] if config else []
    return [
        "kafka-acls.sh", "--bootstrap-server", bootstrap, *client, "--add",
        "--allow-principal", principal, *operations, f"--{right.kind}", right.name, *kind,
    ]  # fmt: skip


def default_principal(role: Role) -> str:
    """The user that a role has unless others are named.

    >>> default_principal(Role.LEARNER)
    'User:wirerank-learner'
    """
    return f"User:{PREFIX.removesuffix('.')}-{role}"
