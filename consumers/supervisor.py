"""Runs all workers of a configuration on one machine: one process each.

A worker that dies is restarted, and so is one that hangs. See `supervisor_link`.
"""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from consumers.assignment import ShardAssignment, learner_name, tokenizer_name
from consumers.settings import Config
from consumers.sharding.snapshot_folders import stream_folder
from consumers.stream_settings import StreamSettings
from consumers.supervisor_link import WorkerLink

log = logging.getLogger(__name__)

# A worker that ends with this code has logged an error that needs an operator.
NEEDS_AN_OPERATOR = 3
GRACE_SECONDS = 30.0
POLL_SECONDS = 0.1
# A worker that dies is restarted at once, but not within this time of its last start.
PAUSE_SECONDS = 5.0
# A worker that gives no sign of life for this long hangs. Long enough for a machine that is busy
# with other things, and for a learner whose kernel takes long for a block.
HUNG_SECONDS = 120.0
# How long a worker that hangs may take to log its stacks.
STACKS_SECONDS = 1.0


@dataclass
class Child:
    """One worker process, and the earliest time of its next start."""

    name: str
    arguments: list[str]
    beats: bool = True  # gives signs of life
    is_finite: bool = False  # ends by itself, with exit code 0, when its stream has ended
    has_ended: bool = False
    link: WorkerLink | None = None
    started: float = 0.0
    not_before: float = 0.0


def children(
    config: Config,
    path: Path,
    tokenizers: int,
    pages: Sequence[int] = (),
    logging_options: Sequence[str] = (),
) -> list[Child]:
    """The workers that a configuration asks for, each with the given options for its log.

    `pages` has a port for each stream, in order, at which one of its learners serves a page. Port 0
    stands for any free port.
    """
    made = []
    for place, stream in enumerate(config.streams):
        finite = bool(stream.stop)
        for number in range(tokenizers):
            where = ["tokenize", str(path), "--stream", stream.name, "--instance", str(number)]
            name = tokenizer_name(stream.name, str(number))
            made.append(Child(name, where, is_finite=finite))
        learner = ["learn", str(path), "--stream", stream.name]
        learners = []
        if stream.whole_lanes:
            name = learner_name(stream.name, None, None)
            learners.append(Child(name, learner, is_finite=finite))
        for lane in stream.divided_lanes:
            for shard in range(lane.shards):
                assignment = ShardAssignment(lane.parsed.name, shard, lane.shards)
                name = learner_name(stream.name, assignment.lane, assignment)
                which = ["--lane", assignment.lane, "--shard", f"{shard}/{lane.shards}"]
                learners.append(Child(name, [*learner, *which], is_finite=finite))
        if pages:
            learners[0].arguments += ["--page", "--page-port", str(pages[place])]
        made += learners
    for child in made:
        child.arguments += logging_options
    return made


def serving_child(
    config: Config, stream: StreamSettings, port: int, lane: str | None = None
) -> Child:
    """A process that serves the newest snapshots of a stream, or of one of its lanes.

    Port 0 stands for any free port.
    """
    arguments = ["serve", str(stream_folder(config, stream)), "--port", str(port)]
    if lane is not None:
        arguments += ["--lane", lane]
    name = f"server of stream {stream.name}"
    if folder := config.metrics.targets_folder:
        worker = name if lane is None else f"server {lane} of stream {stream.name}"
        arguments += ["--targets-folder", str(folder), "--stream", stream.name, "--worker", worker]
    return Child(name, [*arguments, "--wait", "--supervised"], beats=False)


def supervise(
    workers: list[Child],
    stop: threading.Event,
    hung_after: float = HUNG_SECONDS,
    keep_open: Sequence[int] = (),
) -> int:
    """Keep the workers running until asked to stop; returns the exit code.

    A worker that gives no sign of life for `hung_after` seconds is killed and restarted. Workers
    inherit the descriptors `keep_open`.
    """
    code = 0
    try:
        while not all(child.has_ended for child in workers) and not stop.wait(POLL_SECONDS):
            for child in workers:
                ended = None if child.link is None else child.link.process.poll()
                if child.link is not None and ended is None:
                    if child.beats:
                        kill_if_hung(child.name, child.link, hung_after)
                    continue
                if ended == NEEDS_AN_OPERATOR:
                    log.error(
                        "%s has stopped with an error that a restart cannot mend; see its last "
                        "error. Stopping all workers", child.name,
                    )  # fmt: skip
                    return NEEDS_AN_OPERATOR
                if ended == 0 and child.is_finite and child.link is not None:
                    child.link.close()
                    child.link, child.has_ended = None, True
                if child.has_ended:
                    continue
                if child.link is not None:
                    log.warning("%s ended with exit code %s; restarting it", child.name, ended)
                    child.not_before = child.started + PAUSE_SECONDS
                    child.link.close()
                    child.link = None
                if time.monotonic() >= child.not_before:
                    command = [sys.executable, "-m", "consumers", *child.arguments]
                    child.started = time.monotonic()
                    child.link = WorkerLink(command, keep_open)
    finally:
        running = [(child.name, child.link.process) for child in workers if child.link is not None]
        for _, process in running:
            process.terminate()
        until = time.monotonic() + GRACE_SECONDS
        for name, process in running:
            try:
                process.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                log.error("%s does not stop; killing it", name)
                process.kill()
                code = 1
    log.info("stopped: all %s workers have ended", len(workers))
    return code


def kill_if_hung(name: str, link: WorkerLink, hung_after: float) -> None:
    """Kill a worker that has given no sign of life for too long, after it has logged its stacks."""
    seconds = link.silent_seconds()
    if seconds <= hung_after:
        return
    log.error(
        "%s has given no sign of life for %.0f s; killing it. Where it hangs is in its log, if it "
        "could still tell", name, seconds,
    )  # fmt: skip
    link.process.send_signal(signal.SIGUSR1)
    try:
        link.process.wait(STACKS_SECONDS)
    except subprocess.TimeoutExpired:
        link.process.kill()
        link.process.wait()
