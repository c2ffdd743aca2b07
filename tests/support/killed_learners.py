"""Kills the learners of a stream, and looks at where they go on."""

from __future__ import annotations

import random
import re
import time

from pipeline.snapshots.folder import SnapshotFolder
from tests.support.kafka_stream import Streaming, eventually


def places_of(streaming: Streaming, lane: str, worker: str = "learn") -> list[int]:
    """The offsets of the log at which a lane resumed, one per start of its worker."""
    resumed = re.findall(r": (\S.*): resuming at offset ([0-9]+) of the log", streaming.log(worker))
    return [int(place) for names, place in resumed if lane in names]


def bring_up(streaming: Streaming, worker: str) -> None:
    """Start a worker, and wait until it has resumed."""
    log = streaming.folder / f"{worker}.log"
    before = log.read_text().count("resuming at offset") if log.exists() else 0
    streaming.start(worker)
    assert eventually(lambda: streaming.log(worker).count("resuming at offset") > before, 120)


def snapshots_of(streaming: Streaming, lane: str) -> list[int]:
    """The offsets of the snapshots of a lane, newest first."""
    folder = SnapshotFolder(streaming.config.snapshots.folder / streaming.name)
    return [s.position for _, s in folder.descriptions([]) if lane in s.lanes]


def newer_snapshot(streaming: Streaming, lane: str, position: int) -> bool:
    """Whether a snapshot of a lane beyond this offset appears."""
    return eventually(lambda: max(snapshots_of(streaming, lane), default=0) > position, 60)


def learn_over_kills(
    streaming: Streaming, lane: str, events: list[bytes], rng: random.Random
) -> None:
    """Produce all events; the learner of the lane is killed at work seven times."""
    place = 0
    for _ in range(7):
        bring_up(streaming, "learn")
        before = max(snapshots_of(streaming, lane), default=0)
        for _ in range(rng.randrange(2, 6)):  # it has some of them, then, and not the others
            more = rng.randrange(20, 80)
            streaming.produce(events[place : place + more])
            place += more
            time.sleep(rng.uniform(0.0, 0.4))
        if rng.random() < 0.7:  # so that the next one does not always begin where this one did
            assert newer_snapshot(streaming, lane, before), streaming.log("learn")
        streaming.kill("learn")
    bring_up(streaming, "learn")
    streaming.produce(events[place:])
