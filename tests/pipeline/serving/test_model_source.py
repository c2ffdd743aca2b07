"""Newer snapshots in the folder of a worker are taken up; the folder is only read."""

from __future__ import annotations

import os
from pathlib import Path

import orjson
import pytest

from pipeline.serving.model_source import CurrentModel, ModelSource
from pipeline.serving.rank_request import Limits
from pipeline.snapshots.folder import SUFFIX
from tests.pipeline.ranking.test_rank import follower_of, snapshot_to, write_shards

WRITTEN = 1_000_000_000  # a time of files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "news"


def current_of(folder: Path, *lanes: str) -> CurrentModel:
    source = ModelSource(folder, lanes, None, 10, Limits(10))
    state = source.state()
    return CurrentModel(source, source.load(print), state)


def rank(current: CurrentModel) -> dict[str, object]:
    (reply,) = current.answer([b'{"text": "w1 w2"}'])
    answer: dict[str, object] = orjson.loads(reply.body)
    return answer


def test_the_newest_snapshot_answers_and_nothing_is_written(folder: Path) -> None:
    snapshot_to(folder, follower_of("mmp", events=100))
    current = current_of(folder)
    lines = list[str]()
    current.refresh(lines.append)
    assert (current.reloads, lines) == (0, [])
    snapshot_to(folder, follower_of("mmp", events=200))
    before = {path: path.read_bytes() for path in folder.iterdir()}
    older = current.model
    current.refresh(lines.append)
    assert current.reloads == 1
    assert current.model.documents > older.documents
    assert rank(current)["model"]["documents"] == current.model.documents  # type: ignore[index]
    assert "serving a newer model" in lines[0]
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_a_damaged_snapshot_does_not_replace_a_good_one(folder: Path) -> None:
    snapshot_to(folder, follower_of("mmp", events=100))
    current = current_of(folder)
    older = current.model.documents
    newer = snapshot_to(folder, follower_of("mmp", events=200))
    newer.write_bytes(newer.read_bytes()[:-1])
    lines = list[str]()
    current.refresh(lines.append)
    assert current.model.documents == older
    assert "damaged" in lines[0]


def test_a_folder_that_disappears_leaves_the_present_model(folder: Path) -> None:
    path = snapshot_to(folder, follower_of("mmp", events=100))
    current = current_of(folder)
    path.unlink()
    current.refresh(print)
    (folder / f"foreign{SUFFIX}").write_bytes(b"x")
    current.refresh(print)
    assert (current.reloads, current.failures) == (0, 1)
    assert rank(current)["rankings"]


def test_a_lane_in_shards_is_served_and_its_age_is_that_of_the_oldest_file(folder: Path) -> None:
    write_shards(folder, follower_of("mmp", events=100), 2)
    files = sorted(folder.glob(f"shards/*/*/*{SUFFIX}"))
    for number, file in enumerate(files):
        os.utime(file, (WRITTEN, WRITTEN + number))
    current = current_of(folder)
    assert rank(current)["rankings"]
    assert current.model.saved == WRITTEN
    lines = list[str]()
    write_shards(folder, follower_of("mmp", events=200), 2)
    current.refresh(lines.append)
    assert current.reloads == 1
    assert current.model.saved > WRITTEN + 1
