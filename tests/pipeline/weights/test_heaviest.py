"""`wirerank inspect --topic` and `--term` show the weights that rank."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from pipeline.models.frozen_lanes import load_frozen_lanes
from pipeline.snapshots.folder import SnapshotFolder
from pipeline.text.terms import words_of
from pipeline.weights.lane_weights import lane_weights, number_of_term
from pipeline.weights.near_names import near_names
from tests.pipeline.snapshots.followers import follower_of
from tests.support.command_line import wirerank
from tests.support.saved_runs import LANES, event_lines, lane_options, run, write_lines

EVENTS = [
    {"id": "1", "text": "wheat harvest", "topics": ["grain"]},
    {"id": "2", "text": "oil price", "topics": ["crude"]},
    {"id": "3", "text": "wheat price price", "topics": ["grain"]},
    {"id": "4", "text": "oil tanker", "topics": ["crude", "ship"]},
    {"id": "5", "text": "wheat tanker", "topics": ["ship"]},
]


@pytest.fixture
def model() -> str:
    lines = [orjson.dumps(event) for event in EVENTS]
    lanes = lane_options("mmp", "mmp:kernel=poly2,name=instances", "frequency", "prank:ranks=3")
    run(write_lines("e.jsonl", lines), *lanes, "--save", "m.model", "--quiet")
    return "m.model"


def inspected(*arguments: str, code: int = 0) -> str:
    result = wirerank("inspect", *arguments)
    assert result.exit_code == code, result.output
    return result.output


def lanes_in(*arguments: str) -> list[dict[str, Any]]:
    result = wirerank("inspect", *arguments, "--json")
    assert result.exit_code == 0, result.output
    lanes: list[dict[str, Any]] = orjson.loads(result.stdout)["lanes"]
    return lanes


def test_the_terms_of_a_topic_in_a_table(model: str) -> None:
    text = inspected(model, "--topic", "grain", "--lane", "mmp")
    first, *rows = text.splitlines()
    assert first.startswith("topic grain, lane mmp: ")
    assert rows[0].split() == ["terms", "that", "raise", "the", "score", "weight", "texts"]
    assert "price" in text
    assert "terms that lower the score" in text


def test_lists_are_those_of_the_weights() -> None:
    """Of all lanes of a larger model, and for all topics and some terms."""
    source = write_lines("e.jsonl", event_lines(6, 150))
    run(source, *lane_options(*LANES), "--max-terms", "70", "--save", "m", "--quiet")
    (part,) = load_frozen_lanes(Path("m"), (), print)
    words = words_of(part.engine.vocabulary.table)
    documents = part.engine.vocabulary.arrays.df.tolist()
    for topic in part.engine.topics.names[:3]:
        for shown in lanes_in("m", "--topic", topic, "--top", "4"):
            dense = matrix(part, shown["lane"])
            if shown["reason"]:
                continue
            column = dense[:, part.engine.topics.names.index(topic)]
            assert shown["weights"] == np.count_nonzero(column)
            order = np.argsort(-column, kind="stable")[:4]
            assert shown["raising"] == [
                {"term": words[i], "weight": column[i], "documents": documents[i]}
                for i in order.tolist()
                if column[i] > 0
            ]
    for number in (0, 7):
        for shown in lanes_in("m", "--term", words[number], "--top", "3"):
            if shown["reason"]:
                continue
            row = matrix(part, shown["lane"])[number]
            assert [one["weight"] for one in shown["raising"]] == sorted(
                row[row > 0].tolist(), reverse=True
            )[:3]
            assert [one["weight"] for one in shown["lowering"]] == sorted(row[row < 0].tolist())[:3]


def matrix(part: Any, name: str) -> Any:  # noqa: ANN401 - of frozen lanes; an array
    lane = next(lane for lane in part.engine.lanes if lane.name == name)
    weights = lane_weights(part, lane)
    if weights is None:
        return np.zeros((0, 0))
    dense = np.zeros((len(weights.vocabulary), len(weights.columns)))
    rows = weights.rows(np.arange(len(dense)))
    dense[rows.row_numbers(), rows.columns] = rows.values
    return dense


def test_lanes_that_cannot_answer_say_why(model: str) -> None:
    mmp, instances, frequency, ranks = lanes_in(model, "--topic", "ship")
    assert mmp["reason"] is None
    assert "sums over instances" in instances["reason"]
    assert (frequency["bias"], frequency["raising"]) == (2.0, [])
    assert "learns ranks, not topics; --term" in ranks["reason"]
    text = inspected(model, "--topic", "ship")
    assert "no term has a weight" in text
    assert text.endswith(f"{ranks['reason']}\n")
    only = inspected(model, "--topic", "ship", "--lane", "instances", code=2)
    assert "Lane instances has no weights of terms" in only
    assert "learns ranks" in inspected(model, "--topic", "ship", "--lane", "prank:ranks=3", code=2)


def test_unknown_names_get_near_ones(model: str) -> None:
    assert "Did you mean 'grain'?" in inspected(model, "--topic", "Grain", code=2)
    assert "It has: grain, crude, ship." in inspected(model, "--topic", "economics", code=2)
    assert "Did you mean 'wheat'?" in inspected(model, "--term", "wheet", code=2)
    assert "has no term ''" in inspected(model, "--term", "", code=2)
    assert "has no term" in inspected(model, "--term", "x" * 1000, code=2)
    assert "has no lane 'other'" in inspected(model, "--term", "oil", "--lane", "other", code=2)
    assert "not both" in inspected(model, "--term", "oil", "--topic", "grain", code=2)
    assert "--lane needs" in inspected(model, "--lane", "mmp", code=2)


def test_near_names_are_found_among_many() -> None:
    known = [f"name{i}" for i in range(200_000)]
    assert near_names("x" * 10_000, known) == []
    assert near_names("NAME199999", known) == ["name199999"]
    assert len(near_names("nam1234", known)) == 3


def test_names_are_printed_without_control_characters() -> None:
    name = "a\x1b[2J\nb\u202e"
    events = [
        {"id": str(i), "features": {name: 1.0}, "topics": [t]} for i, t in enumerate((name, "b"))
    ]
    lines = [orjson.dumps(event) for event in events]
    run(write_lines("h.jsonl", lines), "--lane", "mmp", "--save", "h", "--quiet")
    for asked in ("--topic", "--term"):
        text = inspected("h", asked, name)
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "a\\x1b[2J\\nb\\u202e" in text
        assert lanes_in("h", asked, name)[0]["weights"] > 0


def test_folders_and_damaged_files(model: str) -> None:
    folder = Path("snapshots")
    SnapshotFolder(folder).write(follower_of().snapshot(log="id", published=[]))
    shown = lanes_in(str(folder), "--topic", "t9")
    assert [lane["lane"] for lane in shown] == [
        "mmp:loss=1",
        "champion",
        "frequency",
        "prank:ranks=3",
    ]
    damaged = bytearray(Path(model).read_bytes())
    damaged[-100] ^= 1
    Path("damaged").write_bytes(damaged)
    assert "damaged" in inspected("damaged", "--topic", "grain", code=1)
    assert "cannot be read" in inspected("missing", "--topic", "grain", code=2)
    Path("text").write_text("text")
    assert "is not a model" in inspected("text", "--topic", "grain", code=2)


def test_a_model_without_topics() -> None:
    source = write_lines("n.jsonl", [orjson.dumps({"id": "1", "text": "wheat"})])
    run(source, "--lane", "mmp", "--save", "n.model", "--quiet")
    assert "It has no topics yet" in inspected("n.model", "--topic", "grain", code=2)
    assert "no topic has a weight" in inspected("n.model", "--term", "wheat")


def test_numbers_of_terms_are_found_by_their_names(model: str) -> None:
    (part,) = load_frozen_lanes(Path(model), (), print)
    vocabulary = part.engine.vocabulary
    for number, word in enumerate(words_of(vocabulary.table)):
        assert number_of_term(vocabulary, word) == number
    assert number_of_term(vocabulary, "\udcff") is None
