"""Rank batches in several processes, in the order of the source.

The processes are forked when the model is loaded, so they share its memory. Each has a pipe of its
own to this process. A process ends when its pipe is closed, so none is left behind if this process
dies.
"""

from __future__ import annotations

import os
import queue
import signal
import struct
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from types import TracebackType
from typing import IO, Self

from pipeline.ranking.batches import Answer, Batch, BatchRanker, pack_request, unpack_answer

LENGTH = struct.Struct("<Q")
BATCHES_AHEAD = 2  # per process
IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # this process decides when to stop


class RankingProcessError(Exception):
    """A process that ranks has ended; the message says how."""


class RankingProcess:
    """A child that answers requests until its pipe is closed."""

    def __init__(self, work: Callable[[bytes], bytes], others: list[RankingProcess]) -> None:
        to_child, from_parent = os.pipe()[::-1]
        from_child, to_parent = os.pipe()
        self._pid = os.fork()
        if not self._pid:
            for other in others:  # otherwise their pipes would stay open when the parent dies
                other.close_pipes()
            os.close(to_child)
            os.close(from_child)
            serve(work, os.fdopen(from_parent, "rb"), os.fdopen(to_parent, "wb"))
        os.close(from_parent)
        os.close(to_parent)
        self._requests = os.fdopen(to_child, "wb")
        self._answers = os.fdopen(from_child, "rb")

    def ask(self, request: bytes) -> bytes:
        """Send a request and wait for its answer."""
        try:
            send(self._requests, request)
            answer = receive(self._answers)
        except OSError:
            answer = None
        if answer is None:
            raise RankingProcessError(f"a process that ranks {self._ended()}")
        return answer

    def _ended(self) -> str:
        """Say how the process ended."""
        if not self._pid:
            return "has ended."
        _, status = os.waitpid(self._pid, 0)
        code = os.waitstatus_to_exitcode(status)
        self._pid = 0
        if code == -signal.SIGKILL:
            return "was killed; is there enough memory? Try --processes 1."
        return f"ended with code {code}; the lines above say why."

    def close_pipes(self) -> None:
        """Close the pipes, which ends the process."""
        for file in (self._requests, self._answers):
            with suppress(OSError):
                file.close()

    def close(self) -> None:
        """End the process."""
        self.close_pipes()
        if self._pid:
            os.waitpid(self._pid, 0)
            self._pid = 0


def serve(work: Callable[[bytes], bytes], requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer requests in a child, and end it."""
    code = 1
    try:
        for number in IGNORED:
            signal.signal(number, signal.SIG_IGN)
        while (request := receive(requests)) is not None:
            send(answers, work(request))
        code = 0
    except BrokenPipeError:
        code = 0  # the parent has died
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def send(file: IO[bytes], data: bytes) -> None:
    """Write a message: its length, and its bytes."""
    file.write(LENGTH.pack(len(data)))
    file.write(data)
    file.flush()


def receive(file: IO[bytes]) -> bytes | None:
    """Read a message; None if the other side has closed the pipe."""
    head = file.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    data = file.read(length)
    return data if len(data) == length else None


class RankingPool:
    """Ranks batches in this process, or in several others, and keeps their order."""

    def __init__(self, ranker: BatchRanker, processes: int) -> None:
        self._ranker = ranker
        self._processes = list[RankingProcess]()
        self._free: queue.SimpleQueue[RankingProcess] = queue.SimpleQueue()
        self._waiting: deque[tuple[Batch, Future[Answer]]] = deque()
        self._threads: ThreadPoolExecutor | None = None
        if processes > 1:
            for _ in range(processes):
                self._processes.append(RankingProcess(ranker.answer, self._processes))
            for process in self._processes:
                self._free.put(process)
            self._threads = ThreadPoolExecutor(processes, "rank")

    def put(self, batch: Batch) -> None:
        """Hand over the next batch. Call `ready` before the next one."""
        if self._threads is None:
            future = Future[Answer]()
            future.set_result(self._ranker.rank(batch))
        else:
            future = self._threads.submit(self._ask, batch)
        self._waiting.append((batch, future))

    def _ask(self, batch: Batch) -> Answer:
        process = self._free.get()
        try:
            answer = process.ask(pack_request(batch))
        finally:
            self._free.put(process)  # also one that has ended, or others would wait for ever
        return unpack_answer(answer, batch)

    def ready(self, all_of_them: bool = False) -> Iterator[tuple[Batch, Answer]]:
        """Yield answers that are there, in the order of the batches.

        Waits for answers if too many batches are on their way, or for `all_of_them`.
        """
        most = 0 if all_of_them else BATCHES_AHEAD * len(self._processes)
        while self._waiting and (len(self._waiting) > most or self._waiting[0][1].done()):
            batch, future = self._waiting.popleft()
            yield batch, future.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End all processes."""
        for _, future in self._waiting:
            future.cancel()
        if self._threads is not None:
            self._threads.shutdown()
        for process in self._processes:
            process.close()
