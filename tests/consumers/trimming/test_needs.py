"""Which records of the log are needed: by every lane and shard, and by what is in doubt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from consumers.assignment import ShardAssignment
from consumers.backup.errors import BackupError
from consumers.backup.lane_states import check_beginnings
from consumers.kafka.log_reader import LogDescription
from consumers.sharding.snapshot_folders import shard_folder
from consumers.snapshot_copies.object_store import ObjectStore
from consumers.snapshot_copies.uploader import key_prefix
from consumers.stream_settings import LaneSettings
from consumers.trimming.copy_needs import copy_needs
from consumers.trimming.forgetting import forget_lanes
from consumers.trimming.needs import Need, all_needs
from consumers.trimming.survey import survey_snapshots
from learners.specs import parse_spec, resolved
from pipeline.engine.engine import Engine
from pipeline.errors import UsageError
from pipeline.follower import Follower
from pipeline.log.coverage import Coverage
from pipeline.snapshots.content import Description
from pipeline.snapshots.folder import SnapshotFolder, VerifiedFiles

A, B = "mmp:loss=1", "perceptron"
LOG = LogDescription("wire.blocks", "id", 0, 100)


def keep(
    folder: Path,
    position: int,
    lanes: Sequence[str] = (A, B),
    published: Sequence[str] = (A, B),
    log: str = "id",
    **extra: object,
) -> Path:
    """Write a snapshot of lanes at a position."""
    made = Follower(Engine(resolved([parse_spec(lane) for lane in lanes])))
    made.position = position
    content = made.snapshot(log=log, published=list(published), **extra)
    return SnapshotFolder(folder, 99).write(content)


def needs(
    folder: Path,
    lanes: Sequence[str] = (A, B),
    committed: Mapping[str, int] | None = None,
    shards: int = 1,
    log: LogDescription = LOG,
) -> dict[str, Need]:
    """What is needed if lanes keep two snapshots each."""
    survey = survey_snapshots(folder, VerifiedFiles())
    assert not survey.damaged
    settings = [LaneSettings(spec=lane, shards=shards) for lane in lanes]
    offsets = dict.fromkeys(lanes, 90) if committed is None else committed
    return {need.who: need for need in all_needs(settings, 2, folder, survey, log, offsets)}


def test_the_oldest_of_the_newest_snapshots(tmp_path: Path) -> None:
    for position in (10, 20, 30):
        keep(tmp_path, position)
    keep(tmp_path, 40, [A])
    found = needs(tmp_path)
    assert {who: need.position for who, need in found.items()} == {
        f"lane {A}": 30,
        f"lane {B}": 20,
    }


def test_a_worker_that_replaces_a_snapshot_during_the_survey(tmp_path: Path) -> None:
    """The folder is listed again. Otherwise the lane would have a snapshot too few."""
    paths = [keep(tmp_path, position) for position in (10, 20)]

    class Replaced(VerifiedFiles):
        def describe(self, path: Path) -> Description:
            if paths[0].exists():
                keep(tmp_path, 30)
                paths[0].unlink()
            return super().describe(path)

    survey = survey_snapshots(tmp_path, Replaced())
    assert sorted(one.position for one in survey.found) == [20, 30]


def test_the_log_goes_back_to_the_newest_copies(tmp_path: Path) -> None:
    """Of each lane and shard, in the store that a new machine begins with."""
    pytest.importorskip("obstore", reason="pip install 'wirerank[object-store]'")
    folder, copies = tmp_path / "wire", tmp_path / "copies"
    copied = [keep(folder, position) for position in (10, 20)]
    keep(folder, 30)
    shards = [shard_folder(folder, ShardAssignment("x", shard, 2)) for shard in (0, 1)]
    copied += [keep(shard, 15 + n, ["mmp:name=x"], ["x"]) for n, shard in enumerate(shards)]
    store = ObjectStore(copies.as_uri())
    lanes = [LaneSettings(spec=A), LaneSettings(spec="mmp:name=x", shards=2)]
    survey = survey_snapshots(folder, VerifiedFiles())

    def found(**committed: int) -> dict[str, int | None]:
        offsets = {A: 90, "x": 90, **committed}
        needs = copy_needs(store, lanes, folder, survey, LOG, offsets)
        return {need.who: need.position for need in needs}

    whole, first, second = (f"the copy of lane {n}" for n in (A, "x shard 0/2", "x shard 1/2"))
    assert found() == {whole: None, first: None, second: None}
    for path in copied:
        store.put(key_prefix(folder, path.parent) + path.name, path)
    assert found() == {whole: 20, first: 15, second: 16}
    assert found(x=15) == {whole: 20, first: 15, second: 16}  # only the first shard publishes
    assert found(x=14)[first] is None
    store.put(f"wire/{99:020d}-00000000.wirerank", copied[0])  # of other lanes
    store.put(f"wire/{101:020d}{copied[0].name[20:]}", copied[0])  # of another, longer log
    assert found()[whole] == 20


def test_a_lane_with_too_few_snapshots_needs_everything(tmp_path: Path) -> None:
    keep(tmp_path, 10)
    keep(tmp_path, 20, [A])
    need = needs(tmp_path)[f"lane {B}"]
    assert need.position is None
    assert "it has 1 of 2 snapshots" in need.reason
    assert str(tmp_path) in need.reason


def test_a_lane_without_any_snapshot_or_folder_needs_everything(tmp_path: Path) -> None:
    for need in needs(tmp_path / "missing").values():
        assert need.position is None
        assert "it has 0 of 2 snapshots" in need.reason


def test_a_lane_resumes_at_its_committed_offset(tmp_path: Path) -> None:
    """Snapshots behind it do not count: the broker may have lost commits."""
    for position in (10, 20, 30, 40):
        keep(tmp_path, position)
    found = needs(tmp_path, committed={A: 25, B: 40})
    assert found[f"lane {A}"].position == 10
    assert found[f"lane {B}"].position == 30
    assert needs(tmp_path, committed={A: 5, B: 40})[f"lane {A}"].position is None


def test_a_lane_whose_offset_the_broker_has_forgotten(tmp_path: Path) -> None:
    """Then snapshots tell what is published, unless the lane was only watched until now."""
    keep(tmp_path, 10, published=[A])
    keep(tmp_path, 20, published=[A])
    found = needs(tmp_path, committed={})
    assert found[f"lane {A}"].position == 10
    assert found[f"lane {B}"].position is None


@pytest.mark.parametrize(("log", "position"), [("another", 50), ("id", 101)])
def test_a_snapshot_of_another_log_is_in_doubt(log: str, position: int, tmp_path: Path) -> None:
    for at in (10, 20, 30):
        keep(tmp_path, at)
    keep(tmp_path, position, [A], log=log)
    need = needs(tmp_path, committed={A: 200, B: 90})[f"lane {A}"]
    assert need.position is None
    assert f"offset {position} of another log" in need.reason


def test_a_snapshot_with_other_settings_is_in_doubt(tmp_path: Path) -> None:
    for at in (10, 20):
        keep(tmp_path, at, ["mmp:loss=2,name=x"], ["x"])
    need = needs(tmp_path, ["mmp:loss=1,name=x"], {"x": 90})["lane x"]
    assert need.position is None
    assert "other settings" in need.reason


def test_every_shard_counts_by_itself(tmp_path: Path) -> None:
    for shard, positions in enumerate([(10, 20, 30), (10, 20)]):
        folder = shard_folder(tmp_path, ShardAssignment(A, shard, 2))
        for position in positions:
            keep(folder, position, [A], [A] if shard == 0 else [])
    keep(shard_folder(tmp_path, ShardAssignment(A, 1, 2)), 40, [A], [], passing=True)
    keep(tmp_path, 5, [A])  # of the time when it had no shards
    found = needs(tmp_path, [A], shards=2)
    assert {who: need.position for who, need in found.items()} == {
        f"lane {A} shard 0/2": 20,
        f"lane {A} shard 1/2": 10,
    }
    assert needs(tmp_path, [A], shards=3)[f"lane {A} shard 2/3"].position is None


def test_a_lane_that_is_not_in_the_configuration_needs_its_oldest_snapshot(tmp_path: Path) -> None:
    for position in (10, 20):
        keep(tmp_path, position)
    for position in (30, 40):
        keep(tmp_path, position, [A])
    found = needs(tmp_path, [A])
    assert [need.position for need in found.values()] == [30, 10]
    trimmed = LogDescription("wire.blocks", "id", 15, 100)
    assert [need.position for need in needs(tmp_path, [A], log=trimmed).values()] == [30, 20]
    gone = LogDescription("wire.blocks", "id", 25, 100)
    assert [need.position for need in needs(tmp_path, [A], log=gone).values()] == [30]


def test_a_lane_is_forgotten_when_asked(tmp_path: Path) -> None:
    for position in (10, 20):
        keep(tmp_path, position)
    keep(tmp_path, 30, [A])
    with pytest.raises(UsageError, match="which has only 1 of 2 newer snapshots"):
        forget_lanes(tmp_path, [B], 2, dry=False)
    keep(tmp_path, 40, [A])
    with pytest.raises(UsageError, match="no snapshot of this lane"):
        forget_lanes(tmp_path, ["C"], 2, dry=False)
    assert len(forget_lanes(tmp_path, [B], 2, dry=True)) == 2
    assert len(needs(tmp_path, [A])) == 2
    assert len(forget_lanes(tmp_path, [B], 2, dry=False)) == 2
    assert [need.position for need in needs(tmp_path, [A]).values()] == [30]


def test_damaged_files_and_closed_folders_are_noticed(tmp_path: Path) -> None:
    keep(tmp_path, 10)
    path = keep(tmp_path, 20)
    verified = VerifiedFiles()
    assert survey_snapshots(tmp_path, verified).damaged == []
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    survey = survey_snapshots(tmp_path, verified)
    assert [str(path) in problem for problem in survey.damaged] == [True]
    assert [one.position for one in survey.found] == [10]


def test_lanes_with_other_beginnings_are_not_backed_up_together() -> None:
    early, late = Follower(Engine([parse_spec(A)])), Follower(Engine([parse_spec(B)]))
    late.begin_at(7, Coverage())
    early.position = 7
    check_beginnings([early])
    with pytest.raises(BackupError, match=r"mmp:loss=1 at offset 0; perceptron at offset 7"):
        check_beginnings([early, late])
