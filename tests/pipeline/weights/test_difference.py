"""`wirerank diff` shows what changed from one model to another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from pipeline.models.frozen_lanes import FrozenLanes, load_frozen_lanes
from pipeline.snapshots.folder import SnapshotFolder
from pipeline.text.terms import words_of
from pipeline.weights.lane_weights import lane_weights
from tests.pipeline.snapshots.followers import follower_of
from tests.support.command_line import wirerank
from tests.support.saved_runs import LANES, event_lines, lane_options, run, write_lines


def saved(name: str, lines: list[bytes], *options: str) -> str:
    run(write_lines(f"{name}.jsonl", lines), *options, "--save", name, "--quiet")
    return name


def diff(*arguments: str, code: int = 0) -> str:
    result = wirerank("diff", *arguments)
    assert result.exit_code == code, result.output
    return result.output


def difference(*arguments: str) -> dict[str, Any]:
    result = wirerank("diff", *arguments, "--json")
    assert result.exit_code == 0, result.output
    content: dict[str, Any] = orjson.loads(result.stdout)
    return content


def named(part: FrozenLanes, lane: str) -> dict[str, dict[str, float]] | None:
    """Return the weights of each column by term, with the bias under None."""
    (own,) = [one for one in part.engine.lanes if one.name == lane]
    weights = lane_weights(part, own)
    if weights is None:
        return None
    words = words_of(weights.vocabulary.table)
    columns: dict[str, dict[str, float]] = {
        name: {"the bias": bias}
        for name, bias in zip(weights.columns, weights.biases.tolist(), strict=True)
    }
    rows = weights.rows(np.arange(len(words)))
    for row, column, value in zip(
        rows.row_numbers().tolist(), rows.columns.tolist(), rows.values.tolist(), strict=True
    ):
        columns[weights.columns[column]][words[row]] = value
    return columns


def length(vector: dict[str, float]) -> float:
    return float(np.sqrt(sum(value**2 for value in vector.values())))


@pytest.mark.parametrize("terms_at_once", [4096, 7])
def test_weights_are_compared_by_name(terms_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all learners, when the vocabulary was cut and renumbered meanwhile."""
    monkeypatch.setattr("pipeline.weights.lane_weights.TERMS_AT_ONCE", terms_at_once)
    lines = event_lines(1, 200)
    options = (*lane_options(*LANES), "--max-terms", "60")
    saved("a", lines[:90], *options)
    saved("b", lines, *options)
    shown = difference("a", "b", "--top", "1000")
    (part_a,), (part_b,) = (load_frozen_lanes(Path(name), (), print) for name in ("a", "b"))
    assert shown["terms"]["added"]["count"] > 0
    assert shown["terms"]["removed"]["count"] > 0
    words_a, words_b = (words_of(part.engine.vocabulary.table) for part in (part_a, part_b))
    assert set(shown["terms"]["added"]["first"]) == set(words_b) - set(words_a)
    assert set(shown["terms"]["removed"]["first"]) == set(words_a) - set(words_b)
    for lane, compared in shown["lanes"].items():
        before, now = named(part_a, lane), named(part_b, lane)
        if before is None or now is None:
            assert "has no weights of terms" in compared["weights"]["reason"]
            continue
        moved = compared["weights"]["moved_most"]
        distances = [one["distance"] for one in moved]
        assert distances == sorted(distances, reverse=True)
        assert len(moved) == compared["weights"]["moved"]
        assert compared["weights"]["topics"] == len(before.keys() & now.keys())
        for one in moved:
            old, new = before[one["topic"]], now[one["topic"]]
            gap = {key: new.get(key, 0.0) - old.get(key, 0.0) for key in {*old, *new}}
            expected = [length(gap), length(old), length(new)]
            assert [one["distance"], *one["norm"]] == pytest.approx(expected)


def test_equal_models_do_not_differ() -> None:
    lines = event_lines(2, 80)
    for name in ("a", "b"):
        saved(name, lines, *lane_options(*LANES))
    shown = difference("a", "b")
    assert shown["settings"] == {}
    assert all(was == now for was, now in shown["counts"].values())
    for kind in ("topics", "terms"):
        assert shown[kind]["added"] == shown[kind]["removed"] == {"count": 0, "first": []}
    for lane in shown["lanes"].values():
        assert lane["options"] == {}
        assert lane["weights"].get("moved", 0) == 0
    text = diff("a", "b")
    assert "topics added: none" in text
    assert "weights moved in 0 of" in text


