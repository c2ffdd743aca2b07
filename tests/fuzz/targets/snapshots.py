"""Snapshots of every kind of lane, with correct checksums: restored, and then documents ranked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

from pipeline.snapshots.folder import KIND, VERSION
from pipeline.snapshots.inspection import inspect
from pipeline.snapshots.inspection_tables import as_json, description, listing
from pipeline.snapshots.snapshot import MismatchError, Snapshot
from pipeline.storage.container import DamagedError, pack, unpack
from tests.fuzz.target import Broken, Target, kind_of, scratch_folder
from tests.fuzz.targets.containers import ContainerMutator, checked
from tests.fuzz.targets.streams import check_rankings, new_follower, record_of

LANES: tuple[tuple[str, ...], ...] = (
    ("mmp",),
    ("mmp:loss=3,average=true,norm=l2",),
    ("perceptron:margin=0.5",),
    ("committee:size=3",),
    ("rocchio:refresh=5",),
    ("arow",),
    ("soft-arow",),
    ("mmp:kernel=poly2,budget=9,average=true",),
    ("feature-focus",),
    ("independent",),
    ("frequency",),
    ("prank:ranks=3",),
    ("widrow-hoff:ranks=3,kernel=poly2,budget=9",),
    ("multiclass-perceptron:ranks=3",),
    ("mmp:shards=2",),
    ("mmp", "frequency", "svm-map:of=[mmp,frequency],refit=6,window=12,name=stacked"),
)


class SnapshotTarget(Target):
    """Inputs are the number of a kind of lane, then a container."""

    kernels = True

    def __init__(self) -> None:
        self._mutator = ContainerMutator(KIND, VERSION, [seed[1:] for seed in self.seeds()])
        self._next = record_of(6, 30)

    def seeds(self) -> Sequence[bytes]:
        seeds = []
        for number, lanes in enumerate(LANES):
            follower = new_follower(lanes)
            for _ in follower.follow(record_of(30), 0, "a record"):
                pass
            snapshot = follower.snapshot(log="log", published=list(follower.names))
            container = pack(KIND, VERSION, snapshot.content, snapshot.arrays)
            seeds.append(bytes([number]) + container)
        return seeds

    def mutate(self, rng: Random, data: bytes, other: bytes) -> bytes:
        return data[:1] + self._mutator.mutate(rng, data[1:], other[1:])

    def blow_up(self, rng: Random, data: bytes) -> bytes:
        return data[:1] + self._mutator.blow_up(rng, data[1:], self.largest)

    def repair(self, data: bytes) -> bytes:
        return data[:1] + checked(data[1:])


class RestoredSnapshots(SnapshotTarget):
    """Snapshots of every kind of lane, restored: `pipeline/snapshots/snapshot.py`."""

    name = "snapshots"
    share = 0.04

    def run(self, data: bytes) -> str:
        if not data or data[0] >= len(LANES):
            return "no kind"
        follower = new_follower(LANES[data[0]])
        try:
            snapshot = Snapshot(*unpack(data[1:], KIND, VERSION, "a snapshot"))
            follower.restore(snapshot)
        except (DamagedError, MismatchError) as error:
            return f"{data[0]} {kind_of(error)}"
        follower.coverage.reached.clear()
        check_rankings(follower, follower.follow(self._next, 1, "a record"))
        follower.snapshot()
        return f"{data[0]} ranked"


class InspectedSnapshots(SnapshotTarget):
    """Snapshots as `wirerank inspect` reads them: `pipeline/snapshots/inspection.py`."""

    name = "inspect"
    share = 0.04

    def __init__(self) -> None:
        super().__init__()
        self._folder = scratch_folder()
        self._path = Path(self._folder.name) / "00000000000000000001-00000000.wirerank"

    def run(self, data: bytes) -> str:
        self._path.write_bytes(data[1:])
        (inspection,) = inspect(self._path)
        texts = [listing([inspection]), description(inspection) if inspection.good else ""]
        as_json([inspection], several=False)
        for text in texts:
            if not all(c.isprintable() or c == "\n" for c in text):
                raise Broken("control characters are printed")
        return "good" if inspection.good else str(inspection.problem)[60:90]

    def close(self) -> None:
        self._folder.cleanup()
