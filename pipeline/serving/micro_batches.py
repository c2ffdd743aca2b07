"""Requests that wait are ranked together.

Nobody waits for a batch to fill: whatever has come in while the last batch was ranked is the next
batch. So a lone request is ranked at once, and under load the cost of a call is shared.

A few single documents take less time than handing them to a thread and back, so they are ranked in
the thread of the event loop. Lists, explanations and whatever takes longer have a thread of their
own, so that the event loop goes on.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from pipeline.serving.served_model import Reply, problem

log = logging.getLogger(__name__)

BATCH_REQUESTS, BATCH_BYTES = 256, 1 << 20
QUICK_BYTES, QUICK_SECONDS = 64 << 10, 0.02


class Waiting(NamedTuple):
    """A request in the queue."""

    body: bytes
    reply: asyncio.Future[Reply]
    deadline: float


class MicroBatches:
    """A bounded queue of requests, and the thread that ranks them."""

    def __init__(
        self,
        answer: Callable[[Sequence[bytes]], list[Reply]],
        most_waiting: int,
        timeout_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._answer = answer
        self._most_waiting = most_waiting
        self._timeout_seconds = timeout_seconds
        self._clock = clock
        self._queue: deque[Waiting] = deque()
        self._thread = ThreadPoolExecutor(1, "rank")
        self._turning: asyncio.Task[None] | None = None
        self._is_quick = True  # whether the last batch was
        self._began: float | None = None  # when the batch that is being ranked began

    @property
    def waiting(self) -> int:
        """The number of requests that are not being ranked yet."""
        return len(self._queue)

    @property
    def busy_seconds(self) -> float:
        """How long the current batch has been ranked; 0 if there is none."""
        began = self._began
        return 0.0 if began is None else self._clock() - began

    async def reply(self, body: bytes) -> Reply:
        """Answer a request, or refuse it because too many others wait."""
        if len(self._queue) >= self._most_waiting:
            return problem(
                429, "too_many_requests", f"{self._most_waiting:,} requests wait; try again later"
            )
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._queue.append(Waiting(body, future, self._clock() + self._timeout_seconds))
        if self._turning is None:
            self._turning = asyncio.create_task(self._turn())
        return await future

    async def _turn(self) -> None:
        try:
            while batch := self._next_batch():
                self._began = self._clock()
                bodies = [waiting.body for waiting in batch]
                replies = await self._replies(bodies)
                self._is_quick = self.busy_seconds < QUICK_SECONDS
                for waiting, reply in zip(batch, replies, strict=True):
                    if not waiting.reply.done():
                        waiting.reply.set_result(reply)
        finally:
            self._began = None
            self._turning = None

    async def _replies(self, bodies: Sequence[bytes]) -> list[Reply]:
        try:
            if self._is_quick and are_light(bodies):
                return self._answer(bodies)
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, self._answer, bodies)
        except Exception:
            log.exception("a batch could not be ranked")
            detail = "the request could not be ranked; the log of the server has the details"
            return [problem(500, "internal_error", detail)] * len(bodies)

    def _next_batch(self) -> list[Waiting]:
        """Take requests from the queue; answer those that have waited too long."""
        batch = list[Waiting]()
        size, now = 0, self._clock()
        while self._queue and len(batch) < BATCH_REQUESTS:
            if batch and size + len(self._queue[0].body) > BATCH_BYTES:
                break
            waiting = self._queue.popleft()
            if waiting.reply.done():
                continue  # cancelled
            if waiting.deadline < now:
                detail = f"the request waited for more than {self._timeout_seconds:g} s"
                waiting.reply.set_result(problem(503, "timeout", detail))
                continue
            batch.append(waiting)
            size += len(waiting.body)
        return batch

    def close(self) -> None:
        """End the thread after its current batch."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def are_light(bodies: Sequence[bytes]) -> bool:
    """Return whether these are few single documents without explanations.

    A list of documents has at least three braces, unless it has only one.
    """
    return sum(map(len, bodies)) <= QUICK_BYTES and not any(
        b'"why"' in body or body.count(b"{") > 2 for body in bodies
    )
