"""Copies of snapshots on a real S3 server that is away, slow, fails, or cuts answers off."""

from __future__ import annotations

import logging
import subprocess
import sys
import time
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from consumers.snapshot_copies import uploader as uploading
from consumers.snapshot_copies.fetching import CopyFetcher
from consumers.snapshot_copies.object_store import ObjectStore, StoreError
from consumers.snapshot_copies.uploader import Uploader
from learners.specs import parse_spec
from pipeline.engine.engine import Engine
from pipeline.events.event import Event
from pipeline.log.block import make_block
from pipeline.metrics.collectors import LearnerMetrics
from pipeline.snapshots.folder import SnapshotFolder
from pipeline.snapshots.snapshot import Snapshot, take_snapshot
from pipeline.text.tokenizer import Tokenizer
from tests.conftest import REPOSITORY
from tests.support.kafka_stream import eventually
from tests.support.s3.faulty_proxy import Fault, FaultyProxy
from tests.support.s3.server import BUCKET, PASSWORD

pytestmark = pytest.mark.slow

IDENTITY = "the log"


def snapshot_at(position: int, *lanes: str) -> Snapshot:
    """A snapshot of a worker, of about 100 kB."""
    engine = Engine([parse_spec(lane) for lane in lanes or ("mmp:loss=1",)])
    text = " ".join(f"word{number}" for number in range(3000))
    block = make_block([Event("1", text, ("grain",), None, None)], Tokenizer("reuters2000"))
    for _ in engine.process(block):
        pass
    snapshot = take_snapshot(engine, position)
    snapshot.content.update(log=IDENTITY, published=[], coverage=[])
    engine.close()
    return snapshot


class Machine:
    """A folder of snapshots, and its copies in the bucket."""

    def __init__(self, folder: Path, name: str, keep: int = 3) -> None:
        self.folder = SnapshotFolder(folder, keep)
        self.store = ObjectStore(f"s3://{BUCKET}/{name}")
        self.registry = CollectorRegistry()
        self.metrics = LearnerMetrics(self.registry, "wire")
        self.uploader = Uploader(self.store, folder, "wire/", keep, self.metrics)
        self.damaged = 0

    def write(self, position: int, *lanes: str) -> Path:
        path = self.folder.write(snapshot_at(position, *lanes))
        self.uploader.offer(path)
        return path

    def copies(self) -> list[int]:
        """The positions of the copies."""
        keys = [one.key for one in self.store.objects("wire/")]
        return sorted(int(key.removeprefix("wire/")[:20]) for key in keys)

    def count(self, name: str) -> float:
        labels = {"stream": "wire", "shard": "0"}
        return self.registry.get_sample_value(f"wirerank_snapshot_{name}", labels) or 0.0

    def fetch(self, *lanes: str) -> list[str]:
        """Fetch copies into the folder; returns the names of its files."""

        def count(times: int) -> None:
            self.damaged += times

        fetcher = CopyFetcher(
            self.store, self.folder.path, "wire/", IDENTITY, count, lambda: None
        )  # fmt: skip
        fetcher.fetch(self.folder.path, lanes or ("mmp:loss=1",), [])
        return [path.name for path in self.folder.files()]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploading, "FIRST_PAUSE_S", 0.05)
    monkeypatch.setattr(uploading, "MAX_PAUSE_S", 0.2)


