"""The stacker: its twin, cuts, restarts, and what it makes of good and bad lanes."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

from learners.arrays import Floats
from learners.checks import InvalidArrayError
from learners.options import OptionError
from learners.scores import DenseScores, RankScores, ScoresMismatchError
from learners.segment import Rows, Segment, Steps
from learners.slow.stacker import SlowStacker
from learners.specs import helpers_of, parse_spec, resolved
from learners.svm_map.candidates import APPROVED, BLENDS, COLUMNS, FIXED, PROBATION
from learners.svm_map.stacker import FORMER_BLENDS, Stacker


class Stream:
    """Documents whose scores by some lanes are known, ranked and labelled in a random order."""

    def __init__(self, seed: int, rows: int = 120, lanes: int = 3, late: bool = True) -> None:
        rng = random.Random(seed)
        self.rows, self.topics = rows, 12
        numbers = np.random.default_rng(seed)
        self.labels = [rng.sample(range(8), rng.randrange(4)) for _ in range(rows)]
        lane_scores = numbers.normal(size=(lanes, rows, self.topics))
        for lane in range(lanes):
            for row in range(rows):
                lane_scores[lane, row, self.labels[row]] += lane
        if seed % 3 == 0:
            lane_scores = np.round(2 * lane_scores)  # many ties
        if seed % 4 == 1:
            lane_scores[0, ::7] = 0.0  # a lane that says nothing now and then
        self.lane_scores = lane_scores * 10.0 ** numbers.integers(-3, 4, size=(lanes, 1, 1))
        happenings = [(float(row), row, False) for row in range(rows)]
        delay = rng.choice([0.0, 30.0]) if late else 0.0
        happenings += [
            (row + 0.5 + delay * rng.random(), row, True)
            for row in range(rows)
            if rng.random() < 0.9
        ]
        self.happenings = [(row, learn) for _, row, learn in sorted(happenings)]
        self.known = [min(self.topics, 8 + place // 40) for place in range(len(self.happenings))]

    def others(self) -> list[DenseScores]:
        """The scores of the lanes, as a stacker takes them."""
        return [DenseScores(lane) for lane in self.lane_scores]

    def segment(self) -> Segment:
        labels = [self.labels[row] if learn else [] for row, learn in self.happenings]
        steps = Steps(
            np.array([row for row, _ in self.happenings], np.int32),
            np.array([learn for _, learn in self.happenings]),
            np.array(self.known, np.int32),
            np.cumsum([0, *map(len, labels)]),
            np.array([label for of_row in labels for label in of_row], np.int32),
            np.array(self.known, np.int32),
        )
        nothing = Rows(np.zeros(self.rows + 1, np.int64), np.empty(0, np.int32), np.empty(0))
        return Segment(nothing, steps, 0, self.topics)


def combined(stacker: Stacker, stream: Stream, cuts: list[int]) -> Floats:
    scores = DenseScores.new(stream.rows, stream.topics)
    segment = stream.segment()
    for start, stop in pairwise(sorted({0, *cuts, len(segment.steps)})):
        stacker.follow(segment.between(start, stop), scores, stream.others())
    return scores.matrix


OPTIONS = {"refit": 7, "window": 20, "cost": 10.0, "depth": 3}


@pytest.mark.parametrize("seed", range(24))
def test_the_stacker_equals_its_twin(seed: int) -> None:
    stream, rng = Stream(seed), random.Random(seed)
    options = {**OPTIONS, "depth": rng.choice([1, 3, 50]), "window": rng.choice([1, 20, 500])}
    options["proof"] = rng.choice([0.0, 1.0, 2.0])
    cuts = [rng.randrange(len(stream.happenings)) for _ in range(rng.randrange(9))]
    actual = combined(Stacker(**options), stream, cuts)  # type: ignore[arg-type]
    twin = SlowStacker(len(stream.lane_scores), **options)  # type: ignore[arg-type]
    for (row, learn), known in zip(stream.happenings, stream.known, strict=True):
        lane_scores = stream.lane_scores[:, row, :known].tolist()
        if learn:
            twin.learn(lane_scores, stream.labels[row])
        else:
            assert actual[row, :known].tolist() == twin.score(lane_scores), row
            assert not actual[row, known:].any()


@pytest.mark.parametrize("seed", range(8))
def test_a_restart_changes_nothing(seed: int) -> None:
    stream = Stream(seed)
    whole, first, second = (Stacker(**OPTIONS) for _ in range(3))  # type: ignore[arg-type]
    expected = combined(whole, stream, [])
    scores = DenseScores.new(*expected.shape)
    segment, cut = stream.segment(), random.Random(seed).randrange(len(stream.happenings))
    first.follow(segment.between(0, cut), scores, stream.others())
    second.restore(first.state())
    second.follow(segment.between(cut, len(segment.steps)), scores, stream.others())
    assert np.array_equal(scores.matrix, expected)
    for name, array in whole.state().items():
        assert np.array_equal(array, second.state()[name]), name
    assert second.size_bytes() == whole.size_bytes() > 0


def test_a_state_from_before_the_first_document() -> None:
    stacker = Stacker()
    stacker.restore(Stacker().state())
    stream = Stream(1)
    assert np.array_equal(combined(stacker, stream, []), combined(Stacker(), stream, []))


def test_weights_go_to_the_lanes_that_know() -> None:
    stream = Stream(2, rows=600)
    stacker = Stacker(refit=100, window=400)
    combined(stacker, stream, [])
    by_lane = np.abs(stacker.ranker.weights[APPROVED]).reshape(-1, 3).sum(axis=1)
    assert by_lane.argmax() == 2  # its scores tell most


def test_a_lane_that_does_better_is_followed() -> None:
    """One lane is always right, the other always wrong."""
    stream = Stream(5, rows=60, lanes=2, late=False)
    for row, labels in enumerate(stream.labels):
        stream.lane_scores[0, row] = [float(topic in labels) for topic in range(stream.topics)]
        stream.lane_scores[1, row] = -3.0 * stream.lane_scores[0, row]
    stacker = Stacker(refit=20, window=20)
    scores = combined(stacker, stream, [])
    assert stacker.chosen == 0
    assert np.array_equal(scores[30], np.append(stream.lane_scores[0, 30, :9], np.zeros(3)))


def test_how_much_proof_the_weights_need() -> None:
    """Lanes that know the same, but err apart: training is ahead, by no thousand errors."""
    stream = Stream(2, rows=600)
    stream.lane_scores[:] = np.random.default_rng(2).normal(size=stream.lane_scores.shape)
    for row, labels in enumerate(stream.labels):
        stream.lane_scores[:, row, labels] += 1.5
    by_weights = {}
    for proof in (0.0, 2.0, 1000.0):
        stacker = Stacker(refit=100, window=400, proof=proof)
        combined(stacker, stream, [])
        by_weights[proof] = stacker.chosen >= stacker.lanes + FIXED
    assert by_weights == {0.0: True, 2.0: True, 1000.0: False}


def test_new_weights_are_on_probation_until_the_next_training() -> None:
    stream = Stream(2, rows=200, late=False)
    stacker, segment = Stacker(refit=40, window=40), stream.segment()
    scores = DenseScores.new(stream.rows, stream.topics)
    trained: list[bytes] = []  # the weights on probation, one after another
    for step in range(len(segment.steps)):
        stacker.follow(segment.between(step, step + 1), scores, stream.others())
        probation = stacker.ranker.weights[PROBATION].tobytes()
        if stacker.ranker.exists[PROBATION] and probation not in trained:
            trained.append(probation)
        if stacker.ranker.exists[APPROVED]:
            assert stacker.ranker.weights[APPROVED].tobytes() in trained[:-1]
    assert len(trained) > 3


def test_a_state_of_the_stacker_before_it_kept_records() -> None:
    """It begins again, but counts its rounds on."""
    old = {
        "weights": np.ones(9), "followed": np.array([-1, 42]), "starts": np.zeros(1, np.int64),
        "features": np.empty((0, 9)), "relevant": np.empty(0, np.bool_), "worth": np.empty((0, 4)),
    }  # fmt: skip
    stacker = Stacker()
    stacker.restore(old)
    assert (stacker.rounds, stacker.lanes, len(stacker.lessons)) == (42, 3, 0)
    assert not stacker.ranker.exists.any()
    assert not stacker.records.sums.any()
    with pytest.raises(InvalidArrayError, match="3 numbers for each lane"):
        stacker.restore({**old, "weights": np.ones(8)})


def test_a_state_with_former_blends() -> None:
    """Blends go on with the record of a former one."""
    stream = Stream(2)
    stacker = Stacker(**OPTIONS)  # type: ignore[arg-type]
    combined(stacker, stream, [])
    lanes, state = stacker.lanes, stacker.state()
    rng = np.random.default_rng(1)
    records = rng.random((3, lanes + FORMER_BLENDS, COLUMNS))
    again = Stacker(**OPTIONS)  # type: ignore[arg-type]
    again.restore({**state, "records": records})
    assert (again.rounds, len(again.lessons)) == (stacker.rounds, len(stacker.lessons))
    sums = again.records.sums
    assert sums.shape[1] == lanes + BLENDS
    assert np.array_equal(sums[:, : lanes + 5], records[:, : lanes + 5])
    by_weights, before = sums[:, lanes + FIXED :], records[:, lanes + 8 :]
    assert np.array_equal(by_weights, before[:, [0, 1, 0, 1, 2, 3, 2, 3]])
    with pytest.raises(InvalidArrayError, match="records"):
        again.restore({**state, "records": records[:, :-1]})


def test_which_lanes_are_combined() -> None:
    lanes = [parse_spec(t) for t in ("mmp:loss=1,margin=0.5", "mmp:loss=1", "prank:ranks=3")]
    every = parse_spec("svm-map:refit=5")
    some = parse_spec("svm-map:of=[mmp:loss=1,mmp:loss=1,margin=0.5],name=stack")
    specs = resolved([*lanes, every, some])
    assert [spec.combines for spec in specs[3:]] == [
        ("mmp:loss=1,margin=0.5", "mmp:loss=1"),
        ("mmp:loss=1", "mmp:loss=1,margin=0.5"),
    ]
    assert specs[4].settings["of"] == "[mmp:loss=1,mmp:loss=1,margin=0.5]"
    assert resolved(specs) == specs
    assert helpers_of(specs[4:], specs) == specs[:2]
    assert helpers_of(specs[1:], specs) == specs[:1]


@pytest.mark.parametrize(
    ("of", "message"),
    [
        ("of=[rocchio]", "These can be combined: mmp"),
        ("of=mmp", "as [lane,...]"),
        ("of=[]", "as [lane,...]"),
        ("of=[mmp,mmp]", "different topic lanes"),
        ("of=[prank:ranks=3]", "topic lanes"),
        ("of=[other]", "topic lanes"),
    ],
)
def test_lanes_that_cannot_be_combined(of: str, message: str) -> None:
    specs = [parse_spec(t) for t in ("mmp", "prank:ranks=3", "svm-map:name=other", f"svm-map:{of}")]
    with pytest.raises(OptionError) as error:
        resolved(specs)
    assert message in str(error.value)


def test_a_stacker_alone() -> None:
    with pytest.raises(OptionError, match="there are none"):
        resolved([parse_spec("svm-map")])
    with pytest.raises(OptionError, match="cannot be divided"):
        parse_spec("svm-map:shards=2")


def test_a_stacker_that_gets_the_scores_of_other_lanes() -> None:
    stream, stacker = Stream(0), Stacker()
    segment, scores = stream.segment(), DenseScores.new(stream.rows, stream.topics)
    with pytest.raises(ScoresMismatchError, match=r"combines at least 1 lanes, and got .* of 0"):
        stacker.follow(segment, scores)
    stacker.follow(segment, scores, stream.others())
    with pytest.raises(ScoresMismatchError, match="combines 3 lanes, and got the scores of 2"):
        stacker.follow(segment, scores, stream.others()[:2])
    with pytest.raises(ScoresMismatchError, match="Expected Scores, got RankScores"):
        stacker.follow(segment, scores, [*stream.others()[:2], RankScores(stream.rows)])
