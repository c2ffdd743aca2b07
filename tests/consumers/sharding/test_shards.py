"""Lanes with shards, on a real broker: they rank like whole lanes, whatever is killed."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import islice
from pathlib import Path

import orjson
import pytest

from consumers.assignment import ShardAssignment, assigned_shard, learner_number
from consumers.kafka.client_types import Message
from consumers.kafka.log_reader import describe_log
from consumers.settings import Config
from consumers.sharding.snapshot_folders import shard_folder
from consumers.stream_settings import StreamSettings
from consumers.supervisor import children
from deploy.kafka import Cluster
from learners.sharding.parts import joined_state
from pipeline.corpora import open_source
from pipeline.errors import UsageError
from pipeline.snapshots.folder import SnapshotFolder
from pipeline.snapshots.snapshot import Snapshot, learner_state
from pipeline.storage.named_arrays import arrays_under
from tests.support.consumer_groups import Flow
from tests.support.kafka_fixture import need_kafka
from tests.support.kafka_stream import Streaming, eventually

FIRST, SECOND = "mmp:loss=1", "soft-arow:assign=micro,risk=0.2,order=probability"
SHARDS = {FIRST: 3, SECOND: 2}


def workers(shards: Mapping[str, int]) -> list[str]:
    """The names of all shards."""
    return [f"learn@{lane}#{shard}" for lane, count in shards.items() for shard in range(count)]


def snapshots(streaming: Streaming, lane: str, shards: int) -> list[Snapshot]:
    """The newest snapshot of each shard of a lane."""
    whole = streaming.config.snapshots.folder / streaming.stream.name
    folders = [
        SnapshotFolder(shard_folder(whole, ShardAssignment(lane, s, shards))) for s in range(shards)
    ]
    actual = [folder.newest([]) for folder in folders]
    return [snapshot for snapshot in actual if snapshot is not None]


def assert_as_one(
    streaming: Streaming, records: list[Message], events: Iterable[bytes], shards: Mapping[str, int]
) -> None:
    """Each document is ranked once per lane; events, curves and models are those of whole lanes."""
    ids = Counter(orjson.loads(event)["id"] for event in events)
    values = [message.value or b"" for message in records]
    ranked = Counter((event["id"], event["lane"]) for event in map(orjson.loads, values))
    assert ranked == {(id_, lane): count for id_, count in ids.items() for lane in shards}
    engine, expected = streaming.undisturbed()
    assert sorted(values) == sorted(expected)
    for lane in engine.lanes:
        taken = snapshots(streaming, lane.name, shards[lane.name])
        ends = [snapshot for snapshot in taken if snapshot.content["documents"] == engine.documents]
        assert len(ends) == shards[lane.name], [snapshot.position for snapshot in taken]
        states = [learner_state(snapshot, lane.name) for snapshot in ends]
        model = joined_state(lane.learner, states)
        for name, array in lane.learner.state().items():
            assert array.tobytes() == model[name].tobytes(), (lane.name, name)
        for snapshot in ends:
            curve = arrays_under(snapshot.arrays, "lane0/curve")
            for name, array in lane.curve.state().items():
                assert array.tobytes() == curve[name].tobytes(), (lane.name, name)
            if lane.decider is not None:
                decider = arrays_under(snapshot.arrays, "lane0/decider")
                for name, array in lane.decider.state().items():
                    assert array.tobytes() == decider[name].tobytes(), (lane.name, name)


@pytest.fixture(params=["synthetic", "reuters21578", "newsgroups"])
def events(request: pytest.FixtureRequest, shared_corpus: Callable[[str], Path]) -> list[bytes]:
    if request.param == "synthetic":
        return list(open_source("synthetic:3000,topics=30"))
    return list(islice(open_source(f"{request.param}:{shared_corpus(request.param)}"), 1500))


@pytest.mark.parametrize("shared_memory", [True, False])
def test_shards_rank_as_one(
    broker: str, tmp_path: Path, events: list[bytes], shared_memory: bool
) -> None:
    with Streaming(broker, tmp_path, SHARDS, 2, shards=SHARDS) as streaming:
        streaming.configure(SHARDS, shards=SHARDS, shared_memory=shared_memory)
        for name in (*workers(SHARDS), "tokenize-0"):
            streaming.start(name)
        streaming.produce(events)
        streaming.wait_learned()
        published = streaming.rankings(2 * len(events))
        for name in list(streaming.processes):
            assert streaming.end(name) == 0, streaming.log(name)[-3000:]
        assert_as_one(streaming, published, events, SHARDS)
        for name in workers(SHARDS):
            assert ("meet in shared memory" in streaming.log(name)) == shared_memory


def test_records_that_wait_are_one_block(broker: str, tmp_path: Path) -> None:
    """Shards that start late take fewer exchanges than there are records in the log."""
    source = iter(open_source("synthetic:900,topics=30"))
    events = list[bytes]()
    with Streaming(broker, tmp_path, [FIRST], 1, shards={FIRST: 2}) as streaming:
        streaming.configure([FIRST], shards={FIRST: 2}, shared_memory=False)
        streaming.start("tokenize-0")
        while (written := end_of(streaming, streaming.stream.blocks)) < 40:
            some = list(islice(source, 5))
            streaming.produce(some)
            events += some
            assert eventually(partial(grew, streaming, written), 60)
        for name in workers({FIRST: 2}):
            streaming.start(name)
        streaming.wait_learned()
        published = streaming.rankings(len(events))
        for name in list(streaming.processes):
            assert streaming.end(name) == 0, streaming.log(name)[-3000:]
        blocks = end_of(streaming, streaming.stream.blocks)
        # Without joining it would be at least four exchanges per record, of two shards. How many
        # records wait together depends on how fast the client fetches them.
        assert end_of(streaming, streaming.stream.scores) < 8 * blocks * 0.9
        assert_as_one(streaming, published, events, {FIRST: 2})


def grew(streaming: Streaming, before: int) -> bool:
    """Whether the log of blocks has more records than before."""
    return end_of(streaming, streaming.stream.blocks) > before


def end_of(streaming: Streaming, topic: str) -> int:
    """The number of records that a Kafka topic has had."""
    return describe_log(streaming.config.kafka, topic).end


@pytest.mark.parametrize(
    ("seed", "memory"), [(1, [True]), (2, [False]), (3, [True, False])], ids=str
)
def test_killed_shards_lose_and_double_nothing(
    seed: int, memory: list[bool], tmp_path: Path
) -> None:
    """Shards, tokenizers and the broker are killed at random moments.

    Shards meet in shared memory, or do not, or now and then do not find it when they start.
    """
    need_kafka()
    rng = random.Random(seed)
    names = [*workers(SHARDS), "tokenize-0"]
    with (
        Cluster(tmp_path / "kafka") as cluster,
        Streaming(cluster.bootstrap, tmp_path, SHARDS, 2, shards=SHARDS) as streaming,
    ):
        streaming.configure(SHARDS, shards=SHARDS, shared_memory=memory[0])
        for name in names:
            streaming.start(name)
        with Flow(streaming, open_source("synthetic:50000,topics=30"), 0.01) as flow:
            for number in range(15):
                time.sleep(rng.uniform(0.0, 3.0))
                if number % 7 == 5:
                    cluster.brokers[0].kill()
                    cluster.brokers[0].start()
                    continue
                for name in rng.sample(names, rng.choice((1, 1, 2, 4))):
                    streaming.kill(name)
                    streaming.configure(SHARDS, shards=SHARDS, shared_memory=rng.choice(memory))
                    streaming.start(name)
        # The last to be killed may have nothing left to do, and still be starting: these need all.
        last = list(open_source("synthetic:40,topics=30,seed=7"))
        streaming.produce(last)
        streaming.wait_learned()
        events = [*flow.written, *last]
        published = streaming.rankings(2 * len(events))
        for name in names:
            assert streaming.end(name) == 0, streaming.log(name)[-3000:]
        assert_as_one(streaming, published, events, SHARDS)


def test_a_lane_is_divided_again(broker: str, tmp_path: Path) -> None:
    """Three shards, then two, then the whole lane, then four: the rankings do not show it."""
    source = iter(open_source("synthetic:6000,topics=30"))
    events = list[bytes]()
    with Streaming(broker, tmp_path, [FIRST], 1, shards={FIRST: 3}, every=0.5) as streaming:
        streaming.start("tokenize-0")
        for count in (3, 2, 1, 4):
            streaming.configure([FIRST], shards={FIRST: count})
            names = workers({FIRST: count}) if count > 1 else ["learn"]
            for name in names:
                streaming.start(name)
            for _ in range(6):  # time passes in the log, so that common snapshots are taken
                some = [next(source) for _ in range(100)]
                streaming.produce(some)
                events += some
                time.sleep(0.3)
            streaming.wait_learned()
            for name in names:
                assert streaming.end(name) == 0, streaming.log(name)[-3000:]
        published = streaming.rankings(len(events))
        assert "continues at offset" in streaming.log(f"learn@{FIRST}#1")
        assert "from the snapshot of the whole lane" in streaming.log(f"learn@{FIRST}#3")
        assert_as_one(streaming, published, events, {FIRST: 4})


@pytest.mark.parametrize(
    ("lane", "shard", "message"),
    [
        (None, "0/3", "--shard needs --lane"),
        (None, None, "every lane of this stream has shards"),
        (FIRST, None, "has shards = 3, so --shard must be one of 0/3, 1/3, 2/3."),
        (FIRST, "3/3", "so --shard must be one of 0/3, 1/3, 2/3. Got '3/3'"),
        ("absent", "0/3", "--lane must be one of mmp:loss=1"),
    ],
)
def test_a_shard_that_there_is_not(lane: str | None, shard: str | None, message: str) -> None:
    lanes = [{"spec": name, "shards": shards} for name, shards in SHARDS.items()]
    stream = StreamSettings.model_validate({"name": "wire", "lanes": lanes})
    with pytest.raises(UsageError) as error:
        assigned_shard(stream, lane, shard)
    assert message in str(error.value)


def test_all_shards_are_run(tmp_path: Path) -> None:
    """Each shard is a process with ports of its own, beside the learner of the whole lanes."""
    lanes = [{"spec": name, "shards": shards} for name, shards in SHARDS.items()]
    stream = {"name": "wire", "lanes": [*lanes, {"spec": "rocchio"}]}
    config = Config.model_validate({"streams": [stream]})
    actual = [child.arguments[4:] for child in children(config, tmp_path, 1)]
    shares = [
        ShardAssignment(lane, i, count) for lane, count in SHARDS.items() for i in range(count)
    ]
    wanted = [["--lane", s.lane, "--shard", f"{s.shard}/{s.shards}"] for s in shares]
    assert actual[1:] == [[], *wanted]
    settings = config.streams[0]
    numbers = [learner_number(settings, None, None), learner_number(settings, "rocchio", None)]
    numbers += [learner_number(settings, share.lane, share) for share in shares]
    assert len(set(numbers)) == len(numbers)


def test_a_missing_shard_is_named(broker: str, tmp_path: Path) -> None:
    events = list(open_source("synthetic:400,topics=30"))
    with Streaming(broker, tmp_path, [FIRST], 1, shards={FIRST: 3}) as streaming:
        for name in ("tokenize-0", f"learn@{FIRST}#0", f"learn@{FIRST}#1"):
            streaming.start(name)
        streaming.produce(events)
        for present in (0, 1):
            log = f"learn@{FIRST}#{present}"
            assert eventually(lambda log=log: "shard 2/3" in streaming.log(log), 90)  # type: ignore[misc]
        streaming.start(f"learn@{FIRST}#2")
        streaming.wait_learned()
        assert len(streaming.rankings(len(events))) == len(events)
