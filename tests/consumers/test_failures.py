"""Failures around the workers: each is logged with what to do, and nothing is lost."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

from consumers.kafka.log_reader import describe_log
from deploy.kafka import Cluster
from pipeline.corpora import open_source
from tests.support.kafka_fixture import need_kafka
from tests.support.kafka_stream import Streaming, assert_exact, eventually

LANE = "mmp:loss=1"


def processor_seconds(process: int) -> float:
    """The processor time that a process has used so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def share_used(streaming: Streaming, names: list[str], seconds: float) -> dict[str, float]:
    """The fraction of a processor that each worker uses."""
    pids = {name: streaming.processes[name].pid for name in names}
    before = {name: processor_seconds(pid) for name, pid in pids.items()}
    time.sleep(seconds)
    return {name: (processor_seconds(pid) - before[name]) / seconds for name, pid in pids.items()}


def test_workers_wait_for_a_broker_and_rest_when_idle(tmp_path: Path) -> None:
    """Workers start before the broker, then are idle, then the broker stops and starts again."""
    need_kafka()
    events = list(open_source("synthetic:300,topics=12"))
    names = ["tokenize-0", "learn"]
    with Cluster(tmp_path / "kafka") as cluster:
        streaming = Streaming(cluster.bootstrap, tmp_path, [LANE])
        cluster.stop()
        with streaming:
            for name in names:
                streaming.start(name)
            assert eventually(lambda: all("trying again" in streaming.log(n) for n in names))
            for name in names:
                assert cluster.bootstrap in streaming.log(name)
            assert max(share_used(streaming, names, 3).values()) < 0.3
            cluster.start()
            streaming.produce(events[:100])
            assert len(streaming.rankings(100)) == 100
            assert max(share_used(streaming, names, 5).values()) < 0.3
            for name in names:
                assert "connected to the broker again after" in streaming.log(name)
            cluster.stop()
            assert max(share_used(streaming, names, 5).values()) < 0.5
            cluster.start()
            streaming.produce(events[100:])
            published = [message.value for message in streaming.rankings(300)]
            for name in names:
                assert streaming.end(name) == 0, streaming.log(name)
            assert published == streaming.undisturbed()[1]


def test_a_slow_broker_is_waited_for(tmp_path: Path) -> None:
    """A broker that is paused, during the work, for longer than the timeout of a request."""
    need_kafka()
    events = list(open_source("synthetic:600,topics=12"))
    with (
        Cluster(tmp_path / "kafka") as cluster,
        Streaming(cluster.bootstrap, tmp_path, [LANE]) as streaming,
    ):
        streaming.start("tokenize-0")
        streaming.start("learn")
        streaming.produce(events[:200])
        streaming.rankings(200)
        streaming.produce(events[200:])
        cluster.brokers[0].pause()
        time.sleep(14)
        cluster.brokers[0].resume()
        published = [message.value for message in streaming.rankings(600)]
        for name in ("tokenize-0", "learn"):
            assert streaming.end(name) == 0, streaming.log(name)
        assert published == streaming.undisturbed()[1]


def test_sigterm_is_obeyed_without_a_broker(tmp_path: Path) -> None:
    """A worker stops within 30 seconds, and nothing is lost."""
    need_kafka()
    events = list(open_source("synthetic:400,topics=12"))
    with (
        Cluster(tmp_path / "kafka") as cluster,
        Streaming(cluster.bootstrap, tmp_path, [LANE]) as streaming,
    ):
        names = ["tokenize-0", "learn"]
        for name in names:
            streaming.start(name)
        streaming.produce(events[:200])
        streaming.rankings(200)
        streaming.produce(events[200:])
        cluster.kill()
        time.sleep(1)
        for name in names:
            started = time.monotonic()
            code = streaming.end(name)
            assert code == 0, streaming.log(name)
            assert time.monotonic() - started < 30
        cluster.start()
        for name in names:
            streaming.start(name)
        published = [message.value for message in streaming.rankings(400)]
        for name in names:
            assert streaming.end(name) == 0, streaming.log(name)
        assert published == streaming.undisturbed()[1]


def test_a_full_disk_stops_snapshots_but_not_the_work(broker: str, tmp_path: Path) -> None:
    events = list(open_source("synthetic:200,topics=12"))
    with Streaming(broker, tmp_path, [LANE], every=0.2) as streaming:
        streaming.start("tokenize-0")
        streaming.start("learn")
        streaming.produce(events[:100])
        streaming.rankings(100)
        pid = streaming.processes["learn"].pid
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (60_000, 60_000))  # no file may grow past this
        streaming.produce(events[100:])
        published = [message.value for message in streaming.rankings(200)]
        assert eventually(lambda: "cannot be written" in streaming.log("learn"))
        assert "make room, or name another snapshots.folder" in streaming.log("learn")
        streaming.kill("learn")
        streaming.start("learn")
        streaming.wait_learned()
        for name in ("tokenize-0", "learn"):
            assert streaming.end(name) == 0, streaming.log(name)
        assert not list(tmp_path.glob("snapshots/*/*.partial*"))
        assert published == streaming.undisturbed()[1]
        assert len(streaming.rankings(200)) == 200


def test_a_worker_that_ends_while_a_snapshot_is_written_takes_its_last(
    broker: str, tmp_path: Path
) -> None:
    """Otherwise the next start would have to follow the log from the snapshot before."""
    events = list(open_source("synthetic:150,topics=12"))
    with Streaming(broker, tmp_path, [LANE], every=0.2) as streaming:
        streaming.start("tokenize-0")
        streaming.start("learn", program=("tests.support.slow_snapshots", "6"))
        streaming.produce(events[:100])
        assert eventually(lambda: "is on its way" in streaming.log("learn"), 120)
        streaming.produce(events[100:])
        streaming.wait_learned()
        assert streaming.end("learn") == 0, streaming.log("learn")
        end = describe_log(streaming.config.kafka, streaming.stream.blocks).end
        assert streaming.snapshot().position == end


def test_a_snapshot_that_is_written_late_has_the_topics_of_its_offset(
    broker: str, tmp_path: Path
) -> None:
    """The worker goes on while a snapshot is written, and discovers more topics."""
    events = list(open_source("synthetic:300,topics=30"))
    with Streaming(broker, tmp_path, [LANE], every=0.2) as streaming:
        streaming.start("tokenize-0")
        streaming.start("learn", program=("tests.support.slow_snapshots", "6"))
        streaming.produce(events[:3])
        assert eventually(lambda: "is on its way" in streaming.log("learn"), 120)
        streaming.produce(events[3:200])
        streaming.wait_learned()
        assert eventually(lambda: "snapshot written" in streaming.log("learn"), 120)
        streaming.kill("learn")
        streaming.start("learn")
        streaming.produce(events[200:])
        streaming.wait_learned()
        assert streaming.end("learn") == 0, streaming.log("learn")
        assert_exact(streaming, streaming.rankings(len(events)), events)
