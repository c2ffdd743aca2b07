"""Measures of decisions: as the twin adds them up, for any cut, and after a restart."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

from learners.arrays import Floats
from learners.checks import InvalidArrayError
from learners.decisions.decided import CANDIDATES, Decisions
from learners.segment import Steps
from learners.slow.decisions import SlowDecision
from pipeline.curves.decision_curve import MEASURES, DecisionCurve
from pipeline.curves.topic_quality import ALWAYS_IN_USE, LAST
from pipeline.curves.worst_documents import WorstDocument
from pipeline.slow.decision_curve import SlowDecisionCurve, SlowRound, SlowTopic, f1_of

TOPICS = 24


def random_rounds(seed: int, length: int = 300) -> list[SlowRound]:
    """Documents with decisions at random, better than chance; topics become known over time."""
    rng = random.Random(seed)
    rounds = []
    for n in range(length):
        known = min(TOPICS, n // 3)
        relevant = rng.sample(range(known), min(known, rng.choice((0, 1, 1, 2, 5))))
        if known < TOPICS and rng.random() < 0.3:
            relevant.append(known)
            known += 1
        ranked = min(known, TOPICS if n else 0)
        topics = rng.sample(range(ranked), min(ranked, CANDIDATES))
        likely = [
            min(1.0, max(1e-9, rng.gauss(0.7 if t in relevant else 0.2, 0.3))) for t in topics
        ]
        unlikely = rng.randrange(len(topics) // 2 + 1)
        likely[len(likely) - unlikely :] = [0.0] * unlikely
        decision = SlowDecision(
            topics,
            sorted((rng.random() for _ in topics), reverse=True),
            likely,
            [one > 0.5 for one in likely],
            rng.choice((0.0, rng.random(), 1.0)),
            rng.random() < 0.3,
        )
        rounds.append(SlowRound(decision, relevant, known, f"document {n}"))
    return rounds


def follow(curve: DecisionCurve, rounds: list[SlowRound], cuts: list[int]) -> None:
    for start, stop in pairwise(cuts):
        part = rounds[start:stop]
        made = Decisions.new(len(part))
        for row, one in enumerate(part):
            count = len(one.decision.topics)
            for array, values in zip(made[:4], one.decision[:4], strict=True):
                np.asarray(array)[row, :count] = values
            made.certainty[row], made.review[row] = one.decision[4:]
        known = np.array([one.known for one in part], np.int32)
        labels = [topic for one in part for topic in one.relevant]
        # Each document is ranked, then learned.
        counts = [count for one in part for count in (0, len(one.relevant))]
        steps = Steps(
            np.repeat(np.arange(len(part), dtype=np.int32), 2),
            np.tile([False, True], len(part)),
            np.repeat(known, 2),
            np.cumsum([0, *counts]),
            np.array(labels, np.int32),
            np.repeat(known, 2),
        )
        curve.follow(steps, made, int(known.max(initial=0)))
        curve.topics.add_rounds(part)


@pytest.mark.parametrize("seed", range(4))
def test_measures_equal_those_of_the_twin(seed: int) -> None:
    rounds = random_rounds(seed, 301)  # the last one is no point of the curve
    curve, twin = DecisionCurve(), SlowDecisionCurve()
    follow(curve, rounds, [0, len(rounds)])
    for one in rounds:
        twin.decide(one.decision)
        twin.add(one)
    count = len(rounds)
    assert curve.totals() == {
        "rounds": count,
        "right": twin.right,
        "assigned": twin.assigned,
        "relevant": twin.relevant,
        "f1": twin.f1,
        "exact": twin.exact,
        "hamming": twin.hamming,
        "brier": twin.brier,
        "reviewed": twin.reviewed,
        "trusted_f1": twin.trusted_f1,
        "decided": twin.decided,
        "marked": twin.marked,
    }
    macro = [
        topic.f1 for _, topic in sorted(twin.topics.items()) if topic.assigned + topic.relevant
    ]
    error = sum(abs(row[1] - row[2]) for row in twin.reliability)
    assert curve.last().values == {
        "micro_f1": 2 * twin.right / (twin.assigned + twin.relevant),
        "macro_f1": sum(macro) / len(macro),
        "sample_f1": twin.f1 / count,
        "set_precision": twin.right / twin.assigned,
        "set_recall": twin.right / twin.relevant,
        "subset_accuracy": twin.exact / count,
        "hamming_loss": twin.hamming / count,
        "brier": twin.brier / count,
        "calibration_error": error / sum(row[0] for row in twin.reliability),
        "review_share": twin.marked / twin.decided,
        "trusted_f1": twin.trusted_f1 / (count - twin.reviewed),
    }
    assert tuple(curve.last().values) == MEASURES
    assert [(p["count"], p["probability"], p["relevant"]) for p in curve.reliability()] == [
        (row[0], row[1] / row[0], row[2] / row[0]) for row in twin.reliability if row[0]
    ]


def test_marks_are_counted_whether_or_not_a_document_is_labelled() -> None:
    curve, made = DecisionCurve(), Decisions.new(4)
    made.review[:] = [True, False, True, False]
    known, rows = np.full(5, 3, np.int32), np.array([0, 1, 2, 3, 1], np.int32)
    learn = np.array([False, False, False, False, True])
    starts = np.array([0, 0, 0, 0, 0, 1])
    curve.follow(Steps(rows, learn, known, starts, np.array([2], np.int32), known), made, 3)
    values = curve.last().values
    assert (curve.rounds, values["review_share"]) == (1, 0.5)
    assert values["trusted_f1"] == 0.0  # of the one labelled document, which was not marked


def test_without_marks_their_measures_do_not_exist() -> None:
    rounds = random_rounds(1)
    marking, other = DecisionCurve(), DecisionCurve(has_marks=False)
    for curve in (marking, other):
        follow(curve, rounds, [0, len(rounds)])
    expected = {**marking.last().values, "review_share": None, "trusted_f1": None}
    assert other.last().values == expected
    for one, recent in other.with_recent():
        for values in (one.values, recent.values):
            assert (values["review_share"], values["trusted_f1"]) == (None, None)
    assert marking.totals().keys() - other.totals().keys() == {"reviewed", "trusted_f1", "marked"}


@pytest.mark.parametrize("seed", range(4))
def test_the_quality_of_topics_equals_that_of_the_twin(seed: int) -> None:
    rounds = random_rounds(seed)
    curve, twin = DecisionCurve(), SlowDecisionCurve()
    follow(curve, rounds, [0, 100, len(rounds)])
    for one in rounds:
        twin.add(one)
    found = list(curve.topics.all(curve.rounds))
    seen = {t: topic for t, topic in sorted(twin.topics.items()) if topic.assigned + topic.relevant}
    assert [known.topic for known in found] == list(seen)
    for known in found:
        topic = seen[known.topic]
        assert (known.documents, known.assigned, known.first, known.last) == (
            topic.relevant, topic.assigned, topic.first, topic.last,
        )  # fmt: skip
        assert known.f1 == topic.f1
        assert known.in_use == twin.is_in_use(topic)
        assert known.precision == (topic.right / topic.assigned if topic.assigned else None)
        assert known.recall == (topic.right / topic.relevant if topic.relevant else None)
        assert known.recent_f1 == f1_of(topic.recent_right, topic.recent_sizes, 0.0)
        assert known.average_precision == (
            pytest.approx(average_precision(topic)) if topic.relevant else None
        )
        worst = sorted((-wrong, -when, missed) for wrong, when, missed in topic.worst if when)
        assert [*known.worst] == [
            WorstDocument(f"document {-when - 1}", -when, -wrong, missed)
            for wrong, when, missed in worst
        ]


def fading_rounds(count: int) -> list[SlowRound]:
    """Rounds of four topics, of which three fade.

    Topic 0 is always relevant. Topic 1 is relevant at first, and is never assigned. Topic 2, too,
    but it is assigned as long as anything is. Topic 3 is assigned at first, and never relevant.
    """
    rounds = []
    for n in range(count):
        early = n < count // 4
        assigned = [True, False, True, early]
        decision = SlowDecision([0, 1, 2, 3], [4.0, 3.0, 2.0, 1.0], [0.5] * 4, assigned, 0.5, False)
        rounds.append(SlowRound(decision, (0, 1, 2) if early else (0,), 4, f"document {n}"))
    return rounds


@pytest.mark.parametrize("count", [600, 1000, 8000])
def test_topics_that_are_no_longer_used_are_left_out_exactly_when_they_should(count: int) -> None:
    """A topic that only the lane still uses stays: assigning it is an error that goes on."""
    rounds, window = fading_rounds(count), max(count // 8, ALWAYS_IN_USE)
    curve, twin = DecisionCurve(), SlowDecisionCurve()
    follow(curve, rounds, [0, 3, count // 4, count])
    for one in rounds:
        twin.add(one)
    is_early = count // 4 > count - window  # the last round of topics 1 and 3 is in the window
    worst = [one.topic for one in curve.topics.worst(count, 10, 10)]
    best = [one.topic for one in curve.topics.best(count, 10, 10)]
    assert worst == ([1, 2, 0] if is_early else [2, 0])
    assert best == ([0, 2, 1] if is_early else [0, 2])
    assert curve.topics.unused(count, 10) == (0 if is_early else 1)  # 3 was never relevant
    assert curve.topics.unused(count, 0) == (0 if is_early else 1)
    every = {one.topic: one.in_use for one in curve.topics.all(count)}
    assert every == {0: True, 1: is_early, 2: True, 3: is_early}
    assert every == {topic: twin.is_in_use(known) for topic, known in twin.topics.items()}


def test_a_topic_is_in_use_until_its_window_is_over() -> None:
    once = SlowDecision([0], [1.0], [0.5], [True], 0.5, False)
    never = SlowDecision([0], [1.0], [0.5], [False], 0.5, False)
    rounds = [SlowRound(once, (0,), 1, "first")]
    rounds += [SlowRound(never, (), 1, "other")] * ALWAYS_IN_USE
    curve = DecisionCurve()
    follow(curve, rounds, [0, ALWAYS_IN_USE])
    assert [one.topic for one in curve.topics.worst(curve.rounds, 1, 1)] == [0]
    assert curve.topics.unused(curve.rounds, 1) == 0
    follow(curve, rounds, [ALWAYS_IN_USE, ALWAYS_IN_USE + 1])
    assert curve.topics.worst(curve.rounds, 1, 1) == []
    assert curve.topics.unused(curve.rounds, 1) == 1


def average_precision(topic: SlowTopic) -> float:
    """The precision at each relevant document, where all documents of a bin come at once."""
    candidates = hits = 0
    total = 0.0
    for some, relevant in reversed(topic.histogram):
        candidates, hits = candidates + some, hits + relevant
        total += relevant * hits / max(candidates, 1)
    return total / topic.relevant


def test_any_cut_and_a_restart_give_the_same() -> None:
    rounds = random_rounds(9)
    whole, cut = DecisionCurve(), DecisionCurve()
    follow(whole, rounds, [0, len(rounds)])
    follow(cut, rounds, [0, 1, 2, 50, 51, 130])
    again = DecisionCurve()
    again.restore(cut.state())
    again.check_references(TOPICS)
    follow(again, rounds, [130, 200, len(rounds)])
    one, other = whole.state(), again.state()
    assert one.keys() == other.keys()
    assert all(np.array_equal(one[name], other[name]) for name in one)
    assert [*whole.all_points()] == [*again.all_points()]
    assert [*whole.topics.all(300)] == [*again.topics.all(300)]


def test_recent_measures_are_those_of_the_last_rounds() -> None:
    rounds = random_rounds(5, 256)
    curve, last = DecisionCurve(), DecisionCurve()
    follow(curve, rounds, [0, 256])
    follow(last, rounds, [224, 256])
    expected = last.last().values
    for measure in ("micro_f1", "sample_f1", "brier", "review_share", "trusted_f1"):
        assert curve.recent().values[measure] == pytest.approx(expected[measure])
    assert curve.recent().values["macro_f1"] is None


def test_a_review_of_the_least_certain_documents_is_worth_most() -> None:
    rounds = []
    for n in range(100):
        certainty = (n + 0.5) / 100
        decision = SlowDecision(
            [0, 1], [2.0, 1.0], [certainty, 0.1], [True, False], certainty, False
        )
        rounds.append(SlowRound(decision, [0] if n >= 50 else [1], 2, str(n)))
    curve = DecisionCurve()
    follow(curve, rounds, [0, 100])
    points = curve.review_gain()
    assert points[0] == (0.0, 0.5)
    assert [f1 for _, f1 in points] == sorted(f1 for _, f1 in points if f1 is not None)
    half = next(point for point in points if point.share >= 0.5)
    assert half.f1 == 1.0


def test_nothing_is_shown_before_the_first_round() -> None:
    curve = DecisionCurve()
    curve.restore(DecisionCurve().state())
    assert set(curve.last().values.values()) == {None}
    assert curve.reliability() == []
    assert list(curve.review_gain()) == []
    assert [*curve.all_points()] == []


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("tally", -1.0),
        ("points", np.nan),
        ("reliability", -1.0),
        ("review", np.inf),
        ("quality", -1.0),
        ("histogram", -1.0),
        ("errors", 2.0),
    ],
)
def test_a_state_that_cannot_be_is_refused(name: str, change: float) -> None:
    curve = DecisionCurve()
    follow(curve, random_rounds(2), [0, 300])
    state = curve.state()
    array: Floats = state[name]  # type: ignore[assignment]
    array[...] = change
    with pytest.raises(InvalidArrayError, match=name):
        DecisionCurve().restore(state)


def test_ids_that_do_not_fit_their_rounds_are_refused() -> None:
    curve = DecisionCurve()
    follow(curve, random_rounds(2), [0, 300])
    state = curve.state()
    state["worst_rounds"] = state["worst_rounds"] + 1
    with pytest.raises(InvalidArrayError, match="worst_rounds"):
        DecisionCurve().restore(state)


@pytest.mark.parametrize(
    ("name", "message"), [("named_rounds", "named_rounds"), ("quality", "have not been")]
)
def test_rounds_that_have_not_been_are_refused(name: str, message: str) -> None:
    curve = DecisionCurve()
    follow(curve, random_rounds(2), [0, 300])
    state = curve.state()
    if name == "quality":
        state[name][3, LAST] = 301.0
    else:
        state[name] = state[name] + 5
    with pytest.raises(InvalidArrayError, match=message):
        DecisionCurve().restore(state)
