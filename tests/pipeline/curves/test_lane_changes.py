"""The changes of a lane: how many are kept, how they are stored, and how they read."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from learners.checks import InvalidArrayError
from pipeline.curves.change_text import change_entry, change_text
from pipeline.curves.lane_changes import MOST_CHANGES, PREFIX, Change, LaneChanges
from pipeline.curves.topic_shares import ChangedTopic
from pipeline.reports.lane_changes import MOST_LINES, change_lines
from tests.pipeline.curves.test_topic_shares import TOPICS, steps_of


class Document(NamedTuple):
    id: str | int


def sawtooth(teeth: int, length: int = 400) -> tuple[np.ndarray[Any, np.dtype[np.float64]], int]:
    """Losses that fall to 0.1 and rise to 0.9, many times; and the rounds of one tooth."""
    return np.tile(np.repeat([0.1, 0.9], length), teeth), 2 * length


def followed(teeth: int) -> LaneChanges:
    losses, _ = sawtooth(teeth)
    changes = LaneChanges(has_topics=True)
    steps = steps_of([[i % TOPICS] for i in range(len(losses))])
    changes.follow(losses, steps, TOPICS, 0)
    changes.name_documents([Document(i) for i in range(len(losses))], 0)
    return changes


def test_the_last_changes_are_kept_and_all_are_counted() -> None:
    changes = followed(MOST_CHANGES + 20)
    assert changes.total == MOST_CHANGES + 20
    assert len(changes.kept) == MOST_CHANGES
    assert changes.last_round == changes.kept[-1].round
    assert [change.document for change in changes.kept] == [
        str(change.round - 1) for change in changes.kept
    ]
    _, tooth = sawtooth(1)
    assert [change.round // tooth for change in changes.kept] == list(range(20, MOST_CHANGES + 20))


def test_a_state_is_restored() -> None:
    changes = followed(5)
    restored = LaneChanges(has_topics=True)
    restored.restore(changes.state())
    assert (restored.total, restored.kept) == (changes.total, changes.kept)
    for name, array in changes.state().items():
        assert np.array_equal(array, restored.state()[name]), name
    older = LaneChanges(has_topics=True)
    older.restore({"tally": np.zeros(3)})
    assert (older.total, older.kept, older.last_round) == (0, [], None)


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("total", np.array(7, np.int64), "changes of 7"),
        ("kept", np.full((5, 29), np.nan), "kept"),
        ("documents", np.array([255], np.uint8), "document"),
        ("document_starts", np.zeros(6, np.int64), "document_starts"),
        ("detector/bets", np.zeros((3, 3)), "bets"),
        ("topics/periods", np.full(TOPICS, -1.0), "periods"),
    ],
)
def test_a_damaged_state_is_refused(name: str, value: Any, match: str) -> None:  # noqa: ANN401
    state = {**followed(5).state(), f"{PREFIX}/{name}": value}
    with pytest.raises(InvalidArrayError, match=match):
        LaneChanges(has_topics=True).restore(state)


def test_topics_must_exist() -> None:
    changes = followed(3)
    changes.check_references(TOPICS)
    with pytest.raises(InvalidArrayError, match="topic"):
        changes.check_references(TOPICS - 1)


def test_text() -> None:
    topic = ChangedTopic(1, 0.1, 0.2, 0.01, 0.1)
    change = Change(2000, 1900, 0.1, 0.35, (topic,), "a\x1b\n")
    entry = change_entry(change, ["grain", "wheat\x07"])
    assert entry["topics"][0]["topic"] == "wheat\x07"
    assert change_text(entry, "1 - average_precision") == (
        "1 - average precision rose from 0.100 to 0.350, from about round 1,900 on (found at round "
        "2,000, document a\\x1b\\n); topics: wheat\\x07"
    )
    bare = change_entry(Change(20, 19, 0.1, 0.35), [])
    assert change_text(bare, "x").endswith("on (found at round 20)")


def test_lines_of_a_report() -> None:
    entries = [change_entry(Change(100 * n, 90 * n, 0.1, 0.3), []) for n in range(1, 10)]
    report = {
        name: {"changes_total": 9, "changes": entries, "changes_of": "x"} for name in ("a", "b")
    }
    lines = list(change_lines(report))
    assert len(lines) == MOST_LINES + 1
    assert lines[0].startswith("a changed: x rose")
    assert "round 900" in lines[-2]
    assert lines[-1].startswith("and 6 earlier changes")
    assert list(change_lines({"a": {"changes_total": 0, "changes": []}})) == []
