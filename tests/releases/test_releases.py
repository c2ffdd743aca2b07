"""The present code reads what every release wrote, and ranks as that release did."""

from __future__ import annotations

import base64
import re
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from consumers.kafka.batch_decoder import ConsumedRecord
from consumers.sharding.score_records import ScoreRecords
from pipeline import load
from pipeline.log.record import decode_record
from pipeline.models.backup import place_of, snapshot_in_log
from pipeline.models.model_file import read_model, read_whole
from pipeline.release import release
from pipeline.snapshots.folder import SnapshotFolder, read_snapshot
from pipeline.storage.container import NewerFormatError
from tests.releases.writing import (
    BACKUP_PLACE,
    FOLDER,
    LANES,
    PASSED_ON,
    SCORES,
    SNAPSHOT_AT,
    answer,
    new_follower,
    rankings,
    records,
    replay,
    write_release,
)

RELEASES = sorted(
    path.name for path in FOLDER.iterdir() if re.fullmatch(r"\d+\.\d+\.\d+", path.name)
)
# The keys of a record of the log. Learners of older releases ignore a key that they do not know. So
# a key that they must not ignore needs a new version of the format, and only others are added here.
RECORD_KEYS = {1: {"arrived", "spans", "ids", "rows", "topics", "times", "ranks", "passed_on"}}


def read_log(folder: Path) -> list[bytes]:
    return [base64.b64decode(text) for text in orjson.loads((folder / "log.json").read_bytes())]


def read_scores(folder: Path) -> Any:  # noqa: ANN401 - a message
    kept = orjson.loads((folder / "scores.json").read_bytes())
    value = base64.b64decode(kept["value"])
    return ConsumedRecord("news.scores", 0, 5, 0, value, kept["key"].encode())


def with_version(data: bytes, version: int) -> bytes:
    """A container as another version of the format would begin."""
    return data[:4] + struct.pack("<H", version) + data[6:]


def version_of(data: bytes) -> int:
    (version,) = struct.unpack_from("<H", data, 4)
    return int(version)


@pytest.fixture(params=RELEASES)
def folder(request: pytest.FixtureRequest) -> Path:
    return FOLDER / str(request.param)


def test_there_are_releases() -> None:
    assert RELEASES


def test_a_log_is_followed_from_its_beginning(folder: Path) -> None:
    follower = new_follower()
    made = list(rankings(follower, read_log(folder), 0))
    assert made == (folder / "rankings.jsonl").read_bytes().splitlines()
    assert {orjson.loads(line)["lane"] for line in made} == set(LANES)
    first = decode_record(read_log(folder)[0], "the first record").block.entries[0]
    assert first.passed_on == PASSED_ON


def test_a_snapshot_is_restored(folder: Path) -> None:
    """And the rankings of the rest of the log follow from it."""
    damaged: list[str] = []
    snapshot = SnapshotFolder(folder / "snapshots").newest(damaged)
    assert snapshot is not None, damaged
    follower = new_follower()
    follower.restore(snapshot)
    made = list(rankings(follower, read_log(folder), SNAPSHOT_AT))
    expected = (folder / "rankings.jsonl").read_bytes().splitlines()
    assert 0 < len(made) < len(expected)
    assert made == expected[-len(made) :]


def test_a_stream_goes_on_from_a_backup(folder: Path) -> None:
    backup = read_whole(folder / "news.backup")
    assert place_of(backup.content, backup.name) == BACKUP_PLACE
    follower = new_follower()
    follower.restore(snapshot_in_log(backup))
    made = list(rankings(follower, read_log(folder), SNAPSHOT_AT))
    assert made == (folder / "rankings.jsonl").read_bytes().splitlines()[-len(made) :]


def test_a_replay_goes_on_from_a_model(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "release")
    target = tmp_path / "rankings.jsonl"
    replay(folder, "--resume", str(tmp_path / "release/news.model"), "--rankings", str(target))
    assert target.read_bytes() == (folder / "resumed.jsonl").read_bytes()