@pytest.mark.parametrize("fault", ["away", "error", "slow"])
def test_faults_pass_and_the_newest_snapshot_is_copied(
    proxy: FaultyProxy, tmp_path: Path, fault: Fault, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    machine = Machine(tmp_path, f"faults-{fault}")
    machine.write(1)
    assert eventually(lambda: machine.count("uploads_total") == 1)
    proxy.fault = fault
    for position in (2, 3, 4):
        machine.write(position)
    if fault != "slow":
        assert eventually(lambda: machine.count("upload_failures_total") >= 2)
        assert machine.count("uploads_total") == 1
        assert sum("cannot be copied" in line for line in caplog.messages) == 1
    proxy.fault = ""
    assert eventually(lambda: 4 in machine.copies())
    if fault != "slow":
        # The newest has replaced those that waited; one may have been under way.
        assert len(machine.copies()) <= 3
        assert eventually(lambda: any("copied" in m and "again" in m for m in caplog.messages))
    machine.uploader.close()
    assert PASSWORD not in caplog.text


def test_old_copies_are_deleted_and_those_of_others_stay(
    proxy: FaultyProxy, tmp_path: Path
) -> None:
    machine = Machine(tmp_path / "a", "pruned", keep=2)
    other = Machine(tmp_path / "b", "pruned", keep=2)
    other.write(1, "rocchio")
    assert eventually(lambda: other.copies() == [1])
    for position in range(2, 8):
        machine.write(position)
        assert eventually(lambda: position in machine.copies())  # noqa: B023
    assert eventually(lambda: machine.copies() == [1, 6, 7])
    for one in (machine, other):
        one.uploader.close()


def test_a_new_machine_gets_the_newest_intact_copy(
    proxy: FaultyProxy, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    old = Machine(tmp_path / "old", "fetched")
    paths = [old.write(1)]
    assert eventually(lambda: old.copies() == [1])
    paths += [old.write(2), old.write(3, "mmp:loss=1", "rocchio")]
    assert eventually(lambda: old.copies() == [1, 2, 3])
    new = Machine(tmp_path / "new", "fetched")
    assert new.fetch() == [paths[2].name]
    assert (tmp_path / "new" / paths[2].name).read_bytes() == paths[2].read_bytes()
    assert new.fetch() == [paths[2].name]  # there is nothing newer
    # The newest is damaged in the store, then the next one cut off.
    data = bytearray(paths[2].read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "bad").write_bytes(data)
    new.store.put(f"wire/{paths[2].name}", tmp_path / "bad")
    second = Machine(tmp_path / "second", "fetched")
    assert second.fetch() == [paths[1].name]
    assert second.damaged == 1
    assert "skipped a damaged copy of a snapshot" in caplog.text
    (tmp_path / "bad").write_bytes(paths[1].read_bytes()[:-1])
    new.store.put(f"wire/{paths[1].name}", tmp_path / "bad")
    third = Machine(tmp_path / "third", "fetched")
    assert third.fetch() == [paths[0].name]
    assert third.damaged == 2
    # Answers that end too early are never taken for a copy.
    proxy.fault = "truncate"
    fourth = Machine(tmp_path / "fourth", "fetched")
    with pytest.raises(StoreError):
        fourth.fetch()
    assert [*(tmp_path / "fourth").iterdir()] == []
    for machine in (old, new, second, third, fourth):
        machine.uploader.close()


def test_a_copy_that_was_killed_is_not_seen(proxy: FaultyProxy, tmp_path: Path) -> None:
    """Of an upload in several parts nothing is visible until it is complete."""
    large = tmp_path / "large"
    large.write_bytes(bytes(20 << 20))
    url = f"s3://{BUCKET}/killed"
    program = (
        "import sys; from pathlib import Path;"
        "from consumers.snapshot_copies.object_store import ObjectStore;"
        "ObjectStore(sys.argv[1]).put('wire/large', Path(sys.argv[2]))"
    )
    proxy.fault = "slow"
    before = proxy.connections
    process = subprocess.Popen(
        [sys.executable, "-c", program, url, str(large)], cwd=REPOSITORY
    )  # fmt: skip
    assert eventually(lambda: proxy.connections > before)
    time.sleep(1.0)  # somewhere in the middle
    assert process.poll() is None
    process.kill()
    process.wait(30)
    proxy.fault = ""
    store = ObjectStore(url)
    assert store.objects("wire/") == []
    store.put("wire/large", large)
    assert [tuple(one) for one in store.objects("wire/")] == [("wire/large", 20 << 20)]


def test_wrong_passwords_are_refused_and_not_shown(
    proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-" + PASSWORD)
    with pytest.raises(StoreError) as raised:
        ObjectStore(f"s3://{BUCKET}/refused").objects("wire/")
    assert PASSWORD not in str(raised.value)


def test_a_folder_is_a_store_too(tmp_path: Path) -> None:
    pytest.importorskip("obstore")
    store = ObjectStore(f"file://{tmp_path}/copies")
    (tmp_path / "a").write_bytes(b"content")
    store.put("wire/a", tmp_path / "a")
    assert [tuple(one) for one in store.objects("wire/")] == [("wire/a", 7)]
    store.delete("wire/a")
    store.delete("wire/a")
    assert store.objects("wire/") == []
