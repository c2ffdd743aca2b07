"""How shards of MMP take a segment in shared memory, and how one recalls it from the minutes."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from learners.prototypes.mmp_slice import (
    Attendance,
    Meeting,
    Minutes,
    OwnTopics,
    new_minutes,
)
from learners.segment import Segment, Steps
from learners.sharding.gathering import PATIENCE, Gathering
from learners.sharding.topic_slice import TopicSlice

LABEL_BYTES = 8 + 4  # in the minutes

# Takes the steps from one on; returns the step where it waits, or the number of steps.
Take = Callable[[Meeting, Minutes, Attendance, int], int]


def topics_of(steps: Steps, own: TopicSlice) -> OwnTopics:
    """The topics of a shard, as the kernel sees them."""
    labels = steps.labels[steps.label_starts[0] : steps.label_starts[-1]]
    columns = np.where(own.owns(labels), labels // own.shards, -1)
    return OwnTopics(columns.astype(np.int32), own.counts(steps.known).astype(np.int32))


def hold_meeting(segment: Segment, gathering: Gathering, take: Take) -> bytes:
    """Take all steps in step with the other shards; return the minutes."""
    minutes = new_minutes(segment.steps.label_count())
    meeting = gathering.arrays.meeting
    attendance = Attendance(gathering.shard, gathering.begun, PATIENCE, False)
    came, waits_at, step = time.monotonic(), -1, 0
    while (step := take(meeting, minutes, attendance, step)) < len(segment.steps):
        if step != waits_at:
            came, waits_at = time.monotonic(), step
        gathering.wait(came)
    return b"".join(array.tobytes() for array in minutes)


def recall_meeting(segment: Segment, shard: int, minutes: memoryview, take: Take) -> None:
    """Take all steps by the minutes; raises ValueError if they cannot be right."""
    steps, labels = segment.steps, segment.steps.label_count()
    if len(minutes) != LABEL_BYTES * labels:
        raise ValueError(f"{len(minutes)} bytes of minutes, expected {LABEL_BYTES * labels}")
    leads, gained = np.frombuffer(minutes[: 8 * labels]), minutes[8 * labels :]
    read = Minutes(leads.copy(), np.frombuffer(gained, np.int32).copy())
    if not np.isfinite(read.leads).all():
        raise ValueError("scores that are not finite")
    relevant = np.diff(steps.label_starts)
    most = np.repeat(steps.known - relevant, relevant)
    if not ((read.gained >= 0) & (read.gained <= most)).all():
        raise ValueError("counts of more topics than are irrelevant")
    nobody = Meeting(np.zeros(0, np.int64), np.zeros(0), np.zeros((0, 0), np.int32))
    if take(nobody, read, Attendance(shard, 0, 0, True), 0) < len(steps):
        raise ValueError("scores that are not those of this shard's prototypes")
