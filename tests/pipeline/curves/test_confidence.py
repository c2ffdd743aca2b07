"""Comparing lanes: intervals that hold however often one looks, and what is made of them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from learners.arrays import Floats
from learners.measures import LOSS1, LOSS3, MEASURES
from learners.specs import parse_spec
from pipeline.curves.confidence import (
    CONFIDENCE,
    LOSSES,
    SPREAD,
    SUM,
    LaneDifferences,
    StreamDifferences,
    arranged,
    boundary,
)
from pipeline.engine.engine import Engine
from pipeline.log.block import make_block
from pipeline.reports.lane_comparison import MOST_LINES, comparison_lines
from pipeline.reports.report import make_report
from pipeline.slow.confidence import SlowDifference
from pipeline.snapshots.restoring import restore_engine
from pipeline.snapshots.snapshot import take_snapshot
from tests.pipeline.engine.test_engine import TOKENIZER, random_events

ALPHA = 1 - CONFIDENCE
PER_SIDE = ALPHA / 2


def losses(seed: int, lanes: int, rounds: int) -> list[Floats]:
    """Of each lane rounds x measures; what is not compared does not exist."""
    rng = np.random.default_rng(seed)
    measured = [np.full((rounds, len(MEASURES)), np.nan) for _ in range(lanes)]
    for lane, of_lane in enumerate(measured):
        of_lane[:, LOSS1] = rng.random(rounds) < 0.2 + 0.1 * lane
        of_lane[:, LOSS3] = rng.random(rounds) ** 3
    return measured


def followed(measured: list[Floats], block: int) -> LaneDifferences:
    differences = LaneDifferences(len(measured))
    for start in range(0, len(measured[0]), block):
        differences.follow([of_lane[start : start + block] for of_lane in measured])
    return differences


def test_the_twin_agrees() -> None:
    measured = losses(0, 4, 600)
    differences = followed(measured, 64)
    for later in range(4):
        for earlier in range(later):
            actual = differences.between(earlier, later)
            for place, loss in enumerate((LOSS1, LOSS3)):
                slow = SlowDifference()
                for one, other in zip(measured[earlier], measured[later], strict=True):
                    slow.add(float(one[loss] - other[loss]))
                tally = differences.tallies[later, earlier, place]
                assert tally.tolist() == [slow.rounds, slow.sum, slow.spread]
                # Six pairs, two losses, two sides.
                margin = slow.margin(ALPHA / 24)
                interval = actual[LOSSES[place]]
                mean = slow.sum / 600
                assert interval.mean == mean
                assert interval.low == pytest.approx(mean - margin, rel=1e-9)
                assert interval.high == pytest.approx(mean + margin, rel=1e-9)


@pytest.mark.parametrize("spread", [0.0, 1e-9, 0.3, 7.0, 1e3, 1e6, 1e12])
@pytest.mark.parametrize("alpha", [0.5, 0.025, 1e-6])
def test_the_boundary_is_that_of_the_twin(spread: float, alpha: float) -> None:
    slow = SlowDifference()
    slow.rounds, slow.spread = 1, spread
    (bound,) = boundary(np.array([spread]), alpha)
    if bound < 1e6:
        assert bound == pytest.approx(slow.margin(alpha), rel=1e-9)
    assert np.isfinite(bound)


def test_blocks_leave_no_trace() -> None:
    measured = losses(1, 3, 500)
    states = [followed(measured, block).tallies.tobytes() for block in (1, 13, 1000)]
    assert states[0] == states[1] == states[2]


def test_the_order_of_lanes_is_no_matter() -> None:
    measured = losses(6, 4, 200)
    places = [2, 0, 3]
    whole, some = followed(measured, 50), followed([measured[place] for place in places], 50)
    assert arranged(whole.tallies, places).tobytes() == some.tallies.tobytes()


def test_lanes_that_meet_are_compared_from_then_on() -> None:
    measured = losses(7, 3, 300)
    apart = [
        followed([of_lane[:200] for of_lane in part], 50) for part in (measured[:2], measured[2:])
    ]
    apart[0].append(apart[1], [2])
    apart[0].arrange([2, 0, 1])
    apart[0].follow([measured[place][200:] for place in (2, 0, 1)])
    assert apart[0].between(1, 2) == followed(measured, 50).between(0, 1)
    newer = followed([of_lane[200:] for of_lane in measured], 50)
    assert apart[0].between(0, 2) == newer.between(2, 1)


def test_lanes_that_both_have_bring_what_was_known_of_them() -> None:
    """One has followed lanes 0 and 1, the other lanes 2, 1 and 0."""
    measured = losses(8, 3, 300)
    one, other = followed(measured[:2], 50), followed(measured[::-1], 50)
    one.append(other, [2, 1, 0])
    assert one.tallies.tobytes() == followed(measured, 50).tallies.tobytes()


def test_looked_at_from_either_side() -> None:
    differences = followed(losses(2, 3, 300), 50)
    for loss in LOSSES:
        one, other = differences.between(0, 2)[loss], differences.between(2, 0)[loss]
        assert one.mean is not None
        assert (one.rounds, one.mean, one.low, one.high) == (
            other.rounds, -(other.mean or 0.0), -other.high, -other.low,
        )  # fmt: skip


# Coverage. Each stream draws the difference of a round, given the sum of what the differences were
# off their expectations so far, and says what its expectation was.

Stream = Callable[[np.random.Generator, Floats, int], tuple[Floats, Floats]]


def coin(rng: np.random.Generator, off: Floats, round_: int) -> tuple[Floats, Floats]:
    """Two lanes equally good and often wrong on different rounds."""
    return rng.choice([-1.0, 1.0], len(off)), np.zeros(len(off))


def drifting(rng: np.random.Generator, off: Floats, round_: int) -> tuple[Floats, Floats]:
    """One is better for long, then the other: the mean of the past is always a bad guess."""
    chance = 0.5 + 0.45 * np.sin(round_ / 40)
    return np.where(rng.random(len(off)) < chance, 1.0, -1.0), np.full(len(off), 2 * chance - 1)


def malicious(rng: np.random.Generator, off: Floats, round_: int) -> tuple[Floats, Floats]:
    """Small steps that make the error so far grow and look harmless, and rare large ones back."""
    drawn = np.where(rng.random(len(off)) < 1 / 11, -1.0, 0.1)
    return np.where(off >= 0, drawn, -drawn), np.zeros(len(off))


def rare(rng: np.random.Generator, off: Floats, round_: int) -> tuple[Floats, Floats]:
    """One is always better, but for rare rounds: the spread that is seen is zero for long."""
    return np.where(rng.random(len(off)) < 0.01, -1.0, 1.0), np.full(len(off), 0.98)


def tiny(rng: np.random.Generator, off: Floats, round_: int) -> tuple[Floats, Floats]:
    """Hardly any variance around a mean that is not zero."""
    return 0.3 + 1e-6 * rng.choice([-1.0, 1.0], len(off)), np.full(len(off), 0.3)


def missed(stream: Stream, runs: int, rounds: int) -> tuple[float, float]:
    """The shares of runs in which a look after some round found the truth outside.

    Of our interval, and of the usual one (mean and 1.96 standard errors), looked at from round 30.
    """
    rng = np.random.default_rng(7)
    off, expected = np.zeros(runs), np.zeros(runs)
    ours, usual = np.zeros(runs, np.bool_), np.zeros(runs, np.bool_)
    pairs = [LaneDifferences(2) for _ in range(runs)]
    measured = np.zeros((2, 1, len(MEASURES)))
    for round_ in range(1, rounds + 1):
        drawn, expectation = stream(rng, off, round_)
        expected += expectation
        off += drawn - expectation
        for pair, difference in zip(pairs, drawn.tolist(), strict=True):
            measured[0, 0, LOSS1], measured[1, 0, LOSS1] = max(difference, 0), max(-difference, 0)
            pair.follow([measured[0], measured[1]])
        tally = np.array([pair.tallies[1, 0, 0] for pair in pairs])
        error = np.abs(tally[:, SUM] - expected)
        ours |= error > boundary(tally[:, SPREAD], PER_SIDE)
        if round_ >= 30:
            usual |= error > 1.96 * np.sqrt(tally[:, SPREAD])
    return float(ours.mean()), float(usual.mean())


@pytest.mark.parametrize("stream", [coin, drifting, malicious, rare, tiny])
def test_the_truth_is_inside_at_all_times(stream: Stream) -> None:
    ours, usual = missed(stream, 200, 500)
    assert ours <= 0.6 * ALPHA  # the method is careful, so there is a margin for the luck of draws
    if stream in (coin, drifting, malicious):
        assert usual > 3 * ALPHA  # what it is good for


def test_it_is_no_wider_than_it_need_be() -> None:
    """Not much wider than what a single look at a time known beforehand would allow."""
    for rounds, factor in ((100, 1.7), (1_000, 1.4), (10_000, 1.4), (1_000_000, 1.4)):
        spread = 0.4 * rounds
        bound = float(boundary(np.array([spread]), PER_SIDE)[0])
        once = np.sqrt(2 * spread * np.log(1 / PER_SIDE))
        assert once < bound < factor * once


def test_it_shrinks() -> None:
    measured = losses(5, 2, 20_000)
    differences, widths = LaneDifferences(2), []
    for start, stop in ((0, 200), (200, 2_000), (2_000, 20_000)):
        differences.follow([of_lane[start:stop] for of_lane in measured])
        interval = differences.between(0, 1)["loss1"]
        widths.append(interval.high - interval.low)
    assert widths[1] < 0.45 * widths[0]
    assert widths[2] < 0.45 * widths[1]
    assert interval.high < 0  # a difference of 0.1 is found
    same = LaneDifferences(2)
    same.follow([measured[0], measured[0]])
    interval = same.between(0, 1)["loss1"]
    assert interval.mean == 0.0
    assert interval.high == -interval.low < 20 / 20_000  # without variance like 1/t


def test_before_the_first_round_anything_may_be_true() -> None:
    for interval in LaneDifferences(2).between(0, 1).values():
        assert interval == (0, None, -1.0, 1.0)


# In the engine and in the report.

LANES = ("mmp:loss=1", "perceptron", "frequency")


def engine_of(lanes: tuple[str, ...] = LANES) -> Engine:
    return Engine([parse_spec(lane) for lane in lanes])


def feed(engine: Engine, start: int, stop: int, block: int) -> None:
    events = random_events(3, 400)[start:stop]
    for at in range(0, len(events), block):
        for _ in engine.process(make_block(events[at : at + block], TOKENIZER)):
            pass


def report_of(engine: Engine) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    report = make_report(engine, 1.0, 0, settings)
    return dict(report)


def test_the_report_compares_what_the_curves_say() -> None:
    engine = engine_of()
    feed(engine, 0, 1000, 50)
    report = report_of(engine)
    assert report["perceptron"]["confidence"] == 0.95
    for name, lane in report.items():
        assert list(lane["against"]) == [other for other in LANES if other != name]
        for other, by_loss in lane["against"].items():
            assert list(by_loss) == ["loss1", "loss3"]
            for loss, actual in by_loss.items():
                expected = lane[loss] - report[other][loss]
                assert actual["difference"] == pytest.approx(expected, abs=1e-12)
                assert actual["rounds"] == lane["rounds"] > 200
                assert -1 <= actual["low"] <= actual["difference"] <= actual["high"] <= 1
                mirrored = report[other]["against"][name][loss]
                assert actual["better"] == mirrored["better"]
                assert actual["low"] == -mirrored["high"]


def test_a_restart_changes_nothing() -> None:
    straight = engine_of()
    feed(straight, 0, 1000, 1000)
    engine = engine_of()
    rng, at = random.Random(0), 0
    while at < 1000:
        step = rng.randrange(1, 200)
        feed(engine, at, at + step, rng.randrange(1, 40))
        at += step
        again = engine_of()
        restore_engine(again, take_snapshot(engine, at))
        engine = again
    assert (
        engine.topic_group.differences.tallies.tobytes()
        == straight.topic_group.differences.tallies.tobytes()
    )
    assert straight.differences.between(0, 2)["loss1"].rounds > 0


def test_a_snapshot_without_comparisons_is_compared_from_there_on() -> None:
    engine, again = engine_of(), engine_of()
    feed(engine, 0, 300, 50)
    snapshot = take_snapshot(engine, 1)
    del snapshot.arrays["differences"]
    restore_engine(again, snapshot)
    assert again.differences.between(0, 1)["loss1"].rounds == 0
    feed(engine, 300, 400, 50)
    feed(again, 300, 400, 50)
    of_lane, whole = (e.differences.between(0, 1)["loss1"] for e in (again, engine))
    assert 0 < of_lane.rounds < whole.rounds
    assert again.lanes[0].curve.rounds == whole.rounds


def judged(means: dict[str, float], margin: float, rounds: int = 100) -> dict[str, Any]:
    """A report of these mean losses, each known up to a margin."""

    def entry(one: str, other: str) -> dict[str, Any]:
        mean = means[one] - means[other]
        better = None if abs(mean) <= margin or not rounds else min(one, other, key=means.get)  # type: ignore[arg-type]
        return {
            "rounds": rounds, "difference": mean, "low": mean - margin, "high": mean + margin,
            "better": better,
        }  # fmt: skip

    return {
        name: {
            "loss1": mean,
            "loss3": mean,
            "against": {
                other: {loss: entry(name, other) for loss in LOSSES}
                for other in means
                if other != name
            },
        }
        for name, mean in means.items()
    }


def test_verdicts_in_words() -> None:
    lines = list(comparison_lines(judged({"b": 0.5, "a": 0.25, "c": 0.125}, 0.2)))
    assert lines == [
        "95 % confidence for all lines below together, however often you look:",
        "c is better than b in loss1 %: -37.50 (-57.50 to -17.50)",
        "a is better than b in loss1 %: -25.00 (-45.00 to -5.00)",
        "c is better than b in loss3 %: -37.500 (-57.500 to -17.500)",
        "a is better than b in loss3 %: -25.000 (-45.000 to -5.000)",
        "undecided in loss1: c / a",
        "undecided in loss3: c / a",
    ]


def test_verdicts_are_brief_about_what_is_open() -> None:
    assert list(comparison_lines(judged({"a": 0.1, "b": 0.2, "c": 0.2}, 0.5))) == [
        "undecided in loss1: all pairs",
        "undecided in loss3: all pairs",
    ]
    assert list(comparison_lines(judged({"a": 0.1}, 0.5))) == []
    assert list(comparison_lines(judged({"a": 0.1, "b": 0.1}, 0.5, rounds=0))) == []
    names = {f"a-lane-with-a-long-name-{n}": n / 10 for n in range(5)}
    lines = list(comparison_lines(judged(names, 0.15)))
    assert max(map(len, lines[-4:])) <= 80
    assert "a-lane-with-a-long-name-2 / a-lane-with-a-long-name-3" in "\n".join(lines)


def test_verdicts_of_many_lanes_do_not_fill_the_screen() -> None:
    lines = list(comparison_lines(judged({f"lane{n:02}": n / 20 for n in range(12)}, 0.01)))
    assert len(lines) == 1 + MOST_LINES + 1
    assert lines[-1] == f"and {132 - MOST_LINES} more lines; --report writes all of them"


def test_lanes_of_both_kinds_share_what_may_go_wrong() -> None:
    """All intervals of a report hold at once: three pairs of topic lanes, one of ordinal lanes."""
    measured = losses(5, 3, 400)
    topics, ranks = followed(measured, 50), followed(measured[:2], 50)
    both = StreamDifferences([([0, 1, 3], topics), ([2, 4], ranks)])
    assert both.between(0, 2) == {}
    tally = ranks.tallies[1, 0, 0]
    margin = float(boundary(tally[SPREAD], ALPHA / 8 / 2)) / 400  # 4 pairs, 2 losses, 2 sides
    for interval in (both.between(2, 4)["loss1"], both.between(0, 1)["loss1"]):
        assert interval.high - interval.low == pytest.approx(2 * margin, rel=1e-9)
    alone = ranks.between(0, 1)["loss1"]
    assert alone.high - alone.low < 2 * margin
    assert StreamDifferences([([0, 1, 2], topics)]).between(0, 2) == topics.between(0, 2)
