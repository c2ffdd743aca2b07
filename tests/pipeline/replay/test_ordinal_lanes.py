"""Ordinal lanes through the command line: messages, ninjs, and sources without topics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.commands.defaults import RANK_LANES
from tests.support.command_line import wirerank, write_events
from tests.support.movielens_files import write_movielens

RANKED: list[dict[str, Any]] = [
    {"id": "a", "text": "oil up sharply", "rank": 2},
    {"id": "b", "text": "wheat down", "rank": 9},
    {"id": "c", "text": "wheat up"},
    {"id": "c", "topics": ["grain"]},
    {"id": "c", "rank": 3},
    {"id": "d", "text": "ship sails", "rank": 1, "topics": ["ship"]},
    {"id": "e", "features": {"x": 1}},
    {"id": "z", "rank": 1},
]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def replay(*arguments: str) -> tuple[list[dict[str, Any]], str, dict[str, Any]]:
    """The rankings, the messages on standard error, and the report."""
    result = wirerank("replay", *arguments, "--rankings", "-", "--report", "report.json")
    assert result.exit_code == 0, result.output
    report = orjson.loads(Path("report.json").read_bytes())
    return [orjson.loads(line) for line in result.stdout.splitlines()], result.stderr, report


def test_ordinal_lanes_alone() -> None:
    rankings, shown, report = replay(write_events(events=RANKED), "--lane", "prank:ranks=5")
    keys = ["id", "lane", "round", "rank", "score", "time"]
    assert [list(one) for one in rankings] == [keys] * 5
    assert [(one["id"], one["round"]) for one in rankings] == [
        *zip("abcde", (0, 1, 1, 2, 3), strict=True)
    ]
    assert "documents 5   rounds 3   terms" in shown  # and no number of topics
    assert "documents without labels yet: 1" in shown
    assert "late labels with only topics, which no lane learns: 1" in shown
    assert "late labels without a document: 1" in shown
    assert "ranks above the highest rank of the lanes, which are not learned: 1" in shown
    assert report["prank:ranks=5"]["ranks_refused"] == 1


def test_lanes_of_both_kinds_show_what_each_kind_lacks() -> None:
    lanes = ("--lane", "mmp:loss=1", "--lane", "prank:ranks=5")
    rankings, shown, report = replay(write_events(events=RANKED), *lanes, "--top", "1")
    assert [len(one["ranking"]) for one in rankings if "ranking" in one] == [0, 0, 0, 1, 1]
    assert [one["round"] for one in rankings if "rank" in one] == [0, 1, 1, 2, 3]
    assert "documents without labels yet (topics): 3" in shown
    assert "documents without labels yet (rank): 1" in shown
    assert "late labels without a document (rank): 1" in shown
    assert "which no lane learns" not in shown
    assert "per s  lane of topics\n" in shown
    assert "per s  lane of ranks\n" in shown
    assert (report["mmp:loss=1"]["rounds"], report["prank:ranks=5"]["rounds"]) == (2, 3)
    assert "ranks_refused" not in report["mmp:loss=1"]


@pytest.mark.parametrize(
    ("event", "lanes", "kind"),
    [
        ({"topics": ["x"]}, ["prank:ranks=5"], ": no document has `rank`"),
        ({"rank": 2}, ["mmp:loss=1"], ": no document has `topics`"),
        ({"rank": 2}, ["mmp:loss=1", "prank"], " (topics): no document has `topics`"),
        ({"topics": ["x"]}, ["mmp:loss=1", "prank"], " (rank): no document has `rank`"),
        ({"rank": 8}, ["prank"], ": no document has `rank`"),
    ],
)
def test_what_was_not_learned_is_shown(event: dict[str, Any], lanes: list[str], kind: str) -> None:
    source = write_events(events=[{"id": "1", "text": "oil", **event}])
    _, shown, _ = replay(source, *(part for lane in lanes for part in ("--lane", lane)))
    assert f"nothing was learned{kind}" in shown
    assert shown.count("nothing was learned") == 1


def test_rounds_with_topics_are_of_topic_lanes() -> None:
    events = [*RANKED, {"id": "f", "text": "none", "topics": []}]
    result = wirerank(
        "replay", write_events(events=events), "--lane", "mmp:loss=1", "--lane", "prank"
    )
    rows = [line.split()[:3] for line in result.stdout.splitlines()]
    assert rows == [["lane", "rounds", "with"], ["mmp:loss=1", "3", "2"], ["prank", "3", "n.a."]]


def test_urgency_is_the_rank_of_a_ninjs_item() -> None:
    """Each of nine urgencies has a word of its own; late labels bring nothing but the urgency."""
    items: list[dict[str, Any]] = []
    for number in range(180):
        urgency = 1 + number * 7 % 9
        item = {"uri": f"urn:{number}", "headline": f"urgent{urgency} story {number % 5}"}
        if number % 4:
            items.append({**item, "urgency": urgency, "subject": [{"code": "medtop:1"}]})
        else:
            items += [item, {"uri": f"urn:{number}", "urgency": urgency}]
    lanes = ("--lane", "prank:ranks=9", "--lane", "mmp:loss=1")
    rankings, shown, report = replay(write_events(events=items), "--format", "ninjs", *lanes)
    ranks = [one["rank"] for one in rankings if one["lane"] == "prank:ranks=9"]
    assert len(ranks) == 180
    assert set(ranks[90:]) == set(range(1, 10))
    assert report["prank:ranks=9"]["rounds"] == 180
    assert report["mmp:loss=1"]["rounds"] == 135
    assert report["prank:ranks=9"]["ranking_loss"] < 2.0  # a guess in the middle is off by 2.2
    assert "dead" not in shown


def test_ratings_have_ordinal_lanes_by_default(tmp_path: Path) -> None:
    write_movielens(tmp_path / "ml")
    _, shown, report = replay("movielens:ml")
    assert list(report) == list(RANK_LANES)
    assert all(lane["rounds"] == 3 for lane in report.values())
    assert "nothing was learned" not in shown
