"""The queue of documents to review: the last marked ones, for any blocks and after a restart."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from learners.checks import InvalidArrayError
from learners.decisions.decided import CANDIDATES, Decisions
from learners.specs import parse_spec
from pipeline.curves.decision_curve import DecisionCurve
from pipeline.curves.review_queue import (
    SHOWN_ASSIGNED,
    SHOWN_LIKELY,
    TO_REVIEW,
    QueuedDocument,
    ReviewQueue,
)
from pipeline.engine.engine import Engine
from pipeline.events.event import MAX_ID_CHARACTERS, Event
from pipeline.log.block import Entry, make_block
from pipeline.snapshots.restoring import restore_engine
from pipeline.snapshots.snapshot import take_snapshot
from tests.pipeline.engine.test_engine import TOKENIZER, random_events

TOPICS = 30
IDS = ("plain", "ünïcode 𝄞", "\ud800 alone", 7, -(2**53), "long" * 600)


def random_decisions(seed: int, count: int) -> tuple[Decisions, list[Entry]]:
    """Decisions about documents, some of them with few candidates, and the documents."""
    rng = random.Random(seed)
    made = Decisions.new(count)
    for row in range(count):
        topics = rng.sample(range(TOPICS), rng.choice((0, 1, 4, CANDIDATES)))
        for place, topic in enumerate(topics):
            made.topics[row, place] = topic
            made.probabilities[row, place] = rng.choice((0.0, 0.5, 0.5, rng.random()))
            made.assigned[row, place] = rng.random() < 0.5
        made.certainty[row], made.review[row] = rng.random(), rng.random() < 0.4
    return made, [Entry(rng.choice(IDS), None, None, None) for _ in range(count)]


def part_of(made: Decisions, start: int, stop: int) -> Decisions:
    return Decisions.unpack(made.keep(range(start, min(stop, len(made.topics)))))


def by_hand(made: Decisions, documents: Sequence[Entry]) -> list[QueuedDocument]:
    """The last marked documents, each put together in plain Python."""
    queue = []
    for row, document in enumerate(documents):
        if not made.review[row]:
            continue
        candidates = [
            (int(topic), float(likely), bool(chosen))
            for topic, likely, chosen in zip(
                made.topics[row], made.probabilities[row], made.assigned[row], strict=True
            )
            if topic >= 0
        ]
        assigned = [topic for topic, _, chosen in candidates if chosen]
        likely = sorted(((t, p) for t, p, _ in candidates if p > 0.0), key=lambda one: -one[1])
        queue.append(
            QueuedDocument(
                row + 1,
                str(document.id)[:MAX_ID_CHARACTERS],
                float(made.certainty[row]),
                tuple(assigned[:SHOWN_ASSIGNED]),
                len(assigned[SHOWN_ASSIGNED:]),
                tuple(likely[:SHOWN_LIKELY]),
            )
        )
    return queue[-TO_REVIEW:]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("block", [1, 7, 30, 200])
def test_any_blocks_and_restarts_give_the_last_marked_documents(seed: int, block: int) -> None:
    made, documents = random_decisions(seed, 200)
    queue = ReviewQueue()
    for start in range(0, 200, block):
        stop = start + block
        queue.add(part_of(made, start, stop), documents[start:stop], start)
        assert [*queue] == by_hand(made, documents[:stop])
        again = ReviewQueue()
        again.restore(queue.state(), decided=stop)
        again.check_references(TOPICS)
        assert [*again] == [*queue]
        assert queue.size_bytes() == again.size_bytes() <= ReviewQueue.max_bytes()
        queue = again
    assert len([*queue]) == TO_REVIEW


def filled() -> ReviewQueue:
    made, documents = random_decisions(1, 200)
    queue = ReviewQueue()
    queue.add(made, documents, 0)
    return queue


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("numbers", 0),
        ("numbers", 5),  # twice the same
        ("numbers", 201),
        ("certainty", 1.5),
        ("certainty", np.nan),
        ("topics", -2),
        ("probabilities", -0.1),
        ("starts", 3),
        ("ids", 255),
    ],
)
def test_a_state_that_cannot_be_is_refused(name: str, value: float) -> None:
    state = filled().state()
    state[f"queue_{name}"][...] = value
    with pytest.raises(InvalidArrayError, match=f"queue_{name}"):
        ReviewQueue().restore(state, decided=200)


def test_more_than_there_can_be_is_refused() -> None:
    state = filled().state()
    too_long = {**state, "queue_ids": np.full(TO_REVIEW * 2000, ord("x"), np.uint8)}
    too_long["queue_starts"] = np.arange(TO_REVIEW + 1) * 2000
    with pytest.raises(InvalidArrayError, match="an id that is too long"):
        ReviewQueue().restore(too_long, decided=200)
    twice = {name: np.concatenate((array, array)) for name, array in state.items()}
    twice["queue_numbers"] = np.arange(1, 2 * TO_REVIEW + 1)
    with pytest.raises(InvalidArrayError, match="queue_numbers is for 40 documents"):
        ReviewQueue().restore(twice, decided=200)
    queue = filled()
    with pytest.raises(InvalidArrayError, match="topics"):
        queue.check_references(3)


def test_only_lanes_that_mark_documents_have_a_queue() -> None:
    assert DecisionCurve(has_marks=False).queue is None
    assert not [name for name in DecisionCurve(has_marks=False).state() if "queue" in name]


def followed(engine: Engine, events: Sequence[Event], block: int) -> list[QueuedDocument]:
    for start in range(0, len(events), block):
        for _ in engine.process(make_block(events[start : start + block], TOKENIZER)):
            pass
    (lane,) = engine.lanes
    assert lane.decision_curve is not None
    return [*(lane.decision_curve.queue or ())]


@pytest.mark.parametrize("block", [1, 13])
def test_an_engine_goes_on_with_its_queue(block: int) -> None:
    """Late labels among the events are no documents, and are not queued."""
    spec, events = parse_spec("perceptron:assign=macro,risk=0.4"), random_events(4, 240)
    whole, cut, again = (Engine([spec], threads=1) for _ in range(3))
    expected = followed(whole, events, 1000)
    followed(cut, events[:130], block)
    restore_engine(again, take_snapshot(cut, 0))
    assert followed(again, events[130:], block) == expected
    assert len(expected) > 3
    assert expected[-1].number <= whole.documents
