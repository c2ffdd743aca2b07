"""A stream whose machine is lost goes on from the copies of its snapshots."""

from __future__ import annotations

from pathlib import Path

import pytest

from consumers.snapshot_copies.object_store import ObjectStore
from tests.support.disaster import kill_all, lose_snapshots
from tests.support.kafka_stream import Streaming, eventually, values_by_lane, without_scores
from tests.support.late_label_stream import late_label_events
from tests.support.s3.faulty_proxy import FaultyProxy
from tests.support.s3.server import BUCKET, PASSWORD, access
from tests.support.scraping import scrape_url

pytestmark = pytest.mark.slow

DIVIDED = "perceptron"
WHOLE = ("mmp:loss=1", "prank:ranks=4")
WORKERS = ("learn", f"learn@{DIVIDED}#0", f"learn@{DIVIDED}#1")


class CopiedStream:
    """A stream whose snapshots are copied to the S3 server."""

    def __init__(self, streaming: Streaming, proxy: FaultyProxy) -> None:
        self.streaming = streaming
        url = f"s3://{BUCKET}/streams"
        self.store = ObjectStore(url)
        streaming.environment = {**access(proxy.port), "WIRERANK__SNAPSHOTS__COPY_TO": url}

    def keys(self, part: str = "") -> list[str]:
        """The copies with this text in their keys, newest first."""
        keys = [one.key for one in self.store.objects(f"{self.streaming.name}/")]
        return sorted((key for key in keys if part in key), key=lambda k: k[-38:], reverse=True)

    def whole(self) -> list[str]:
        return [key for key in self.keys() if "/shards/" not in key]

    def feed(self, events: list[bytes]) -> None:
        """Shards take snapshots by the times of the records: feed the stream bit by bit."""
        for start in range(0, len(events), 40):
            self.streaming.produce(events[start : start + 40])
            self.streaming.wait_logged()


def uploads(streaming: Streaming, name: str, what: str = "uploads") -> float:
    scraped = scrape_url(streaming.address(name))
    return scraped.value(f"wirerank_snapshot_{what}_total")


def test_a_new_machine_goes_on_from_the_copies(
    broker: str, proxy: FaultyProxy, tmp_path: Path
) -> None:
    """Workers are killed, the disk is lost, a copy is damaged, and the store is away."""
    events = late_label_events(260)
    third = len(events) // 3
    lanes = (*WHOLE, DIVIDED)
    with Streaming(broker, tmp_path, lanes, shards={DIVIDED: 2}, every=0.3) as streaming:
        copied = CopiedStream(streaming, proxy)
        for name in ("tokenize-0", *WORKERS):
            streaming.start(name)
        # In two parts: a worker that is behind would learn both at once, and take one snapshot.
        copied.feed(events[: third // 2])
        streaming.wait_learned()
        assert eventually(lambda: len(copied.whole()) >= 1)
        copied.feed(events[third // 2 : third])
        streaming.wait_learned()
        assert eventually(lambda: len(copied.whole()) >= 2)
        assert eventually(lambda: bool(copied.keys("/0-of-2/") and copied.keys("/1-of-2/")))
        # A new machine: nothing is on its disk, and the newest copy is damaged.
        kill_all(streaming)
        lose_snapshots(streaming)
        newest = copied.whole()[0]
        (tmp_path / "noise").write_bytes(b"WRSN" + bytes(5000))
        copied.store.put(newest, tmp_path / "noise")
        for name in ("tokenize-0", *WORKERS):
            streaming.start(name)
        streaming.wait_learned()
        for name in WORKERS:
            assert "fetched a copy of a snapshot" in streaming.log(name), streaming.log(name)
            resumed = streaming.log(name).rpartition("resuming at offset ")[2].split()[0]
            assert int(resumed) > 0
        assert "skipped a damaged copy of a snapshot" in streaming.log("learn")
        # The store is away: the stream goes on, and the copies come later.
        proxy.fault = "away"
        copied.feed(events[third : 2 * third])
        streaming.wait_learned()
        assert eventually(lambda: uploads(streaming, "learn", "upload_failures") > 0)
        assert all(process.poll() is None for process in streaming.processes.values())
        before = uploads(streaming, "learn")
        proxy.fault = ""
        assert eventually(lambda: uploads(streaming, "learn") > before)
        copied.feed(events[2 * third :])
        streaming.wait_learned()
        _, expected = streaming.undisturbed()
        published = streaming.rankings(len(expected))
        for name in ("tokenize-0", *WORKERS):
            assert streaming.end(name) == 0, streaming.log(name)
            assert PASSWORD not in streaming.log(name)
        # Copies are kept like local files: the last ones are there, and old ones are not.
        local = streaming.config.snapshots.folder / streaming.name
        assert {path.name for path in local.glob("*.wirerank")} <= {
            key.rpartition("/")[2] for key in copied.whole()
        }
        assert len(copied.whole()) <= 2 * streaming.config.snapshots.keep
    ours = values_by_lane([message.value for message in published])
    theirs = values_by_lane(expected)
    assert ours.keys() == theirs.keys()
    for lane in WHOLE:
        assert ours[lane] == theirs[lane]
    assert [*map(without_scores, ours[DIVIDED])] == [*map(without_scores, theirs[DIVIDED])]


def test_copies_join_when_the_number_of_shards_changes(
    broker: str, proxy: FaultyProxy, tmp_path: Path
) -> None:
    """A machine without a disk gets the copies of all former shards."""
    events = late_label_events(120)
    with Streaming(broker, tmp_path, [DIVIDED], shards={DIVIDED: 2}, every=0.3) as streaming:
        copied = CopiedStream(streaming, proxy)
        for name in ("tokenize-0", *WORKERS[1:]):
            streaming.start(name)
        copied.feed(events)
        streaming.wait_learned()
        assert eventually(
            lambda: bool(positions(copied, "/0-of-2/") & positions(copied, "/1-of-2/"))
        )
        kill_all(streaming)
        lose_snapshots(streaming)
        streaming.configure([DIVIDED])
        streaming.start("learn")
        streaming.wait_learned()
        assert "from the snapshot of 2 shards" in streaming.log("learn"), streaming.log("learn")
        assert streaming.end("learn") == 0


def positions(copied: CopiedStream, part: str) -> set[str]:
    """The positions of the newest copies of a shard."""
    return {key[-38:-18] for key in copied.keys(part)[:1]}
