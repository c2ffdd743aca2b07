"""A stream on a real broker: rankings are those of a replay, whatever is killed."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path

import orjson
import pytest

from deploy.kafka import Cluster
from pipeline.corpora import open_source
from pipeline.replay.progress import Progress
from pipeline.replay.replay import replay
from pipeline.replay.settings import ReplaySettings
from pipeline.snapshots.folder import SnapshotFolder
from pipeline.snapshots.snapshot import take_snapshot
from tests.support.kafka_fixture import need_kafka
from tests.support.kafka_stream import Streaming, values_by_lane

LANES = ("mmp:loss=1", "perceptron:average=true,norm=l2")


def with_late_labels(documents: int) -> list[bytes]:
    """Synthetic documents; every third gets its label twenty events later."""
    events: list[bytes] = []
    late: list[tuple[int, bytes]] = []
    for number, raw in enumerate(open_source(f"synthetic:{documents},topics=12")):
        if number % 3 == 0:
            event = orjson.loads(raw)
            late.append(
                (number + 20, orjson.dumps({"id": event["id"], "topics": event.pop("topics")}))
            )
            events.append(orjson.dumps(event))
        else:
            events.append(raw)
        while late and late[0][0] <= number:
            events.append(late.pop(0)[1])
    return [*events, *(label for _, label in late)]


def test_kafka_and_a_file_give_the_same_rankings(broker: str, tmp_path: Path) -> None:
    events = with_late_labels(600)
    events.insert(100, b"rubbish \xff")
    (tmp_path / "events.jsonl").write_bytes(b"".join(event + b"\n" for event in events))
    with Streaming(broker, tmp_path, LANES) as streaming:
        streaming.start("tokenize-0")
        streaming.start("learn")
        streaming.produce(events)
        published = [message.value for message in streaming.rankings(2 * 600)]
        assert streaming.end("learn") == 0, streaming.log("learn")
        assert streaming.end("tokenize-0") == 0, streaming.log("tokenize-0")
        stopped = f"[tokenizer 0 of stream {streaming.name}] consumers.tokenizer.worker: stopped: "
        events_read = f"{len(events):,} events read, of which 1 dead letters"
        assert stopped + events_read in streaming.log("tokenize-0")
        stopped = f"[learner of stream {streaming.name}] consumers.learner.worker: stopped: "
        assert stopped in streaming.log("learn")
        assert "600 documents processed; all rankings are published" in (streaming.log("learn"))
        assert "snapshot written: offset" in streaming.log("learn")
        (letter,) = streaming.read(streaming.stream.dead_letters, 1)
        settings = ReplaySettings(
            source=str(tmp_path / "events.jsonl"),
            lanes=LANES,
            rankings=tmp_path / "rankings.jsonl",
            dead_letters=tmp_path / "dead.jsonl",
            engine=streaming.stream.engine_settings(),
        )
        replay(settings, Progress())
    in_the_file = (tmp_path / "rankings.jsonl").read_bytes().splitlines()
    assert values_by_lane(published) == values_by_lane(in_the_file)
    assert letter.value == b"rubbish \xff"
    headers = dict(letter.headers)
    assert headers["reason"] == b"not_json"
    assert headers["offset"] == b"100"
    assert letter.key == f"{streaming.documents}-0-100".encode()


def test_a_worker_goes_on_where_it_was(broker: str, tmp_path: Path) -> None:
    """Workers are stopped in the middle and started again: nothing is doubled or lost."""
    events = list(open_source("synthetic:400,topics=12"))
    with Streaming(broker, tmp_path, LANES) as streaming:
        for start, stop in ((0, 200), (200, 400)):
            streaming.start("tokenize-0")
            streaming.start("learn")
            streaming.produce(events[start:stop])
            assert len(streaming.rankings(2 * stop)) == 2 * stop
            assert streaming.end("learn") == 0, streaming.log("learn")
            assert streaming.end("tokenize-0") == 0
        published = [message.value for message in streaming.rankings(800)]
        _, expected = streaming.undisturbed()
    assert values_by_lane(published) == values_by_lane(expected)
    assert len(published) == 800


@pytest.mark.parametrize("seed", [1, 2])
def test_crash_exact(seed: int, tmp_path: Path) -> None:
    """kill -9 of tokenizers, the learner and the broker at random moments, thirty times."""
    need_kafka()
    rng = random.Random(seed)
    events = list(open_source(f"synthetic:3000,topics=12,seed={seed}"))
    names = ["tokenize-0", "tokenize-1", "learn"]
    with (
        Cluster(tmp_path / "kafka") as cluster,
        Streaming(cluster.bootstrap, tmp_path, LANES, partitions=3) as streaming,
    ):
        for name in names:
            streaming.start(name)
        kills: Counter[str] = Counter()
        for start in range(0, len(events), 100):
            streaming.produce(events[start : start + 100])
            time.sleep(rng.random() * 0.8)
            victim = rng.choice(
                [*names, "learn", "broker"] if start % 1000 == 0 else [*names, "learn"]
            )
            kills[victim] += 1
            if victim == "broker":
                cluster.brokers[0].kill()
                time.sleep(rng.random() * 0.5)
                cluster.brokers[0].start()
            else:
                streaming.kill(victim)
                streaming.start(victim)
        streaming.wait_learned()
        published = streaming.rankings(2 * len(events))
        assert streaming.end("learn") == 0, streaming.log("learn")[-3000:]
        engine, expected = streaming.undisturbed()
        assert kills.total() == 30
        once = Counter(
            (e["id"], e["lane"]) for e in (orjson.loads(m.value or b"") for m in published)
        )
        assert len(once) == 2 * len(events), kills
        assert set(once.values()) == {1}, kills
        assert sorted(m.value or b"" for m in published) == sorted(expected)
        folder = streaming.config.snapshots.folder / streaming.stream.name
        snapshot = SnapshotFolder(folder).newest([])
        assert snapshot is not None
        expected_snapshot = take_snapshot(engine, snapshot.position)
        for name, array in expected_snapshot.arrays.items():
            assert array.tobytes() == snapshot.arrays[name].tobytes(), name
