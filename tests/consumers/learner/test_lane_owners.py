"""A lane has one publisher, whatever workers run at once: the one that was started last."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import orjson
import pytest

from pipeline.corpora import open_source
from tests.support.kafka_stream import Streaming, eventually

FIRST, SECOND = "mmp:loss=1", "perceptron:average=true,norm=l2"
PART = 60
NEEDS_AN_OPERATOR = 3


def assert_each_ranked_once(streaming: Streaming, documents: int, digits: bool = True) -> None:
    """Every lane has ranked every document once, as an undisturbed engine does.

    Scores of shards may differ in their last digits.
    """
    lanes = [lane.parsed.name for lane in streaming.stream.lanes]
    values = [m.value or b"" for m in streaming.rankings(documents * len(lanes))]
    per_lane = Counter(orjson.loads(value)["lane"] for value in values)
    assert per_lane == dict.fromkeys(lanes, documents)
    expected = streaming.undisturbed()[1]
    if digits:
        assert sorted(values) == sorted(expected)
    assert sorted(map(order_of, values)) == sorted(map(order_of, expected))


def order_of(ranking: bytes) -> tuple[str, str, list[str]]:
    """A ranking without its scores."""
    event = orjson.loads(ranking)
    return event["id"], event["lane"], [place["topic"] for place in event["ranking"]]


def follows_the_log(streaming: Streaming, name: str) -> bool:
    return eventually(lambda: "of the log" in streaming.log(name), 120)


def all_follow(streaming: Streaming, starts: Counter[str]) -> bool:
    """Whether each learner that runs has recovered after its last start."""
    return all(
        streaming.processes[name].poll() is not None
        or sum("recovery: " in line for line in streaming.log(name).splitlines()) >= times
        for name, times in starts.items()
    )


@pytest.mark.parametrize(
    ("earlier", "later", "rest"),
    [
        ("learn", f"learn@{FIRST}", f"learn@{SECOND}"),
        (f"learn@{FIRST}", "learn", ""),
    ],
)
def test_the_later_worker_publishes_the_lane(
    earlier: str, later: str, rest: str, broker: str, tmp_path: Path
) -> None:
    events = list(open_source(f"synthetic:{3 * PART},topics=12"))
    with Streaming(broker, tmp_path, [FIRST, SECOND]) as streaming:
        streaming.start("tokenize-0")
        streaming.start(earlier)
        streaming.produce(events[:PART])
        assert len(streaming.rankings(PART)) >= PART
        streaming.start(later)
        assert follows_the_log(streaming, later)
        streaming.produce(events[PART : 2 * PART])
        assert streaming.code(earlier) == NEEDS_AN_OPERATOR, streaming.log(earlier)
        assert "another worker runs with the same lanes" in streaming.log(earlier)
        del streaming.processes[earlier]
        streaming.produce(events[2 * PART :])
        if rest:  # the lane that the earlier worker had besides
            streaming.start(rest)
        streaming.wait_learned()
        for name in list(streaming.processes):
            assert streaming.end(name) == 0, streaming.log(name)
        assert_each_ranked_once(streaming, len(events))


def test_a_first_shard_and_a_whole_lane(broker: str, tmp_path: Path) -> None:
    """Both ways: shards take over from the worker of the whole lane, and it from the shards."""
    events = list(open_source(f"synthetic:{3 * PART},topics=12"))
    whole, shards = f"learn@{FIRST}", [f"learn@{FIRST}#{number}" for number in range(2)]
    with Streaming(broker, tmp_path, [FIRST]) as streaming:
        streaming.start("tokenize-0")
        streaming.start(whole)
        streaming.produce(events[:PART])
        assert len(streaming.rankings(PART)) == PART
        streaming.configure([FIRST], shards={FIRST: 2})
        for name in shards:
            streaming.start(name)
        assert follows_the_log(streaming, shards[0])
        streaming.produce(events[PART : 2 * PART])
        assert streaming.code(whole) == NEEDS_AN_OPERATOR, streaming.log(whole)
        del streaming.processes[whole]
        assert len(streaming.rankings(2 * PART)) == 2 * PART
        streaming.configure([FIRST])
        streaming.start(whole)
        assert eventually(lambda: streaming.log(whole).count("of the log") == 2, 120)
        streaming.produce(events[2 * PART :])
        assert streaming.code(shards[0]) == NEEDS_AN_OPERATOR, streaming.log(shards[0])
        streaming.kill(shards[1])
        del streaming.processes[shards[0]]
        streaming.wait_learned()
        for name in list(streaming.processes):
            assert streaming.end(name) == 0, streaming.log(name)
        assert_each_ranked_once(streaming, len(events), digits=False)


def test_workers_that_are_started_and_killed_at_random(broker: str, tmp_path: Path) -> None:
    """Whole workers and workers of one lane in any order; at most one publishes a lane."""
    rng = random.Random(5)
    rounds, size = 6, 30
    names = ["learn", f"learn@{FIRST}", f"learn@{SECOND}"]
    starts: Counter[str] = Counter()
    events = list(open_source(f"synthetic:{rounds * size},topics=12"))
    with Streaming(broker, tmp_path, [FIRST, SECOND]) as streaming:
        streaming.start("tokenize-0")
        for number in range(rounds):
            for name in rng.sample(names, 2):
                running = streaming.processes.get(name)
                if running is not None and running.poll() is None and rng.random() < 0.5:
                    streaming.kill(name)
                if name not in streaming.processes or streaming.processes[name].poll() is not None:
                    starts[name] += 1
                    streaming.start(name)
            assert eventually(lambda: all_follow(streaming, starts), 180), streaming.diagnosis()
            streaming.produce(events[number * size : (number + 1) * size])
            streaming.wait_logged()
        for name in names:
            if name in streaming.processes:
                streaming.kill(name)
        streaming.start("learn")
        streaming.wait_learned()
        for name in ("learn", "tokenize-0"):
            assert streaming.end(name) == 0, streaming.log(name)
        assert_each_ranked_once(streaming, len(events))
