"""What every learner must be able to do, checked for all that there are."""

from __future__ import annotations

import random

import numpy as np
import pytest

from learners.arrays import Longs
from learners.growing_array import GrowingArray
from learners.learner import Learner
from learners.scores import (
    DenseScores,
    RankScores,
    Scores,
    ScoresMismatchError,
    StoredScores,
)
from learners.sparse_scores import SparseScores
from learners.specs import LEARNERS, parse_spec
from tests.learners.test_twins import SPECS, follow
from tests.support.random_streams import Stream, random_stream

every_spec = pytest.mark.parametrize("spec", SPECS)


def states_equal(one: Learner, other: Learner) -> bool:
    left, right = one.state(), other.state()
    return left.keys() == right.keys() and all(np.array_equal(left[k], right[k]) for k in left)


@every_spec
def test_every_cut_gives_the_same_scores_and_state(spec: str) -> None:
    for seed in range(5):
        stream = random_stream(seed)
        whole, single = parse_spec(spec).build(), parse_spec(spec).build()
        cuts = list(range(len(stream.happenings)))
        assert follow(whole, stream, []) == follow(single, stream, cuts)
        assert states_equal(whole, single)


@every_spec
def test_ranks_before_it_has_learned_anything(spec: str) -> None:
    stream = random_stream(1)
    stream.happenings = [h for h in stream.happenings if h.topics is None]
    emitted = follow(parse_spec(spec).build(), stream, [])
    assert len(emitted) == len(stream.documents)
    assert all(score == 0.0 for scores in emitted.values() for score in scores)


@every_spec
def test_ranking_changes_nothing(spec: str) -> None:
    stream = random_stream(2)
    learner = parse_spec(spec).build()
    follow(learner, stream, [])
    before = learner.state()
    stream.happenings = [h for h in stream.happenings if h.topics is None]
    follow(learner, stream, [])
    after = learner.state()
    model = before.keys() - {"visited"}  # how much was ranked is counted, and teaches nothing
    assert all(np.array_equal(before[key], after[key]) for key in model)


@every_spec
def test_resume_from_state_equals_a_straight_run(spec: str) -> None:
    for seed in range(5):
        stream = random_stream(seed)
        cut = random.Random(seed).randrange(1, len(stream.happenings))
        straight, first, second = (parse_spec(spec).build() for _ in range(3))
        expected = follow(straight, stream, [cut])
        whole = list(stream.happenings)
        stream.happenings = whole[:cut]
        follow(first, stream, [])
        second.restore(first.state())
        stream.happenings = whole
        emitted = resume(second, stream, cut)
        assert {row: expected[row] for row in emitted} == emitted
        assert states_equal(straight, second)


def resume(learner: Learner, stream: Stream, cut: int) -> dict[int, list[float]]:
    segment = stream.segment(cut, len(stream.happenings))
    scores = Scores.expect(learner.new_scores(len(segment.rows), segment.topics))
    learner.follow(segment, scores)
    rows, table = stream.rows(cut, len(stream.happenings)), scores.table()
    return {
        h.row: table[rows.index(h.row), : len(h.known)].tolist()
        for h in stream.happenings[cut:]
        if h.topics is None
    }


@every_spec
def test_state_is_a_copy(spec: str) -> None:
    stream = random_stream(3)
    learner = parse_spec(spec).build()
    follow(learner, stream, [])
    for array in learner.state().values():
        array[...] = 77
    untouched = parse_spec(spec).build()
    follow(untouched, stream, [])
    assert states_equal(learner, untouched)


@every_spec
def test_inputs_are_left_alone(spec: str) -> None:
    stream = random_stream(4)
    segment = stream.segment(0, len(stream.happenings))
    values = segment.rows.values.copy()
    labels = segment.steps.labels.copy()
    learner = parse_spec(spec).build()
    learner.follow(segment, learner.new_scores(len(segment.rows), segment.topics))
    assert np.array_equal(values, segment.rows.values)
    assert np.array_equal(labels, segment.steps.labels)


