"""Makes sure that one `run` at a time works on a stream.

On one machine a lock on a file in the snapshot folder of the stream tells. The workers inherit the
lock, so it is free only when they have all ended too. Across machines the consumer group of the
tokenizers tells: those that a `run` started can be told by their client ids.
"""

from __future__ import annotations

import fcntl
import logging
import os
import socket
import time
from contextlib import suppress
from typing import NamedTuple

from consumers.kafka.clients import group_client_ids
from consumers.kafka.errors import KafkaError
from consumers.kafka_names import host_of_run, tokenizer_consumer_group
from consumers.settings import Config
from consumers.sharding.snapshot_folders import stream_folder
from consumers.stream_settings import StreamSettings

log = logging.getLogger(__name__)

LOCK_FILE = "run.lock"
# The workers of a supervisor that was killed end within seconds.
LOCK_SECONDS = 20.0
# A tokenizer that died leaves its group after its session, 6 seconds.
MEMBER_SECONDS = 15.0
POLL_SECONDS = 0.2


class AlreadyRunningError(Exception):
    """Another `run` works on a stream; the message says which and where."""


class Holder(NamedTuple):
    """The `run` that has, or had, the lock of a stream."""

    host: str
    process: int

    def is_alive(self) -> bool:
        """Whether it still runs; on another machine that is assumed."""
        if self.host != socket.gethostname():
            return True
        try:
            os.kill(self.process, 0)
        except (ProcessLookupError, OverflowError):  # the latter: no process has such a number
            return False
        except PermissionError:
            pass
        return True


class RunLock:
    """The locks of all streams of a configuration, from `acquire` to `release`."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self.descriptors: list[int] = []  # of the lock files; workers inherit them

    def acquire(self) -> None:
        """Lock all streams; raises `AlreadyRunningError` if another `run` works on one of them."""
        try:
            for stream in self._config.streams:
                crashed = self._lock(stream)
                self._check_group(stream, crashed)
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Unlock all streams."""
        for descriptor in self.descriptors:
            with suppress(OSError):
                os.ftruncate(descriptor, 0)  # this run has ended in good order
            os.close(descriptor)
        self.descriptors = []

    def _lock(self, stream: StreamSettings) -> bool:
        """Lock a stream; returns whether the last `run` on this machine did not end in order."""
        path = stream_folder(self._config, stream) / LOCK_FILE
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            log.warning(
                "%s cannot be opened (%s), so a second run on this machine is not noticed",
                path, error.strerror,
            )  # fmt: skip
            return False
        holder = wait_for_lock(descriptor, LOCK_SECONDS)
        if holder is not None:
            os.close(descriptor)
            raise AlreadyRunningError(
                f"stream {stream.name} is already run by process {holder.process} on "
                f"{holder.host}, or by workers that it left behind ({path} is locked). Stop them "
                "first. Nothing was started."
            )
        former = read_holder(descriptor)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{socket.gethostname()} {os.getpid()}\n".encode(), 0)
        self.descriptors.append(descriptor)
        return former is not None and former.host == socket.gethostname()

    def _check_group(self, stream: StreamSettings, crashed: bool) -> None:
        """Raise `AlreadyRunningError` if tokenizers of another `run` are in the group.

        After a crash of the last `run` on this machine, its dead tokenizers may still be there.
        """
        here, until = socket.gethostname(), time.monotonic() + MEMBER_SECONDS
        waiting = False
        while True:
            try:
                ids = group_client_ids(self._config.kafka, tokenizer_consumer_group(stream.name))
            except (KafkaError, OSError) as error:
                log.debug("the members of the group are not known: %s", error)
                return  # the workers wait for the broker, and say so
            hosts = {host for id_ in ids if (host := host_of_run(id_)) is not None}
            others = sorted(hosts - {here} if crashed else hosts)
            if not others:
                return
            if time.monotonic() > until:
                raise AlreadyRunningError(
                    f"stream {stream.name} is already run on {', '.join(others)}: the tokenizers "
                    f"there are members of the group {tokenizer_consumer_group(stream.name)}. "
                    "Stop that run first, or start only tokenizers here (wirerank tokenize). "
                    "Nothing was started."
                )
            if not waiting:
                log.info(
                    "a run on %s works on stream %s, or did so until a moment ago; waiting whether "
                    "it ends", ", ".join(others), stream.name,
                )  # fmt: skip
                waiting = True
            time.sleep(POLL_SECONDS)


def wait_for_lock(descriptor: int, seconds: float) -> Holder | None:
    """Lock a file; returns who has it instead if it is not free.

    If only the workers of a supervisor that died have it, they are given some time to end.
    """
    until = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = read_holder(descriptor) or Holder("an unknown machine", 0)
            if holder.is_alive() or time.monotonic() > until:
                return holder
            time.sleep(POLL_SECONDS)
        else:
            return None


def read_holder(descriptor: int) -> Holder | None:
    """The `run` that is named in a lock file; None if it is empty or holds something else."""
    text = os.pread(descriptor, 1000, 0).decode(errors="replace").strip()
    host, _, process = text.rpartition(" ")
    return Holder(host, int(process)) if host and process.isdecimal() else None
