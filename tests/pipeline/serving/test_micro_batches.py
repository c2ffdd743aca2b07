"""Requests that wait are ranked together, and too many are refused."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from pipeline.serving.micro_batches import BATCH_BYTES, BATCH_REQUESTS, MicroBatches
from pipeline.serving.served_model import Reply

T = TypeVar("T")

HEAVY = b"{{{"  # as many braces as a list has, so that a thread ranks it


def run(question: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a thread of its own: a browser of another test may have a loop in this."""
    with ThreadPoolExecutor(1, "loop") as thread:
        return thread.submit(asyncio.run, question).result()


class Recorder:
    """Answers when it is let to, and keeps the batches."""

    def __init__(self) -> None:
        self.batches: list[list[bytes]] = []
        self.may_go_on = threading.Event()

    def answer(self, bodies: Sequence[bytes]) -> list[Reply]:
        self.batches.append([*bodies])
        self.may_go_on.wait(60)
        return [Reply(200, body) for body in bodies]


async def ask_all(batches: MicroBatches, bodies: list[bytes], recorder: Recorder) -> list[Reply]:
    """Ask at once, and let the answers go when all have asked."""
    tasks = [asyncio.create_task(batches.reply(body)) for body in bodies]
    await asyncio.sleep(0)  # all of them ask
    await asyncio.sleep(0)
    recorder.may_go_on.set()
    return await asyncio.gather(*tasks)


def test_whatever_waits_is_one_batch_and_everybody_gets_the_own_answer() -> None:
    recorder = Recorder()
    batches = MicroBatches(recorder.answer, 10_000, 60)
    bodies = [HEAVY + b"%d" % n for n in range(1000)]
    replies = run(ask_all(batches, bodies, recorder))
    batches.close()
    assert [reply.body for reply in replies] == bodies
    assert [body for batch in recorder.batches for body in batch] == bodies
    assert max(map(len, recorder.batches)) == BATCH_REQUESTS


def test_single_documents_are_ranked_without_a_thread_until_that_takes_long() -> None:
    threads, now = list[str](), 0.0

    def answer(bodies: Sequence[bytes]) -> list[Reply]:
        nonlocal now
        threads.append(threading.current_thread().name.partition("_")[0])
        now += 1.0 if b"slow" in bodies[0] else 0.0
        return [Reply(200, body) for body in bodies]

    async def ask() -> None:
        for text in (b"a", b"slow", b"b", b"c", HEAVY, b'{"text": "d", "why": true}'):
            await batches.reply(text)

    batches = MicroBatches(answer, 10, 60, clock=lambda: now)
    run(ask())
    batches.close()
    assert threads == ["loop", "loop", "rank", "loop", "rank", "rank"]


def test_a_failure_is_an_answer() -> None:
    def answer(bodies: Sequence[bytes]) -> list[Reply]:
        raise ZeroDivisionError

    batches = MicroBatches(answer, 10, 60)
    assert [run(batches.reply(body)).status for body in (b"a", HEAVY)] == [500, 500]
    batches.close()


def test_large_requests_are_ranked_alone() -> None:
    recorder = Recorder()
    batches = MicroBatches(recorder.answer, 10, 60)
    bodies = [bytes(BATCH_BYTES), HEAVY, bytes(BATCH_BYTES), HEAVY]
    run(ask_all(batches, bodies, recorder))
    batches.close()
    assert [*map(len, recorder.batches)] == [1, 1, 1, 1]


def test_too_many_requests_are_refused_at_once() -> None:
    recorder = Recorder()
    batches = MicroBatches(recorder.answer, 3, 60)
    replies = run(ask_all(batches, [HEAVY] * 10, recorder))
    batches.close()
    statuses = [reply.status for reply in replies]
    assert sorted(set(statuses)) == [200, 429]
    assert 3 <= statuses.count(200) <= 4


def test_a_request_that_waited_too_long_is_not_ranked() -> None:
    recorder = Recorder()
    now = 0.0
    batches = MicroBatches(recorder.answer, 10, 5, clock=lambda: now)

    async def ask() -> list[Reply]:
        nonlocal now
        first = asyncio.create_task(batches.reply(HEAVY + b"first"))
        while not recorder.batches:
            await asyncio.sleep(0.001)
        second = asyncio.create_task(batches.reply(HEAVY + b"second"))
        await asyncio.sleep(0)
        now = 6.0
        assert batches.busy_seconds == 6.0
        recorder.may_go_on.set()
        return [await first, await second]

    replies = run(ask())
    batches.close()
    assert [reply.status for reply in replies] == [200, 503]
    assert recorder.batches == [[HEAVY + b"first"]]
    assert batches.busy_seconds == 0
