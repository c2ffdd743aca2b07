"""What an older version learned of probabilities is learned again, and that is said."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from learners.decisions.decider import FORMER_FEATURES
from learners.specs import parse_spec
from pipeline.engine.engine import Engine
from pipeline.follower import Follower
from pipeline.log.block import make_block
from pipeline.serving.model_source import ModelSource
from pipeline.serving.rank_request import Limits
from pipeline.snapshots.folder import SnapshotFolder
from pipeline.snapshots.new_deciders import new_deciders
from pipeline.snapshots.snapshot import Snapshot
from tests.pipeline.engine.test_engine import TOKENIZER, label, random_events, unlabelled
from tests.support.command_line import wirerank
from tests.support.saved_runs import event_lines, write_lines

SPECS = [parse_spec(lane) for lane in ("mmp:assign=f1,risk=0.2,name=sets", "perceptron")]
WARNING = "lane sets: an older version learned its probabilities and sets"


def new_follower() -> Follower:
    return Follower(Engine(SPECS, (), threads=1))


def older_snapshot() -> Snapshot:
    """A snapshot whose decider has other features, and no pairs of topics."""
    follower = new_follower()
    list(follower.engine.process(make_block(random_events(3, 200), TOKENIZER)))
    assert not [*new_deciders(follower.engine)]
    follower.position = 200
    snapshot = follower.snapshot(log="id", published=[], profile="reuters2000")
    del snapshot.arrays["lane0/decider/pairs"]
    snapshot.arrays["lane0/decider/weights"] = np.ones(FORMER_FEATURES)
    return snapshot


def test_a_restored_follower_says_it_and_learns_again(caplog: pytest.LogCaptureFixture) -> None:
    follower = new_follower()
    with caplog.at_level(logging.WARNING):
        follower.restore(older_snapshot())
    assert [WARNING in message for message in caplog.messages] == [True]
    list(follower.engine.process(make_block(random_events(4, 100), TOKENIZER)))
    again = new_follower()
    again.restore(follower.snapshot(log="id", published=[], profile="reuters2000"))
    assert not [*new_deciders(again.engine)]


def test_a_newer_state_is_known_to_be_newer() -> None:
    """The state of another version is restored, and then one of this version."""
    follower = new_follower()
    list(follower.engine.process(make_block(random_events(3, 200), TOKENIZER)))
    decider = follower.engine.lanes[0].decider
    assert decider is not None
    state = decider.state()
    older = {name: array for name, array in state.items() if name != "pairs"}
    decider.restore({**older, "weights": np.ones(FORMER_FEATURES)})
    assert decider.left_out
    decider.restore(state)
    assert not decider.left_out


def test_rounds_without_candidates_are_not_taken_for_those_of_an_older_version() -> None:
    """No topic is known when the documents are ranked: their labels all come later."""
    follower = new_follower()
    documents = [unlabelled(f"d{n}", {"w": 1.0}) for n in range(30)]
    labels = [label(f"d{n}", "t0") for n in range(30)]
    list(follower.engine.process(make_block([*documents, *labels], TOKENIZER)))
    again = new_follower()
    again.restore(follower.snapshot(log="id", published=[], profile="reuters2000"))
    assert again.engine.topic_group.rounds == 30
    assert not [*new_deciders(again.engine)]


def test_whoever_ranks_with_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = SnapshotFolder(Path("news"), 3)
    folder.write(older_snapshot())
    source = write_lines("e.jsonl", event_lines(4, 10))
    result = wirerank("rank", "news", source, "--rankings", "r.jsonl", "--processes", "1")
    assert result.exit_code == 0, result.output
    assert result.stderr.count(WARNING) == 1
    assert result.stderr.count("all documents are marked for review") == 1
    exported = wirerank("export", "model", "news", "news.model")
    assert exported.exit_code == 0, exported.output
    assert exported.stderr.count(WARNING) == 1
    said: list[str] = []
    ModelSource(Path("news"), (), None, 10, Limits(100)).load(said.append)
    assert [WARNING in line for line in said] == [True]
