"""Exported weights rank as the model does, and files are the same wherever they are written."""

from __future__ import annotations

import csv
import errno
import gzip
import json
import os
import re
import runpy
import threading
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from learners.specs import LEARNERS, parse_spec
from pipeline.events.event import Event
from pipeline.log.block import make_block
from pipeline.models.frozen_lanes import load_frozen_lanes
from pipeline.ranking.block_ranker import BlockRanker
from pipeline.snapshots.folder import SUFFIX, SnapshotFolder
from pipeline.weights.lane_weights import lane_weights
from pipeline.weights.weights_file import cell
from tests.conftest import REPOSITORY
from tests.pipeline.engine.test_engine import TOKENIZER
from tests.pipeline.ranking.test_rank import follower_of as stream_follower
from tests.pipeline.ranking.test_rank import write_shards
from tests.pipeline.snapshots.followers import follower_of
from tests.support.command_line import wirerank
from tests.support.saved_runs import LANES, event_lines, lane_options, run, write_lines

PAGE = REPOSITORY / "docs" / "reference" / "weights.md"
MORE_LANES = (
    "perceptron:average=true,name=mean perceptron",
    "feature-focus:boolean=true,rating=false,margin=0.2,name=boolean",
    "independent:p_ind=0.2,norm=l2,name=scaled",
    "prank:ranks=4,average=true,name=mean ranks",
    "widrow-hoff:ranks=4,average=true,name=mean regression",
    "multiclass-perceptron:ranks=4,average=true,name=mean classes",
)
HAVE_NO_WEIGHTS = ("instances", "stacked", "rank instances")
NAMES = [parse_spec(lane).name for lane in (*LANES, *MORE_LANES)]
TEXTS = [
    "w1 w2 w3 w3 w3 unknown",
    "W7, w11; w11-w80 w5",
    "nothing known here",
    " ".join(f"w{i}" for i in range(0, 90, 3)),
    "w1",
]
HOSTILE = ["=1+1", "@cmd", "-2", "+3", "'quoted", "a,b", 'a"b', "a\nb", "a\r", "\ttab", "\0", "nan"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with every learner, most of them in several ways."""
    folder = tmp_path_factory.mktemp("model")
    source = write_lines(str(folder / "e.jsonl"), event_lines(3, 200))
    outputs = ("--save", str(folder / "m"), "--dead-letters", str(folder / "dead"), "--quiet")
    run(source, *lane_options(*LANES, *MORE_LANES), "--min-df", "2", *outputs)
    return folder / "m"


def export(*arguments: str | Path, code: int = 0) -> str:
    result = wirerank("export", "weights", *map(str, arguments))
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


def python_blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)


def documented(block: int) -> dict[str, Any]:
    """Run the lines of the documentation, in the folder of the test."""
    Path("lines.py").write_text(python_blocks()[block])
    return runpy.run_path("lines.py")


def test_every_learner_is_here() -> None:
    assert {parse_spec(lane).learner for lane in LANES} == set(LEARNERS)
    assert set(HAVE_NO_WEIGHTS) < set(NAMES)


@pytest.mark.parametrize("lane", [name for name in NAMES if name not in HAVE_NO_WEIGHTS])
def test_the_documented_lines_rank_as_the_model_does(model: Path, lane: str) -> None:
    export(model, "weights.npz", "--lane", lane)
    lines = documented(0)
    parts = load_frozen_lanes(model, [lane], print)
    events = [Event(str(i), text, None, None, None) for i, text in enumerate(TEXTS)]
    ranked, _ = BlockRanker(parts, top=0).rank(make_block(events, TOKENIZER))
    for text, line in zip(TEXTS, ranked, strict=True):
        documented_scores, expected = lines["rank"](text), orjson.loads(line)
        if "rank" in expected:
            check_rank(lines, documented_scores, expected)
        else:
            check_ranking(documented_scores, expected["ranking"])


def check_ranking(actual: list[tuple[str, float]], expected: list[dict[str, Any]]) -> None:
    """Scores agree; the order may differ only where scores agree, too."""
    scores = {entry["topic"]: entry["score"] for entry in expected}
    assert dict(actual) == pytest.approx(scores, rel=1e-11, abs=1e-11)
    in_order = [scores[topic] for topic, _ in actual]
    assert in_order == pytest.approx(sorted(in_order, reverse=True), rel=1e-11, abs=1e-11)


def check_rank(
    lines: dict[str, Any], ranked: list[tuple[str, float]], expected: dict[str, Any]
) -> None:
    """The table of the documentation has the rule for each learner."""
    about, by_name = lines["about"], dict(ranked)
    scores = np.array([by_name[name] for name in lines["topics"]])
    rules = dict(re.findall(r"^\| `([a-z-]+)` \| `([^`]*scores[^`]*)` \|$", PAGE.read_text(), re.M))
    rule = rules[about["settings"]["learner"]]
    Path("rule.py").write_text(f"rank = {rule}\n")
    known = {"np": np, "scores": scores, "model": lines["model"], "about": about}
    assert int(runpy.run_path("rule.py", known)["rank"]) == expected["rank"]
    assert ranked[0][1] == pytest.approx(expected["score"], rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("lane", HAVE_NO_WEIGHTS)
def test_lanes_without_weights_are_refused(model: Path, lane: str) -> None:
    message = export(model, "weights.npz", "--lane", lane, code=2)
    assert f"Lane {lane} has no weights of terms: " in message
    assert not Path("weights.npz").exists()
    if lane == "stacked":
        assert "Ask for a lane that it combines: mmp:loss=1, arow." in message


@pytest.mark.parametrize("lane", [name for name in NAMES if name not in HAVE_NO_WEIGHTS])
def test_the_table_has_the_weights_of_the_arrays(model: Path, lane: str) -> None:
    export(model, "weights.npz", "--lane", lane)
    export(model, "weights.csv", "--lane", lane)
    export(model, "weights.csv.gz", "--lane", lane)
    assert gzip.decompress(Path("weights.csv.gz").read_bytes()) == Path("weights.csv").read_bytes()
    arrays = np.load("weights.npz", allow_pickle=False)
    terms, topics = (json.loads(arrays[key].tobytes()) for key in ("terms", "topics"))
    rows = np.repeat(np.arange(len(terms)), np.diff(arrays["starts"]))
    assert documented(1)["table"] == {
        (terms[row], topics[column]): weight
        for row, column, weight in zip(
            rows.tolist(), arrays["columns"].tolist(), arrays["weights"].tolist(), strict=True
        )
    }
    with Path("weights.csv").open(newline="") as file:
        others = [row for row in csv.DictReader(file) if row["kind"] != "weight"]
    assert [float(row["weight"]) for row in others] == [*arrays["bias"], *arrays["thresholds"]]


def test_weights_are_those_that_explain_scores(model: Path) -> None:
    """`contributions`, which the page and --why show, are values times these weights."""
    (part,) = load_frozen_lanes(model, (), print)
    BlockRanker([part], top=1)  # learners have room for all terms then
    terms = np.arange(len(part.engine.vocabulary))
    for lane in part.engine.lanes:
        weights = lane_weights(part, lane)
        assert (weights is None) == (lane.name in HAVE_NO_WEIGHTS)
        if weights is None or lane.spec.learner == "frequency":
            continue
        columns = len(weights.columns)
        rows = weights.rows(terms)
        dense = np.zeros((len(terms), columns))
        dense[rows.row_numbers(), rows.columns] = rows.values
        expected = lane.learner.contributions(
            terms.astype(np.int32), np.ones(len(terms)), np.arange(columns)
        )
        assert expected is not None
        assert np.array_equal(dense, expected), lane.name


def test_blocks_do_not_matter(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export(model, "a.npz", "--lane", "arow")
    export(model, "a.csv", "--lane", "feature-focus:d_max=4")
    monkeypatch.setattr("pipeline.weights.lane_weights.TERMS_AT_ONCE", 3)
    export(model, "b.npz", "--lane", "arow")
    export(model, "b.csv", "--lane", "feature-focus:d_max=4")
    assert Path("a.npz").read_bytes() == Path("b.npz").read_bytes()
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()
    assert Path("a.npz").stat().st_mode & 0o777 == 0o640
    with zipfile.ZipFile("a.npz") as archive:
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def hostile_model() -> str:
    events = [
        {"id": str(i), "features": {name: 1.0, f"x{name}": 2.0}, "topics": [name]}
        for i, name in enumerate(HOSTILE)
    ]
    lines = [orjson.dumps(event) for event in events]
    run(write_lines("h.jsonl", lines), "--lane", "mmp", "--save", "h.model", "--quiet")
    return "h.model"


def test_no_name_becomes_a_formula_and_no_name_is_lost() -> None:
    model = hostile_model()
    export(model, "weights.npz")
    export(model, "weights.csv")
    arrays = np.load("weights.npz", allow_pickle=False)
    assert json.loads(arrays["topics"].tobytes()) == HOSTILE
    assert set(HOSTILE) < set(json.loads(arrays["terms"].tobytes()))
    with Path("weights.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        for name in (row["term"], row["topic"]):
            assert not name.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
    assert [row["topic"].removeprefix("'") for row in rows if row["kind"] == "bias"] == HOSTILE
    table = documented(1)["table"]
    assert {topic for _, topic in table} == set(HOSTILE)
    assert {term for term, _ in table} > set(HOSTILE[1:])  # the first document has no rival topic
    assert [cell(name).removeprefix("'") for name in HOSTILE] == HOSTILE


def test_a_model_that_has_learned_nothing() -> None:
    source = write_lines("n.jsonl", [orjson.dumps({"id": "1", "text": "wheat"})])
    run(source, *lane_options("mmp", "feature-focus", "arow"), "--save", "n.model", "--quiet")
    for lane in ("mmp", "feature-focus", "arow"):
        export("n.model", "weights.npz", "--lane", lane)
        arrays = np.load("weights.npz", allow_pickle=False)
        assert json.loads(arrays["topics"].tobytes()) == []
        assert arrays["starts"].tolist() == [0, 0]
        export("n.model", "weights.csv", "--lane", lane)
        assert len(Path("weights.csv").read_text().splitlines()) == 1


def test_wrong_arguments_are_refused_before_anything_is_written(model: Path) -> None:
    assert "ends in .npz, .csv, .csv.gz" in export(model, "weights.parquet", code=2)
    assert "name one" in export(model, "-", code=2)
    assert "Choose one with --lane: mmp:loss=1, mean" in export(model, "w.npz", code=2)
    assert "has no lane 'champion'" in export(model, "w.npz", "--lane", "champion", code=2)
    assert "is not a folder" in export(model, "nowhere/w.npz", "--lane", "arow", code=2)
    assert "cannot be read" in export("missing", "w.npz", code=2)
    Path("text.npz").write_text("no model")
    assert "is not a model" in export("text.npz", "w.npz", code=2)
    assert "already read by this run" in export("text.npz", "text.npz", code=2)
    damaged = bytearray(model.read_bytes())
    damaged[-100] ^= 1
    Path("damaged").write_bytes(damaged)
    assert "damaged" in export("damaged", "w.npz", "--lane", "arow", code=1)
    assert not Path("w.npz").exists()


def test_a_folder_of_a_worker_and_a_snapshot_in_it() -> None:
    folder = Path("snapshots")
    snapshot = SnapshotFolder(folder).write(follower_of().snapshot(log="id", published=[]))
    export(folder, "a.npz", "--lane", "champion")
    export(snapshot, "b.npz", "--lane", "champion")
    assert Path("a.npz").read_bytes() == Path("b.npz").read_bytes()


def test_the_shards_of_a_lane_are_joined() -> None:
    follower = stream_follower("mmp", events=100)
    whole = SnapshotFolder(Path("whole")).write(follower.snapshot(log="id", published=[]))
    write_shards(Path("stream"), follower, 3)
    export(whole, "whole.csv", "--lane", "mmp")
    export("stream", "joined.csv", "--lane", "mmp")
    assert Path("joined.csv").read_bytes() == Path("whole.csv").read_bytes()
    shard = next(Path("stream").rglob(f"*{SUFFIX}"))
    assert "one shard of a lane" in export(shard, "shard.csv", code=2)
    assert "one shard of a lane" in wirerank("diff", str(shard), str(whole)).output


def test_a_table_goes_to_a_pipe(model: Path) -> None:
    export(model, "weights.csv", "--lane", "perceptron")
    os.mkfifo("pipe.csv")
    received = list[bytes]()
    reader = threading.Thread(target=lambda: received.append(Path("pipe.csv").read_bytes()))
    reader.start()
    export(model, "pipe.csv", "--lane", "perceptron")
    reader.join()
    assert received == [Path("weights.csv").read_bytes()]


def test_a_file_that_exists_is_replaced_only_by_a_whole_one(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("weights.npz").write_text("before")

    def broken(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("pipeline.weights.weights_file.write_json", broken)
    result = wirerank("export", "weights", str(model), "weights.npz", "--lane", "arow")
    assert isinstance(result.exception, OSError)
    assert Path("weights.npz").read_text() == "before"
    assert [path.name for path in Path().iterdir()] == ["weights.npz"]
