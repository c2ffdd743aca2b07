"""Ranks and learns records of the log as one block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from consumers.kafka.client_types import Message
from consumers.learner.live_page import LearnerPage
from consumers.learner.publisher import LaneRankings, Publisher
from pipeline.follower import Follower


def follow_block(
    follower: Follower,
    messages: Sequence[Message],
    to_explain: int,
    page: LearnerPage,
    publisher: Publisher,
) -> Iterator[LaneRankings]:
    """Rank and learn records that follow one another; yield what is not published of them.

    The page shows the last `to_explain` documents of each segment.
    """
    records = [
        (one.value or b"", one.offset, f"{one.topic}[{one.partition}] offset={one.offset}")
        for one in messages
    ]
    done = 0
    for ranked in follower.follow_together(records, to_explain):
        page.take(follower, ranked)
        offsets = follower.document_offsets[done : done + len(ranked.documents)]
        topics = follower.engine.topics.names
        yield from publisher.encode(ranked, follower.names, topics, offsets)
        done += len(ranked.documents)
