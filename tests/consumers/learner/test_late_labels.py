"""Labels that come apart from their documents: in other partitions, before and after, over crashes.

A label is matched with its document by its id, in the order of the log, within `max_pending` that
wait; whatever happens to the learner meanwhile, the outcome is that of an undisturbed run.
"""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.corpora import open_source
from tests.support.kafka_stream import SMALL, Streaming, assert_exact

LANES = ("mmp:loss=1", "perceptron:average=true,norm=l2", "feature-focus:margin=0.5")
DOCUMENTS, LABELS = (0, 1), (2,)  # the partitions they go to


def documents(number: int, seed: int = 1) -> list[dict[str, Any]]:
    return [orjson.loads(raw) for raw in open_source(f"synthetic:{number},topics=12,seed={seed}")]


def unlabelled(events: list[dict[str, Any]]) -> list[bytes]:
    return [orjson.dumps({k: v for k, v in e.items() if k != "topics"}) for e in events]


def labels(events: list[dict[str, Any]]) -> list[bytes]:
    return [orjson.dumps({"id": e["id"], "topics": e["topics"]}) for e in events]


def test_labels_are_matched_over_partitions_and_counted(broker: str, tmp_path: Path) -> None:
    """Twenty labels may wait; each step is logged before the next; four kills of the learner."""
    news = documents(130)
    late, overtaken, own, updated = news[:50], news[50:70], news[70:75], news[75:80]
    steps = [
        (unlabelled(late), DOCUMENTS),  # 30 of them wait too long
        (labels(late), LABELS),  # 20 find their document; of the others, 10 are too many
        (labels(overtaken), LABELS),  # they push out the 20 that wait in vain
        (unlabelled(overtaken), DOCUMENTS),  # all find their label
        (labels(own), LABELS),
        ([orjson.dumps(event) for event in own], DOCUMENTS),  # 5 labels were not needed
        (unlabelled(updated), DOCUMENTS),
        (unlabelled(updated), DOCUMENTS),  # the same 5 stories again
        (labels(updated), LABELS),
        ([orjson.dumps({"id": event["id"], "rank": 2}) for event in news[:3]], LABELS),
        (unlabelled(news[80:92]), DOCUMENTS),  # 12 go on to wait
        (labels(news[100:107]), LABELS),  # and 7 labels
    ]
    settings = f"{SMALL}\nmax_pending = 20"
    with Streaming(broker, tmp_path, LANES, 3, settings=settings, every=0.2) as streaming:
        streaming.start("tokenize-0")
        for number, (events, partitions) in enumerate(steps):
            if number % 3 == 0:
                streaming.start("learn")
            streaming.produce(events, partitions)
            streaming.wait_logged()
            if number % 3 == 2:
                time.sleep(number // 3)
                streaming.kill("learn")
        streaming.start("learn")
        streaming.wait_learned()
        written = [event for events, _ in steps for event in events]
        published = streaming.rankings(len(LANES) * 97)
        for name in ("learn", "tokenize-0"):
            assert streaming.end(name) == 0, streaming.log(name)
        assert_exact(streaming, published, written)
        content = streaming.snapshot().content
    assert content["rounds"] == 20 + 20 + 5 + 5
    assert content["expired_documents"] == 30
    assert content["superseded"] == 5
    assert content["unmatched_labels"] == 10 + 20 + 5
    assert content["ignored_labels"] == 3
    assert set(content["pending"]) == {event["id"] for event in news[80:92]}
    assert content["early"] == [[event["id"], event["topics"]] for event in news[100:107]]


def scattered(rng: random.Random, number: int) -> list[bytes]:
    """Documents and labels; most labels come close to their document, some far away."""
    placed: list[tuple[float, bytes]] = []
    for place, event in enumerate(documents(number, seed=rng.randrange(1000))):
        if rng.random() < 0.3:
            placed.append((place, orjson.dumps(event)))
            continue
        placed.append((place, unlabelled([event])[0]))
        away = rng.choice([5, 40, 300])
        placed.append((place + rng.uniform(-away, away), labels([event])[0]))
    return [event for _, event in sorted(placed)]


@pytest.mark.parametrize("seed", [1, 2])
def test_scattered_labels_over_kills_and_restarts(seed: int, broker: str, tmp_path: Path) -> None:
    """Two tokenizers, labels in any partition, a learner that is killed or stopped eight times."""
    rng = random.Random(seed)
    events = scattered(rng, 900)
    settings = f"{SMALL}\nmax_pending = 12"
    with Streaming(broker, tmp_path, LANES, 3, settings=settings, every=0.3) as streaming:
        for name in ("tokenize-0", "tokenize-1"):
            streaming.start(name)
        size = -(-len(events) // 8)
        for start in range(0, len(events), size):
            streaming.start("learn")
            streaming.produce(events[start : start + size], [rng.randrange(3) for _ in range(97)])
            time.sleep(rng.uniform(1.0, 3.5))  # it takes about two seconds to start
            if rng.random() < 0.75:
                streaming.kill("learn")
            else:
                # It may be asked to end before it has begun to listen for that.
                assert streaming.end("learn") in (0, -signal.SIGTERM), streaming.log("learn")
        streaming.start("learn")
        streaming.wait_learned()
        published = streaming.rankings(len(LANES) * 900)
        for name in ("learn", "tokenize-0", "tokenize-1"):
            assert streaming.end(name) == 0, streaming.log(name)
        assert_exact(streaming, published, events)
        content = streaming.snapshot().content
    for counted in ("expired_documents", "unmatched_labels"):
        assert content[counted] > 0, counted  # or this proves little
    assert content["rounds"] > 300
