"""Damaged snapshots under real workers: the rankings are those of an undisturbed run."""

from __future__ import annotations

import shutil
from pathlib import Path

import orjson
import pytest

from consumers.assignment import ShardAssignment
from consumers.sharding.snapshot_folders import shard_folder
from pipeline.corpora import open_source
from pipeline.snapshots.folder import SnapshotFolder
from pipeline.storage.container import LENGTH, PREFIX
from tests.support.kafka_stream import Streaming, assert_exact, eventually
from tests.support.scraping import scrape_url

pytestmark = pytest.mark.slow
LANES = ("mmp:loss=1", "perceptron")


def damage(path: Path, kind: str) -> None:
    """Change one bit of a snapshot, or cut it off."""
    data = bytearray(path.read_bytes())
    (length,) = LENGTH.unpack_from(data, PREFIX.size)
    header = data[PREFIX.size + LENGTH.size :][:length]
    if kind == "position":  # another number: rankings would be left out or come twice
        at = PREFIX.size + LENGTH.size + header.index(b'"position":') + len(b'"position":')
        data[at] ^= 8 if data[at] in b"01" else 1
    elif kind == "log":  # another log: recovery would stop
        at = PREFIX.size + LENGTH.size + header.index(b'"log":"') + len(b'"log":"')
        data[at] ^= 1
    elif kind == "key":  # a missing key was a traceback
        data[PREFIX.size + LENGTH.size + header.index(b'"position"') + 1] ^= 1
    elif kind == "array":
        data[-40] ^= 1
    else:
        del data[len(data) // 2 :]
    path.write_bytes(data)


def newest_of(folder: Path) -> Path:
    return SnapshotFolder(folder).files()[0]


def problems(streaming: Streaming, name: str, reason: str) -> float:
    """How many problems with snapshots the metrics of a worker count."""
    scraped = scrape_url(streaming.address(name))
    return scraped.value("wirerank_snapshot_problems_total", reason=reason)


def test_a_damaged_snapshot_changes_no_ranking(broker: str, tmp_path: Path) -> None:
    events = list(open_source("synthetic:1500,topics=12"))
    kinds = ("position", "log", "key", "array", "cut")
    step = len(events) // (len(kinds) + 1)
    with Streaming(broker, tmp_path, LANES, 2) as streaming:
        streaming.start("tokenize-0")
        streaming.start("learn")
        streaming.produce(events[:step])
        streaming.wait_learned()
        folder = streaming.config.snapshots.folder / streaming.stream.name
        for number, kind in enumerate(kinds, 1):
            assert streaming.end("learn") == 0, streaming.log("learn")[-3000:]
            path = newest_of(folder)
            damage(path, kind)
            last = number == len(kinds)
            streaming.produce(events[step * number : None if last else step * (number + 1)])
            streaming.start("learn")
            streaming.wait_learned()
            assert f"skipped a damaged snapshot: {path}" in streaming.log("learn")
            assert problems(streaming, "learn", "damaged") >= 1
        published = streaming.rankings(len(LANES) * len(events))
        for name in ("learn", "tokenize-0"):
            assert streaming.end(name) == 0, streaming.log(name)[-3000:]
        assert_exact(streaming, published, events)


def test_damaged_snapshots_of_shards_change_no_ranking(broker: str, tmp_path: Path) -> None:
    events = list(open_source("synthetic:1200,topics=12"))
    lane, count = LANES[0], 2
    workers = [f"learn@{lane}#{shard}" for shard in range(count)]
    with Streaming(broker, tmp_path, [lane], 2, shards={lane: count}) as streaming:
        streaming.start("tokenize-0")
        for name in workers:
            streaming.start(name)
        streaming.produce(events[:300])
        streaming.wait_learned()
        whole = streaming.config.snapshots.folder / streaming.stream.name
        folders = [
            shard_folder(whole, ShardAssignment(lane, shard, count)) for shard in range(count)
        ]
        for start, shard, kind in ((300, 0, "position"), (600, 1, "log"), (900, 0, "array")):
            for name in workers:
                assert streaming.end(name) == 0, streaming.log(name)[-3000:]
            path = newest_of(folders[shard])
            damage(path, kind)
            streaming.produce(events[start : start + 300])
            for name in workers:
                streaming.start(name)
            streaming.wait_learned()
            assert f"skipped a damaged snapshot: {path}" in streaming.log(workers[shard])
        published = streaming.rankings(len(events))
        expected = streaming.undisturbed()[1]
        ranked = [
            [orjson.loads(value) for value in values]
            for values in (sorted(message.value or b"" for message in published), sorted(expected))
        ]
        assert len(published) == len(events)
        assert {e["id"] for e in ranked[0]} == {e["id"] for e in ranked[1]}
        topics = [
            {e["id"]: [place["topic"] for place in e["ranking"]] for e in some} for some in ranked
        ]
        assert topics[0] == topics[1]


@pytest.mark.parametrize("place", ["start", "later"])
def test_a_folder_that_cannot_be_written_stops_snapshots_only(
    place: str, broker: str, tmp_path: Path
) -> None:
    """Root may write to a read-only folder, so the folder is a file."""
    events = list(open_source("synthetic:300,topics=12"))
    with Streaming(broker, tmp_path, LANES[:1], every=0.2) as streaming:
        folder = streaming.config.snapshots.folder
        if place == "start":
            folder.write_bytes(b"")
        streaming.start("tokenize-0")
        streaming.start("learn")
        streaming.produce(events[:100])
        streaming.rankings(100)
        if place == "later":
            shutil.rmtree(folder)
            folder.write_bytes(b"")
        streaming.produce(events[100:])
        published = [message.value for message in streaming.rankings(300)]
        assert eventually(lambda: problems(streaming, "learn", "not_written") >= 1)
        for name in ("learn", "tokenize-0"):
            assert streaming.end(name) == 0, streaming.log(name)[-3000:]
        assert published == streaming.undisturbed()[1]
        assert "cannot be written to" in streaming.log("learn")
        assert "trying again" not in streaming.log("learn")