@pytest.mark.parametrize("name", ["mmp", "arow", "prank"])
def test_a_learner_is_loaded(folder: Path, name: str) -> None:
    answers = orjson.loads((folder / "answers.json").read_bytes())
    assert answer(load(folder / f"{name}.learner")) == answers[name]


def test_scores_of_a_shard_are_read(folder: Path) -> None:
    found = ScoreRecords("news.scores", "news", "mmp", "epoch", 2).decode(read_scores(folder), 0)
    assert found is not None
    assert (found.number, found.shard, found.content) == (7, 1, SCORES)


def test_records_have_the_keys_of_their_version(folder: Path) -> None:
    for record in [*records(), *read_log(folder)]:
        length = struct.unpack_from("<I", record, 12)[0]
        keys = orjson.loads(record[16 : 16 + length])["content"].keys()
        assert keys <= RECORD_KEYS[version_of(record)]


def test_the_present_code_writes_what_is_read_here(tmp_path: Path) -> None:
    """The script that keeps a release works, so that it works on the day of a release."""
    write_release(tmp_path / "made")
    newest = max(RELEASES, key=lambda name: tuple(map(int, name.split("."))))
    made = {p.relative_to(tmp_path / "made") for p in (tmp_path / "made").rglob("*") if p.is_file()}
    assert made == {
        p.relative_to(FOLDER / newest) for p in (FOLDER / newest).rglob("*") if p.is_file()
    }
    test_a_log_is_followed_from_its_beginning(tmp_path / "made")
    test_a_snapshot_is_restored(tmp_path / "made")


def newer_record(folder: Path, tmp_path: Path) -> None:
    record = read_log(folder)[0]
    decode_record(with_version(record, version_of(record) + 1), "offset 17")


def newer_snapshot(folder: Path, tmp_path: Path) -> None:
    (path,) = (folder / "snapshots").iterdir()
    data = path.read_bytes()
    (tmp_path / path.name).write_bytes(with_version(data, version_of(data) + 1))
    read_snapshot(tmp_path / path.name)


def newer_learner(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "new").write_bytes(with_version((folder / "mmp.learner").read_bytes(), 2))
    load(tmp_path / "new")


def newer_scores(folder: Path, tmp_path: Path) -> None:
    message = read_scores(folder)
    newer: Any = message._replace(value=with_version(message.value, 2))
    ScoreRecords("news.scores", "news", "mmp", "epoch", 2).decode(newer, 0)


@pytest.mark.parametrize(
    ("read", "name", "advice"),
    [
        (newer_record, "offset 17", "Upgrade the learners first"),
        (newer_snapshot, "wirerank", "Use that release or a newer one"),
        (newer_learner, "new", "Use that release or a newer one"),
        (newer_scores, "news.scores, offset 5", "Upgrade all shards of the lane together"),
    ],
    ids=["record", "snapshot", "learner", "scores"],
)
def test_a_format_of_the_future_is_refused(
    read: Callable[[Path, Path], None], name: str, advice: str, tmp_path: Path
) -> None:
    with pytest.raises(NewerFormatError) as raised:
        read(FOLDER / RELEASES[-1], tmp_path)
    message = str(raised.value)
    assert name in message
    assert "which a newer release wrote" in message
    assert f"this is Wirerank {release()}, which reads version" in message
    assert advice in message


def test_a_model_of_the_future_names_its_release(tmp_path: Path) -> None:
    """The key `model` has a format of its own, and the release that wrote it."""
    data = (FOLDER / RELEASES[-1] / "news.model").read_bytes()
    newer = data.replace(f'"release":"{RELEASES[-1]}"'.encode(), b'"release":"9.9.9"')
    assert newer != data
    (tmp_path / "news.model").write_bytes(with_version(newer, version_of(data) + 1))
    with pytest.raises(Exception, match=r"was written by Wirerank 9\.9\.9") as raised:
        read_model(tmp_path / "news.model")
    assert "use Wirerank 9.9.9" in str(raised.value)