def test_counts_losses_and_names() -> None:
    lines = event_lines(3, 120)
    lanes = lane_options("mmp", "prank:ranks=4")
    saved("a", lines[:50], *lanes)
    saved("b", lines, *lanes)
    facts = [orjson.loads(wirerank("inspect", name, "--json").stdout) for name in ("a", "b")]
    shown = difference("a", "b")
    for key in ("documents", "rounds", "topics", "vocabulary_terms"):
        assert shown["counts"][key] == [fact[key] for fact in facts]
    assert shown["counts"]["rank_rounds"] == [fact["ranks"]["rounds"] for fact in facts]
    for lane, loss in (("mmp", "loss2"), ("prank:ranks=4", "ranking_loss")):
        for key in ("rounds", loss):
            assert shown["lanes"][lane][key] == [fact["lanes"][lane][key] for fact in facts]
    text = diff("a", "b", "--top", "2")
    assert "lane mmp" in text
    assert "terms added: " in text
    assert " more" in text


def test_models_with_different_lanes_and_settings() -> None:
    lines = event_lines(4, 60)
    saved("a", lines, *lane_options("mmp:name=x", "mmp:margin=0.5,name=y", "arow", "prank:ranks=3"))
    other = lane_options("perceptron:name=x", "mmp:name=y", "frequency", "prank:ranks=4,name=z")
    saved("b", lines, *other, "--max-terms", "50", "--profile", "reuters21578")
    shown = difference("a", "b")
    assert shown["only_in_a"] == ["arow", "prank:ranks=3"]
    assert shown["only_in_b"] == ["frequency", "z"]
    assert shown["settings"]["max_terms"] == [131072, 50]
    assert shown["settings"]["profile"] == ["news", "reuters21578"]
    assert shown["lanes"]["x"]["weights"] == {"reason": "the learners differ: mmp and perceptron."}
    assert shown["lanes"]["y"]["options"] == {"margin": [0.5, 0.0]}
    assert shown["lanes"]["y"]["weights"]["moved"] > 0
    text = diff("a", "b")
    assert "setting max_terms: 131072 in A, 50 in B" in text
    assert "lanes only in A, not compared: arow, prank:ranks=3" in text
    assert "weights are not compared: the learners differ" in text


def test_numbers_of_ranks_that_differ() -> None:
    lines = event_lines(5, 60)
    saved("a", lines, "--lane", "multiclass-perceptron:ranks=3,name=x")
    saved("b", lines, "--lane", "multiclass-perceptron:ranks=4,name=x")
    shown = difference("a", "b")
    assert shown["lanes"]["x"]["weights"] == {"reason": "the numbers of ranks differ."}
    assert shown["topics"]["added"]["count"] == 0


def test_a_model_and_snapshots_of_a_worker() -> None:
    folder = SnapshotFolder(Path("snapshots"))
    snapshot = str(folder.write(follower_of().snapshot(log="id", published=[])))
    saved("a", event_lines(1, 50), "--lane", "mmp:loss=1")
    shown = difference("a", snapshot)
    assert shown["only_in_b"] == ["champion", "frequency", "prank:ranks=3"]
    assert shown["settings"]["format"] == ["wirerank", None]
    assert "`wirerank inspect snapshots` lists" in diff("a", "snapshots", code=2)


def test_files_that_cannot_be_used() -> None:
    saved("a", event_lines(1, 50), "--lane", "mmp")
    damaged = bytearray(Path("a").read_bytes())
    damaged[-100] ^= 1
    Path("damaged").write_bytes(damaged)
    assert "damaged" in diff("a", "damaged", code=1)
    assert "cannot be read" in diff("missing", "a", code=2)
    Path("text").write_text("text")
    assert "is neither a model nor a snapshot" in diff("a", "text", code=2)


def test_names_are_printed_without_control_characters() -> None:
    name = "a\x1b[2J\nb\u202e"
    events = [
        {"id": str(i), "features": {name: 1.0}, "topics": [t]} for i, t in enumerate((name, "b"))
    ]
    saved("a", event_lines(1, 30), "--lane", "mmp")
    saved("b", [orjson.dumps(event) for event in events], "--lane", "mmp")
    text = diff("a", "b")
    assert "\x1b" not in text
    assert "topics added: a\\x1b[2J\\nb\\u202e, b" in text