@every_spec
def test_scores_of_late_rows_are_left_alone(spec: str) -> None:
    """A row that is only learned was ranked long ago; the losses need the scores of then."""
    stream = random_stream(5)
    stream.happenings = [h for h in stream.happenings if h.topics is not None]
    segment = stream.segment(0, len(stream.happenings))
    learner = parse_spec(spec).build()
    scores = Scores.expect(learner.new_scores(len(segment.rows), segment.topics))
    for row in range(len(segment.rows)):
        scores.put(row, StoredScores(np.full(segment.topics, 3.25)))
    follow(learner, random_stream(5), [])
    learner.follow(segment, scores)
    assert (scores.table() == 3.25).all()


@every_spec
def test_scores_of_another_kind_are_an_error(spec: str) -> None:
    """Not a row of zeros, which would count as a ranking."""
    stream = random_stream(5)
    segment = stream.segment(0, len(stream.happenings))
    learner = parse_spec(spec).build()
    for kind in (DenseScores, SparseScores, RankScores):
        scores = kind.new(len(segment.rows), segment.topics)
        if kind is learner.scores_class:
            learner.follow(segment, scores)
        else:
            with pytest.raises(ScoresMismatchError, match=f"Expected .*, got {kind.__name__}"):
                learner.follow(segment, scores)


@every_spec
def test_scores_without_room_are_an_error(spec: str) -> None:
    """A kernel would write past their end."""
    stream = random_stream(5)
    segment = stream.segment(0, len(stream.happenings))
    rows, topics = len(segment.rows), segment.topics
    learner = parse_spec(spec).build()
    for shape in ((rows - 1, topics), (0, topics), (rows, 1)):
        with pytest.raises(ScoresMismatchError, match=f"need room for {rows} rows and"):
            learner.follow(segment, learner.new_scores(*shape))
    assert states_equal(learner, parse_spec(spec).build())  # refused before anything was learned
    learning = stream.segment(0, 0).between(0, 0)
    learner.follow(learning, learner.new_scores(0, 0))  # what ranks nothing needs no room


@every_spec
def test_forgetting_a_term_is_as_if_later_documents_lacked_it(spec: str) -> None:
    stream = random_stream(6)
    keep: Longs = np.array([i for i in range(len(stream.features)) if i % 3], np.int64)
    kept = [stream.features[i] for i in keep]
    forgetful, other = parse_spec(spec).build(), parse_spec(spec).build()
    follow(forgetful, stream, [])
    follow(other, stream, [])
    forgetful.forget(keep)
    later = random_stream(6)
    later.documents = [{f: v for f, v in d.items() if f in kept} for d in later.documents]
    ranked = [h for h in later.happenings if h.topics is None]
    later.happenings = ranked
    expected = follow(other, later, [])
    later.features = kept
    assert follow(forgetful, later, []) == expected


@every_spec
def test_memory_stops_growing(spec: str) -> None:
    """Room that was made once is used again, also when terms leave in between."""
    learner = parse_spec(spec).build()
    rooms = []
    for _ in range(6):
        stream = random_stream(7)
        follow(learner, stream, [])
        arrays = [value for value in vars(learner).values() if isinstance(value, GrowingArray)]
        rooms.append([array.room.nbytes for array in arrays])
        learner.forget(np.arange(0, len(stream.features), 2))
    assert all(room == rooms[0] for room in rooms), rooms
    assert 0 < learner.size_bytes() <= learner.max_bytes(len(stream.features), len(stream.topics))


@pytest.mark.parametrize("name", LEARNERS)
def test_options_are_stored_under_their_own_names(name: str) -> None:
    learner = LEARNERS[name]()
    for option in learner.options:
        assert getattr(learner, option.name) == option.default
    assert learner.summary
