"""Whatever happens to the bytes of a snapshot, recovery decides as if the file were not there."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from consumers.assignment import ShardAssignment
from consumers.kafka.log_reader import LogDescription
from consumers.learner.recovery import Recovery
from consumers.sharding.resharding import UsableSnapshots, reshard_snapshots, shard_snapshot
from consumers.sharding.snapshot_folders import shard_folder
from learners.specs import parse_spec
from pipeline.engine.engine import Engine, EngineSettings
from pipeline.follower import Follower
from pipeline.log.block import make_block
from pipeline.snapshots.folder import SnapshotFolder
from pipeline.storage.container import LENGTH, PREFIX
from pipeline.text.feature_settings import FeatureSettings
from tests.pipeline.engine.test_engine import TOKENIZER, random_events

SETTINGS = EngineSettings(FeatureSettings(max_terms=16), max_topics=3, max_pending=2)
KINDS = (
    "mmp:average=true", "perceptron", "arow", "soft-arow", "committee:size=2", "rocchio",
    "frequency", "feature-focus", "independent", "prank:ranks=3", "widrow-hoff:ranks=3",
    "multiclass-perceptron:ranks=3", "mmp:kernel=poly2", "svm-map:of=[mmp:loss=1]",
)  # fmt: skip
SMALL = "frequency"


def new_follower(lanes: Sequence[str]) -> Follower:
    specs = [parse_spec(lane) for lane in lanes]
    return Follower(Engine(specs, (), SETTINGS, threads=1))


def learned(lane: str, position: int, documents: int = 12) -> Follower:
    """A follower that has learned a little."""
    lanes = ["mmp:loss=1", lane] if lane.startswith("svm-map") else [lane]
    follower = new_follower(lanes)
    for _ in follower.engine.process(make_block(random_events(3, documents), TOKENIZER)):
        pass
    follower.position = position
    return follower


def write(folder: Path, lane: str, position: int) -> Path:
    follower = learned(lane, position)
    return SnapshotFolder(folder, 9).write(follower.snapshot(log="id", published=follower.names))


def recovered(
    folder: Path, lanes: Sequence[str], published: dict[str, int], missing: Sequence[str] = ()
) -> tuple[dict[str, int], dict[str, int], list[str]]:
    """Where lanes resume, from where they publish, and the problems of snapshots."""
    recovery = Recovery(
        SnapshotFolder(folder, 9), LogDescription("blocks", "id", 0, 1000), dict(published),
        new_follower, missing,
    )  # fmt: skip
    followers = recovery.followers(lanes)
    for follower in followers:
        follower.engine.close()
    positions = {name: f.position for f in followers for name in f.names}
    return positions, recovery.published, recovery.damaged


def flips(data: bytes, every: int = 1) -> Iterator[bytes]:
    """Yield the data with one bit changed: in each byte of the header, in some of the arrays."""
    (length,) = LENGTH.unpack_from(data, PREFIX.size)
    header = PREFIX.size + LENGTH.size + length
    for at in (*range(0, header, 1 if every == 1 else 7), *range(header, len(data), every)):
        changed = bytearray(data)
        changed[at] ^= 1 << at % 8
        yield bytes(changed)


@pytest.mark.slow
def test_no_flipped_bit_moves_a_lane(tmp_path: Path) -> None:
    """Not one of them: the offsets are those without the file, with or without committed ones."""
    path = write(tmp_path, SMALL, 30)
    write(tmp_path, SMALL, 20)
    data = path.read_bytes()
    assert recovered(tmp_path, [SMALL], {SMALL: 40})[:2] == ({SMALL: 30}, {SMALL: 40})
    for broken in flips(data):
        path.write_bytes(broken)
        positions, published, damaged = recovered(tmp_path, [SMALL], {SMALL: 40})
        assert (positions, published) == ({SMALL: 20}, {SMALL: 40})
        assert [problem for problem in damaged if str(path) in problem]


def test_no_flipped_bit_is_trusted_for_a_lost_offset(tmp_path: Path) -> None:
    path = write(tmp_path, SMALL, 30)
    write(tmp_path, SMALL, 20)
    for broken in flips(path.read_bytes(), every=97):
        path.write_bytes(broken)
        positions, published, _ = recovered(tmp_path, [SMALL], {SMALL: 0}, [SMALL])
        assert (positions, published) == ({SMALL: 20}, {SMALL: 20})


@pytest.mark.slow
def test_a_snapshot_is_used_whole_or_not_at_all(tmp_path: Path) -> None:
    path = write(tmp_path, SMALL, 30)
    data = path.read_bytes()
    for length in range(len(data)):
        os.truncate(path, 0)
        path.write_bytes(data[:length])
        positions, published, damaged = recovered(tmp_path, [SMALL], {SMALL: 40})
        assert (positions, published) == ({SMALL: 0}, {SMALL: 40})
        assert len(damaged) == 1
    for more in (b"\0", data):
        path.write_bytes(data + more)
        assert recovered(tmp_path, [SMALL], {SMALL: 40})[0] == {SMALL: 0}


@pytest.mark.slow
@pytest.mark.parametrize("lane", KINDS)
def test_every_kind_of_lane_passes_over_damage(lane: str, tmp_path: Path) -> None:
    path = write(tmp_path, lane, 30)
    write(tmp_path, lane, 20)
    lanes = learned(lane, 0, 0).names
    offsets = dict.fromkeys(lanes, 40)
    data = path.read_bytes()
    for broken in flips(data, every=len(data) // 40):
        path.write_bytes(broken)
        assert recovered(tmp_path, lanes, offsets)[0] == dict.fromkeys(lanes, 20)


def test_no_flipped_bit_divides_a_lane_elsewhere(tmp_path: Path) -> None:
    """Shards decide by the snapshots of all shards, and must all decide alike."""
    lane = "mmp:average=true"
    spec, whole = parse_spec(lane), learned(lane, 100).snapshot(log="id", published=[lane])
    shares = [ShardAssignment(lane, number, 2) for number in range(2)]
    SnapshotFolder(tmp_path).write(whole)
    paths = []
    for share in shares:
        made = shard_snapshot([learned(lane, 150).snapshot(log="id", published=[lane])], share)
        made.content["exchange"] = {"begun": 100, "scores": 7}
        paths.append(SnapshotFolder(shard_folder(tmp_path, share)).write(made))
    usable = UsableSnapshots(lane, "id", spec.settings)
    assert {d.position for d in usable.divisions(tmp_path)} == {100, 150}
    data = paths[1].read_bytes()
    for broken in flips(data, every=len(data) // 200):
        paths[1].write_bytes(broken)
        assert usable.by_position(paths[1].parent) == {}
        assert {d.position for d in usable.divisions(tmp_path)} == {100}
    for share in shares:  # now the whole lane is the newest place that both have
        reshard_snapshots(tmp_path, 3, share, "id", spec.settings)
        newest = SnapshotFolder(shard_folder(tmp_path, share)).descriptions([])
        assert 100 in [snapshot.position for _, snapshot in newest]


def test_a_folder_that_is_no_folder_has_no_snapshots(tmp_path: Path) -> None:
    """A recovery does not need to write."""
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / "missing"):
        assert recovered(path, [SMALL], {SMALL: 40}) == ({SMALL: 0}, {SMALL: 40}, [])
        reshard_snapshots(path, 3, ShardAssignment("mmp", 0, 2), "id", {})
    assert not (tmp_path / "missing").exists()
