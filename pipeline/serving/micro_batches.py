"""Requests that wait are ranked together, in a thread beside the event loop.

Nobody waits for a batch to fill: whatever has come in while the last batch was ranked is the next
batch. So a lone request is ranked at once, and under load the cost of a call is shared.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from pipeline.serving.served_model import Reply, problem

BATCH_REQUESTS, BATCH_BYTES = 256, 1 << 20


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
        loop = asyncio.get_running_loop()
        try:
            while batch := self._next_batch():
                self._began = self._clock()
                bodies = [waiting.body for waiting in batch]
                replies = await loop.run_in_executor(self._thread, self._answer, bodies)
                for waiting, reply in zip(batch, replies, strict=True):
                    if not waiting.reply.done():
                        waiting.reply.set_result(reply)
        finally:
            self._began = None
            self._turning = None

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
