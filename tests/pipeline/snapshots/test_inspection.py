"""Inspections show the state of the engine, for people and for programs."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import orjson
import pytest

from learners.specs import parse_spec
from learners.svm_map.candidates import APPROVED, FIXED, GAIN
from learners.svm_map.stacker import Stacker
from pipeline.engine.engine import Engine
from pipeline.follower import Follower
from pipeline.snapshots.folder import SUFFIX, SnapshotFolder
from tests.pipeline.snapshots.followers import LANES, SETTINGS, STACKED_ALL, follower_of, stacker_of
from tests.support.command_line import wirerank


def test_the_facts_are_the_state_of_the_engine(path: Path, follower: Follower) -> None:
    engine = follower.engine
    facts = orjson.loads(wirerank("inspect", str(path), "--json").stdout)
    assert facts["good"]
    assert facts["path"] == str(path)
    assert facts["size_bytes"] == path.stat().st_size
    assert facts["position"] == follower.position == 5
    assert facts["log"] == "the log"
    assert (facts["documents"], facts["rounds"]) == (engine.documents, engine.rounds)
    assert facts["vocabulary_terms"] == len(engine.vocabulary)
    assert (facts["topics"], facts["topics_refused"]) == (len(engine.topics), engine.topics.refused)
    assert facts["pending_documents"] == len(engine.pending.documents) > 0
    assert facts["early_labels"] == len(engine.pending.early) > 0
    assert facts["expired_documents"] == engine.pending.expired_documents > 0
    assert facts["unmatched_labels"] == engine.pending.unmatched_labels > 0
    ranks = engine.rank_group
    assert facts["ranks"]["rounds"] == ranks.rounds > 0
    assert facts["ranks"]["pending_documents"] == len(ranks.pending.documents) > 0
    assert facts["ranks"]["expired_documents"] == ranks.pending.expired_documents > 0
    (source,) = facts["coverage"]
    assert source["topic"] == "wire.documents"
    assert (source["partition"], source["offset"]) == (3, 200)
    assert facts["settings"]["max_terms"] == 60
    assert facts["settings"]["declared_topics"] == 1
    for lane in engine.lanes:
        lane_facts = facts["lanes"][lane.name]
        assert lane_facts["rounds"] == lane.curve.rounds > 0
        losses = ("ranking_loss",) if lane.is_ordinal else ("loss1", "loss2", "loss3")
        assert {loss: lane_facts[loss] for loss in losses} == {
            loss: value for loss, value in lane.curve.last().values.items() if loss in lane_facts
        }
        assert lane_facts["published"] is (lane.name == "champion")
    assert facts["lanes"]["champion"]["learner"] == "perceptron"
    assert facts["lanes"]["champion"]["options"]["margin"] == 0.5
    assert facts["lanes"]["champion"]["model_bytes"] == sum(
        array.nbytes for array in engine.lanes[1].learner.state().values()
    )


def test_the_tables_show_the_facts(path: Path, follower: Follower) -> None:
    os.utime(path, (0, time.time() - 400))
    done = wirerank("inspect", str(path))
    assert done.exit_code == 0
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "position 5 of the log the log" in lines
    assert f"documents {follower.engine.documents}" in lines
    assert f"vocabulary terms {len(follower.engine.vocabulary)} of 60" in lines
    assert "wire.documents 3 200" in lines
    of_topics, of_ranks = follower.engine.topic_group, follower.engine.rank_group
    assert f"rounds {of_topics.rounds} and {of_ranks.rounds}" in lines
    waiting = [len(group.pending.documents) for group in (of_topics, of_ranks)]
    ceiling = follower.engine.settings.max_pending
    assert f"waiting documents {waiting[0]} and {waiting[1]} of {ceiling}" in lines
    assert not [line for line in lines if line.startswith("ignored labels")]  # either is learned
    assert "champion = perceptron:norm=none,margin=0.5,average=false" in lines
    loss = follower.engine.lanes[1].curve.last().values["loss1"]
    (champion,) = [line for line in lines if line.startswith("champion published")]
    assert loss is not None
    assert f" {100 * loss:.2f} " in champion
    assert "6 min ago" in done.stdout
    deep = path.parent / ("folder" * 30)
    deep.mkdir()
    assert str(path.rename(deep / path.name)) in wirerank("inspect", str(deep)).stdout


def test_a_snapshot_before_the_first_round_has_no_losses(tmp_path: Path) -> None:
    empty = Follower(Engine([parse_spec(LANES[0])], (), SETTINGS))
    path = SnapshotFolder(tmp_path).write(empty.snapshot(log="", published=[]))
    assert (
        orjson.loads(wirerank("inspect", str(path), "--json").stdout)["lanes"][LANES[0]]["loss1"]
        is None
    )
    assert "n.a." in wirerank("inspect", str(path)).stdout


@pytest.mark.parametrize("helped", [True, False])
def test_the_facts_of_a_stacker_have_its_weights(helped: bool, tmp_path: Path) -> None:
    follower = stacker_of(helped)
    path = SnapshotFolder(tmp_path).write(follower.snapshot(log="the log", published=["stacked"]))
    facts = orjson.loads(wirerank("inspect", str(path), "--json").stdout)["lanes"]
    learner = follower.engine.lanes[-1].learner
    assert isinstance(learner, Stacker)
    lane_facts = facts["stacked"]
    assert list(lane_facts["combines"]) == [LANES[0], LANES[2]]
    weights = [w for lane in lane_facts["combines"].values() for w in lane.values()]
    assert weights == learner.ranker.weights[APPROVED].tolist()
    assert len(set(weights)) > 2  # it was trained
    assert lane_facts["documents_kept"] == len(learner.lessons) == 30
    names = list(lane_facts["combines"])
    follows = names[learner.chosen] if learner.chosen < len(names) else None
    assert lane_facts["follows"] == follows
    assert (lane_facts["ranks_by"] == "lane") is (follows is not None)
    assert [facts[lane]["helper"] for lane in names] == [helped] * 2
    assert not lane_facts["helper"]
    assert "combines" not in facts[LANES[0]]
    lines = [" ".join(line.split()) for line in wirerank("inspect", str(path)).stdout.splitlines()]
    assert "weights of stacked score place lead" in lines
    shown = " ".join(f"{w:.4g}" for w in lane_facts["combines"][LANES[0]].values())
    assert f"{LANES[0]} {shown}" in lines
    (note,) = [line for line in lines if line.startswith("it ranks")]
    assert note.endswith("training documents kept: 30")
    assert bool([line for line in lines if line.startswith(f"{LANES[0]} helper")]) is helped
    listed = wirerank("inspect", str(tmp_path)).stdout
    assert ("good     stacked" in listed) is helped


def test_the_facts_of_a_stacker_name_what_it_ranks_by(tmp_path: Path) -> None:
    follower = stacker_of(helped=False)
    learner = follower.engine.lanes[-1].learner
    assert isinstance(learner, Stacker)
    sentences = ("as ", f"as {LANES[2]}, which has done better", "by a blend", "by these weights")
    for chosen, sentence in zip((0, 1, 2, 2 + FIXED), sentences, strict=True):
        learner.records.sums[:, :, :5] = 1.0
        learner.records.sums[:, chosen] = 0.0
        learner.records.sums[:, chosen, GAIN] = 1.0
        assert learner.chosen == chosen
        path = SnapshotFolder(tmp_path).write(follower.snapshot(log="", published=[]))
        assert f"it ranks {sentence}" in wirerank("inspect", str(path)).stdout


def test_a_stacker_before_its_first_document_has_no_weights(tmp_path: Path) -> None:
    empty = Follower(Engine([parse_spec(lane) for lane in (LANES[0], STACKED_ALL)], (), SETTINGS))
    path = SnapshotFolder(tmp_path).write(empty.snapshot(log="", published=[]))
    facts = orjson.loads(wirerank("inspect", str(path), "--json").stdout)["lanes"][STACKED_ALL]
    assert facts["combines"] == {LANES[0]: {"score": None, "place": None, "lead": None}}
    assert (facts["follows"], facts["ranks_by"], facts["documents_kept"]) == (None, None, 0)
    assert f"{LANES[0]} n.a. n.a. n.a." in " ".join(wirerank("inspect", str(path)).stdout.split())


@pytest.mark.parametrize("lane", ["mmp:loss=1", "prank:ranks=3"])
def test_one_lane_group_has_one_number_per_line(lane: str, tmp_path: Path) -> None:
    follower = follower_of((lane,))
    path = SnapshotFolder(tmp_path).write(follower.snapshot(log="the log", published=[]))
    lines = [" ".join(line.split()) for line in wirerank("inspect", str(path)).stdout.splitlines()]
    assert f"rounds {follower.engine.rounds}" in lines
    ignored = follower.engine.ignored_labels
    assert ignored > 0
    assert f"ignored labels {ignored}" in lines


def test_a_folder_is_listed_newest_first(path: Path, follower: Follower, tmp_path: Path) -> None:
    snapshot = follower.snapshot(log="the log", published=[])
    snapshot.content["position"] = 70
    newer = SnapshotFolder(path.parent).write(snapshot)
    other = SnapshotFolder(tmp_path / "snapshots" / "another").write(snapshot)
    (tmp_path / "snapshots" / "notes.txt").write_text("not looked at")
    done = wirerank("inspect", str(tmp_path / "snapshots"))
    assert done.exit_code == 0
    header, *lines = done.stdout.splitlines()
    assert header.split() == ["snapshot", "position", "size", "age", "state", "lanes"]
    assert [line.split()[0] for line in lines] == [str(other), str(newer), str(path)]
    assert [line.split()[1] for line in lines] == ["70", "70", "5"]
    assert all("good     mmp:loss=1, champion, frequency" in line for line in lines)
    inspection = orjson.loads(wirerank("inspect", str(path.parent), "--json").stdout)
    assert [one["position"] for one in inspection] == [70, 5]


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda data: data[:-9], "checksum"),
        (lambda data: data[: len(data) // 2] + b"\x07" + data[len(data) // 2 + 1 :], "checksum"),
        (lambda data: b"", "cut off: 0 bytes"),
        (lambda data: b"%PDF" + data[4:], "wrong file type"),
        (lambda data: data[:4] + b"\x63" + data[5:], "version 99, which a newer release wrote"),
    ],
)
def test_damage_is_named(damage: Any, reason: str, path: Path, follower: Follower) -> None:  # noqa: ANN401
    snapshot = follower.snapshot(log="the log", published=[])
    snapshot.content["position"] = 2
    SnapshotFolder(path.parent).write(snapshot)
    path.write_bytes(damage(path.read_bytes()))
    one = wirerank("inspect", str(path))
    assert one.exit_code == 1
    assert path.name in one.stderr
    assert reason in one.stderr
    assert not one.stdout
    every = wirerank("inspect", str(path.parent))
    assert every.exit_code == 1
    first, second, problem = every.stdout.splitlines()[1:]
    assert first.split()[-1] == "damaged"
    assert "good" in second
    assert reason in problem
    machine = wirerank("inspect", str(path), "--json")
    assert machine.exit_code == 1
    assert orjson.loads(machine.stdout)["good"] is False
    assert reason in orjson.loads(machine.stdout)["problem"]


def test_files_that_are_no_snapshots_are_refused(tmp_path: Path) -> None:
    text, pipe, loop = tmp_path / "notes.txt", tmp_path / "pipe", tmp_path / "loop"
    text.write_text("WRITE")
    os.mkfifo(pipe)
    loop.symlink_to(loop)
    for given, message in (
        (text, "is neither a model nor a snapshot"),
        (pipe, "neither a file nor a folder"),
        (loop, "cannot be read: Too many levels of symbolic links"),
        (tmp_path / "absent", "cannot be read: No such file"),
        (tmp_path, "holds no snapshots"),
    ):
        done = wirerank("inspect", str(given))
        assert done.exit_code == 2, done.stdout
        assert str(given) in done.stderr
        assert message in done.stderr


def test_an_unreadable_file_does_not_hide_the_others(path: Path) -> None:
    (path.parent / f"loop{SUFFIX}").symlink_to(path.parent / f"loop{SUFFIX}")
    os.mkfifo(path.parent / f"pipe{SUFFIX}")
    done = wirerank("inspect", str(path.parent))
    assert done.exit_code == 1
    assert done.stdout.count("damaged") == 2
    assert "Too many levels of symbolic links" in done.stdout
    assert "neither a file nor a folder" in done.stdout
    assert "good     mmp" in done.stdout


def test_a_snapshot_may_have_any_file_name(path: Path, tmp_path: Path) -> None:
    moved = path.rename(tmp_path / "kept")
    assert wirerank("inspect", str(moved)).exit_code == 0
    moved.write_bytes(moved.read_bytes()[:-1])
    assert wirerank("inspect", str(moved)).exit_code == 1
