"""Tells Prometheus where a worker serves its metrics: a file per worker in a folder.

Prometheus reads such files (`file_sd_configs`) and notices when one changes, so nobody keeps a list
of ports. What a file means:

- A worker writes its file when it serves metrics. A worker that stops in good order removes it.
- The file of a worker that was killed, or that needs an operator, stays. Prometheus then finds that
  the worker does not answer, and raises an alert. The next start of the worker replaces the file.
- A worker locks its file for as long as it lives, and the kernel unlocks it however it ends. `run`
  starts all workers of its streams on a machine, so it first removes the files that are not locked.
  They belong to workers that no longer exist, such as a fourth tokenizer of which there are three.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import re
import zlib
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)

STREAM = "__meta_wirerank_stream"  # for relabelling; Prometheus drops labels of this kind
ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - where a server listens
SUFFIX = ".json"
MAX_FILE_BYTES = 1 << 16


def target_address(host: str, port: int) -> str:
    """The address at which a Prometheus on the same machine reaches a server.

    >>> target_address("0.0.0.0", 9610), target_address("::1", 9610)
    ('127.0.0.1:9610', '[::1]:9610')
    """
    host = ANY_ADDRESS.get(host, host)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class ScrapeTarget:
    """The file of one worker, locked until the worker ends."""

    def __init__(
        self, folder: Path, job: str, worker: str, stream: str, address: str, scheme: str = "http"
    ) -> None:
        self.path = folder / file_name(worker)
        labels = {"job": job, "worker": worker, "__scheme__": scheme, STREAM: stream}
        content = json.dumps([{"targets": [address], "labels": labels}], indent=1) + "\n"
        folder.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_suffix(f".{os.getpid()}.partial")
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        self._descriptor = os.open(partial, flags, 0o644)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.write(self._descriptor, content.encode())
            os.replace(partial, self.path)
        except OSError:
            os.close(self._descriptor)
            partial.unlink(missing_ok=True)
            raise

    def withdraw(self) -> None:
        """Remove the file, unless another worker of the same name has replaced it."""
        with suppress(OSError):
            if os.path.samestat(os.fstat(self._descriptor), self.path.stat()):
                self.path.unlink()
        os.close(self._descriptor)


def file_name(worker: str) -> str:
    """The name of a worker's file; workers with similar names have different files.

    >>> file_name("learner mmp:loss=1 of stream newswire")
    'learner-mmp-loss-1-of-stream-newswire-bd0872d8.json'
    """
    readable = re.sub(r"[^A-Za-z0-9._]+", "-", worker)[:100]
    return f"{readable}-{zlib.crc32(worker.encode()):08x}{SUFFIX}"


def remove_abandoned(folder: Path, streams: Collection[str]) -> list[Path]:
    """Remove the files of workers of these streams that have ended; returns which."""
    removed = []
    try:
        paths = sorted(folder.glob(f"*{SUFFIX}"))
        for path in paths:
            if stream_of(path) in streams and not is_locked(path):
                path.unlink(missing_ok=True)
                removed.append(path)
        for partial in folder.glob("*.partial"):  # of a worker that was killed at its start
            if not is_locked(partial):
                partial.unlink(missing_ok=True)
    except OSError as error:
        log.warning("old scrape targets in %s cannot be removed: %s", folder, error.strerror)
    return removed


def stream_of(path: Path) -> Any:  # noqa: ANN401 - whatever a file may hold
    """The stream that a file of this module names; None if it is another file."""
    try:
        with path.open("rb") as file:
            (group,) = json.loads(file.read(MAX_FILE_BYTES))
        return group["labels"][STREAM]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def is_locked(path: Path) -> bool:
    """Whether the worker that wrote a file still lives; a file that is gone has no worker."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False
