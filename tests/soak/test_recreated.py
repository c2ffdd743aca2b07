"""The check of replaced topics: unread documents are lost by nature, others must not be."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.soak.history import Record
from tests.soak.recreated import judge_recreated

PER_TOPIC, TOPICS = 10, 3


def ledger() -> list[dict[str, Any]]:
    """Documents of three topics of the same name, in one partition each."""
    return [
        {
            "kind": "document", "id": f"d{generation}-{offset}", "generation": generation,
            "partition": 0, "offset": offset,
        }
        for generation in range(TOPICS)
        for offset in range(PER_TOPIC)
    ]  # fmt: skip


def rankings(ids: list[str]) -> list[Record]:
    return [
        Record(0, offset, 0.0, b"", json.dumps({"id": id_}).encode())
        for offset, id_ in enumerate(ids)
    ]


def read_up_to(*ends: int) -> list[str]:
    """The ids of the documents if each topic was read up to this offset."""
    return [f"d{topic}-{offset}" for topic, end in enumerate(ends) for offset in range(end)]


def test_the_unread_end_of_a_deleted_topic_is_no_violation() -> None:
    ranked = rankings(read_up_to(7, 0, PER_TOPIC))
    verdict = judge_recreated(ledger(), ranked, ranked)
    assert verdict.violations() == []
    assert (verdict.topics, verdict.documents, verdict.ranked) == (3, 30, 17)
    assert verdict.unread == 13


@pytest.mark.parametrize(
    ("ids", "what"),
    [
        (read_up_to(7, 4, 9), "1 documents or rankings lost"),
        ([i for i in read_up_to(7, 4, 10) if i != "d1-2"], "1 documents or rankings skipped"),
        ([i for i in read_up_to(7, 4, 10) if i != "d2-0"], "1 documents or rankings skipped"),
        ([*read_up_to(7, 4, 10), "d0-3"], "1 documents or rankings doubled"),
        ([*read_up_to(7, 4, 10), "d9-9"], "1 documents or rankings unknown"),
    ],
)
def test_anything_else_is_a_violation(ids: list[str], what: str) -> None:
    ranked = rankings(ids)
    assert judge_recreated(ledger(), ranked, ranked).violations() == [f"replaced topics: {what}"]


def test_a_different_ranking_is_a_violation() -> None:
    ranked = rankings(read_up_to(7, 4, 10))
    other = [*ranked[:-1], Record(0, 20, 0.0, b"", b'{"id": "d2-9", "round": 7}')]
    assert judge_recreated(ledger(), other, ranked).different == 1
