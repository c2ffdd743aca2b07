"""The ordinal lanes against an independent implementation, through the command line."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.reference.ordinal import MEASURES, OrdinalResult, replay_ranks
from tests.reference.stream import replay
from tests.reference.test_stream import (
    Run,
    compare_curves,
    compare_rankings,
    compare_reports,
    integers,
    run,
    same,
    text,
)
from tests.reference.vectors import Event
from tests.support.ranked_streams import papers_data

# Every number that these lanes compare is exact where features are whole numbers.
LANES = (
    "prank:ranks=4",
    "prank:ranks=4,kernel=poly2",
    "prank:ranks=4,kernel=poly2,budget=7",
    "multiclass-perceptron:ranks=4",
    "multiclass-perceptron:ranks=4,kernel=poly2",
    "multiclass-perceptron:ranks=4,kernel=poly2,budget=5",
)
# A mean can be summed in more than one way, so ties of these lanes are not the same everywhere.
ROUNDED_LANES = (
    "prank:ranks=4,norm=l2,name=plain",
    "prank:ranks=4,average=true",
    "prank:ranks=4,average=true,norm=l2",
    "prank:ranks=4,average=true,kernel=poly2,norm=l2",
    "prank:ranks=4,average=true,kernel=poly2,budget=6,norm=l2",
    "widrow-hoff:ranks=4,norm=l2",
    "widrow-hoff:ranks=4,rate=0.7,norm=l2",
    "widrow-hoff:ranks=4,rate=0.3,average=true,norm=l2",
    "widrow-hoff:ranks=4,rate=0.1,kernel=poly2,norm=l2",
    "widrow-hoff:ranks=4,rate=0.1,kernel=poly2,budget=9,norm=l2",
    "widrow-hoff:ranks=4,rate=0.1,kernel=poly2,budget=4,average=true,norm=l2",
    "multiclass-perceptron:ranks=4,norm=l2,name=classes",
    "multiclass-perceptron:ranks=4,average=true,norm=l2",
    "multiclass-perceptron:ranks=4,average=true,kernel=poly2,norm=l2",
    "multiclass-perceptron:ranks=4,average=true,kernel=poly2,budget=3,norm=l2",
)
TOPIC_LANES = ("mmp:loss=1", "perceptron")


def compare_ranks(outcome: Run, expected: dict[str, OrdinalResult]) -> None:
    lines = [json.loads(line) for line in outcome.rankings.splitlines()]
    for lane, result in expected.items():
        lane_lines = [line for line in lines if line["lane"] == lane]
        assert len(lane_lines) == len(result.rankings), lane
        for one, other in zip(lane_lines, result.rankings, strict=True):
            where = f"{lane}, document {one['id']}: {one}, not {other}"
            assert same(one.pop("score"), other["score"]), where
            assert one == {name: value for name, value in other.items() if name != "score"}, where
    for lane, result in expected.items():
        for name in MEASURES:
            kept = [p for p in outcome.curves if p["lane"] == lane and p["loss"] == name]
            at = [int(one["round"]) for one in kept]
            every = {1, 2, 4, 8, 100, len(result.rounds)} & set(range(1, len(result.rounds) + 1))
            assert {number for number in every if result.value(name, number) is not None} <= set(at)
            assert at == sorted(set(at))
            for one, number in zip(kept, at, strict=True):
                value = result.value(name, number)
                assert same(float(one["value"]), value), f"{lane}, {name}, round {number}: {value}"
    compare_reports({lane: outcome.report[lane] for lane in expected}, expected)


def reals(rng: random.Random) -> Event:
    names = rng.sample(range(12), rng.randint(0, 8))
    return {"features": {f"f{name}": rng.gauss(0, 1) for name in names}}


KINDS = {"integers": integers, "reals": reals, "text": text}


def stream(kind: str, seed: int, documents: int, repeated: float = 0.2) -> list[Event]:
    """Documents with topics, ranks or both: at once, later, earlier, in turn or never.

    Some ranks are past the last one, some ids come twice, and so do some labels.
    """
    rng = random.Random(f"ordinal {kind} {seed}")
    events: list[tuple[float, Event]] = []
    for number in range(documents):
        again = number > 20 and rng.random() < repeated
        name = f"{kind}-{number - rng.randint(1, 20) if again else number}"
        event = {"id": name, **KINDS[kind](rng)}
        if rng.random() < 0.1:
            event["time"] = f"1987-10-19T09:{number % 60:02}:00Z"
        topics = rng.sample("abcde", rng.randint(0, 3))
        labels: Event = {"rank": rng.choice((1, 1, 2, 3, 3, 3, 4, 4, 5)), "topics": topics}
        for label, value in labels.items():
            chance = rng.random()
            if chance < 0.55:
                event[label] = value
            elif chance < 0.95:
                delay = rng.choice([0.5, 1.5, 3.5, 20.5, 60.5]) * (1 if chance < 0.85 else -1)
                events.append((number + delay, {"id": name, label: value}))
        events.append((float(number), event))
    return together([event for _, event in sorted(events, key=lambda pair: pair[0])])


def together(events: Sequence[Event]) -> list[Event]:
    """Late labels of one document that follow each other are one event."""
    joined: list[Event] = []
    for event in events:
        before = joined[-1] if joined else {}
        late = not {*event, *before} & {"text", "title", "features"}
        if late and before.get("id") == event["id"] and not event.keys() & before.keys() - {"id"}:
            joined[-1] = {**before, **event}
        else:
            joined.append(event)
    return joined


def check(folder: Path, events: Sequence[Event], lanes: Sequence[str]) -> dict[str, OrdinalResult]:
    expected = replay_ranks(events, lanes)
    runs = [run(folder, events, lanes, block) for block in (1, 7, 1000)]
    compare_ranks(runs[0], expected)
    for other in runs[1:]:
        assert other.rankings == runs[0].rankings
        assert other.curves == runs[0].curves
    return expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_random_streams(tmp_path: Path, kind: str, seed: int) -> None:
    expected = check(tmp_path, stream(kind, seed, 150), LANES)
    report = next(iter(expected.values())).report
    assert report["superseded_documents"] > 0
    assert report["ignored_labels"] > 0
    assert report["unmatched_labels"] > 0


@pytest.mark.parametrize("kind", ["reals", "text"])
@pytest.mark.parametrize("seed", range(10, 12))
def test_rounded_numbers(tmp_path: Path, kind: str, seed: int) -> None:
    events = stream(kind, seed, 120)
    for event in events:  # without a feature all would be ties
        if "features" in event:
            event["features"]["one"] = 1.0
        elif event.keys() & {"text", "title"}:
            event["title"] = f"word {event.get('title', event['id'])}"
    check(tmp_path, events, ROUNDED_LANES)


@pytest.mark.parametrize("kind", KINDS)
def test_beside_topic_lanes(tmp_path: Path, kind: str) -> None:
    events = stream(kind, 20, 150, repeated=0.0)  # the other reference knows no id that comes twice
    of_ranks = replay_ranks(events, LANES)
    of_topics = replay([event for event in events if event.keys() - {"id", "rank"}], TOPIC_LANES)
    assert of_ranks["prank:ranks=4"].rounds
    lanes = [LANES[0], TOPIC_LANES[0], *LANES[1:], TOPIC_LANES[1]]
    for block in (1, 11, 1000):
        outcome = run(tmp_path, events, lanes, block)
        report, curves = outcome.report, outcome.curves
        for result in of_ranks.values():
            result.report["ignored_labels"] = 0
        compare_ranks(outcome, of_ranks)
        lines = outcome.rankings.splitlines(keepends=True)
        topic_lines = [line for line in lines if json.loads(line)["lane"] in TOPIC_LANES]
        compare_rankings(b"".join(topic_lines), of_topics)
        compare_curves([one for one in curves if one["lane"] in TOPIC_LANES], of_topics)
        compare_reports({lane: report[lane] for lane in TOPIC_LANES}, of_topics)


def test_the_papers_sequence(tmp_path: Path) -> None:
    # 7,000 rounds of the paper's data, number by number.
    points, ranks = papers_data(seed=1)
    events = [
        {"id": str(number), "features": {"x": x, "y": y}, "rank": rank}
        for number, ((x, y), rank) in enumerate(zip(points.tolist(), ranks.tolist(), strict=True))
    ]
    lanes = (
        "prank:ranks=5,kernel=poly2,budget=100",
        "widrow-hoff:ranks=5,kernel=poly2,budget=100,rate=0.05",
        "multiclass-perceptron:ranks=5,kernel=poly2,budget=100",
        "prank:ranks=5",
        "widrow-hoff:ranks=5",
        "multiclass-perceptron:ranks=5",
    )
    outcome = run(tmp_path, events, lanes, 1000)
    compare_ranks(outcome, replay_ranks(events, lanes))
