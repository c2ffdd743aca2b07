"""Threads that each take a slice of the topics: results equal those of one thread to the bit."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from learners import threads as threads_module
from learners.learner import Learner
from learners.options import OptionError
from learners.prototypes import mmp
from learners.prototypes.mmp_slice import follow_mmp_slice
from learners.prototypes.rocchio import Rocchio
from learners.scores import DenseScores, Scores
from learners.segment import Rows, Segment, Steps
from learners.specs import parse_spec
from learners.threads import Columns, columns_from, equal_slices, run_together, slices_for
from learners.topic_learner import TopicLearner
from tests.learners.test_twins import SPECS
from tests.support.random_streams import Stream, random_stream

NAMES = ("mmp", "perceptron", "arow", "soft-arow", "rocchio")
DIVISIBLE = [
    spec for spec in SPECS if parse_spec(spec).learner in NAMES and "kernel=poly" not in spec
]
ONE_OF_EACH = ("mmp:loss=1,average=true", "perceptron", "arow", "soft-arow", "rocchio:refresh=9")


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Divide everything, however small, and not only between cache lines."""
    monkeypatch.setattr(threads_module, "MIN_WORK", 1)
    monkeypatch.setattr(threads_module, "MIN_COLUMNS", 1)
    monkeypatch.setattr(threads_module, "LINE", 1)
    monkeypatch.setattr(mmp, "MIN_STEP", 0)


def with_threads(spec: str, threads: int) -> Learner:
    learner = parse_spec(spec).build()
    learner.threads = threads
    return learner


def states_of(learner: Learner) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in learner.state().items()}


def follow_pieces(learner: Learner, stream: Stream, cuts: list[int], seed: int) -> list[bytes]:
    """The scores of all pieces. After some pieces terms are forgotten, and are new to the rest."""
    rng = random.Random(seed)
    scores_of_pieces = []
    for start, stop in pairwise([0, *sorted(cuts), len(stream.happenings)]):
        segment = stream.segment(start, stop)
        scores = Scores.expect(learner.new_scores(len(segment.rows), segment.topics))
        learner.follow(segment, scores)
        scores_of_pieces.append(scores.table().tobytes())
        if rng.random() < 0.3:
            learner.forget(np.array([term for term in range(segment.terms) if rng.random() < 0.7]))
    return scores_of_pieces


@pytest.mark.parametrize("spec", DIVISIBLE)
@pytest.mark.usefixtures("always")
def test_threads_change_no_bit(spec: str) -> None:
    """With new topics, late labels, terms that leave, and more threads than topics."""
    for seed in range(6):
        stream = random_stream(seed, whole_numbers=seed % 2 == 0)
        rng = random.Random(seed)
        cuts = [rng.randrange(len(stream.happenings)) for _ in range(rng.choice((0, 2, 20)))]
        one = with_threads(spec, 1)
        expected = follow_pieces(one, stream, cuts, seed)
        for threads in (2, 3, 4, 5):
            several = with_threads(spec, threads)
            assert follow_pieces(several, stream, cuts, seed) == expected, (seed, threads)
            assert states_of(several) == states_of(one), (seed, threads)


def wide_segment(seed: int, topics: int, documents: int = 40, known: int = 0) -> Segment:
    """Documents with many topics, of which some are known at first; all are labelled at once."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 30, documents)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    terms = [np.sort(rng.choice(200, n, replace=False)) for n in lengths]
    labels = [rng.choice(topics, rng.integers(0, 6), replace=False) for _ in range(documents)]
    after = np.maximum.accumulate([max(known, *found + 1, 0) for found in labels])
    before = np.concatenate(([known], after[:-1]))
    known_at = np.column_stack((before, after)).ravel().astype(np.int32)
    counts = np.column_stack((np.zeros(documents, np.int64), list(map(len, labels)))).ravel()
    steps = Steps(
        np.repeat(np.arange(documents, dtype=np.int32), 2),
        np.tile([False, True], documents),
        known_at,
        np.concatenate(([0], np.cumsum(counts))),
        np.concatenate(labels).astype(np.int32),
        np.repeat(before, 2).astype(np.int32),
    )
    rows = Rows(starts, np.concatenate(terms).astype(np.int32), rng.normal(size=starts[-1]))
    return Segment(rows, steps, 200, topics)


@pytest.mark.parametrize("spec", [*ONE_OF_EACH, "mmp:loss=3,margin=0.5", "perceptron:average=true"])
def test_slices_of_whole_cache_lines_change_no_bit(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads_module, "MIN_WORK", 1)
    monkeypatch.setattr(mmp, "MIN_STEP", 0)
    segments = [wide_segment(1, 300), wide_segment(2, 300, known=300), wide_segment(3, 517)]
    segments.append(wide_segment(4, 517, known=517).between(7, 31))
    one, several = with_threads(spec, 1), with_threads(spec, 4)
    for segment in segments:
        assert len(slices_for(segment, 4)) == 4
        scores = [DenseScores.new(len(segment.rows), segment.topics + 3) for _ in range(2)]
        for learner, matrix in zip((one, several), scores, strict=True):
            learner.follow(segment, matrix)
        assert scores[0].matrix.tobytes() == scores[1].matrix.tobytes()
        assert states_of(one) == states_of(several)


@pytest.mark.parametrize("spec", ONE_OF_EACH)
@pytest.mark.usefixtures("always")
def test_learners_used_by_hand_have_threads(spec: str) -> None:
    rng = np.random.default_rng(3)
    documents = rng.random((80, 30)) * (rng.random((80, 30)) < 0.3)
    topics = (rng.random((80, 21)) < 0.1).astype(float)
    expected = None
    for threads in (1, 3, 0):
        learner = with_threads(spec, threads)
        assert isinstance(learner, TopicLearner)
        rankings = [*learner.learn_many(documents[:50], topics[:50])]
        learner.learn_only(documents[50:], topics[50:])
        rankings += learner.rank_many(documents)
        expected = expected or (rankings, states_of(learner))
        assert (rankings, states_of(learner)) == expected


@pytest.mark.usefixtures("always")
def test_prototypes_of_rocchio_are_made_in_threads() -> None:
    one, several = Rocchio(refresh=0), Rocchio(refresh=0)
    one.threads, several.threads = 1, 3
    for learner in (one, several):
        segment = wide_segment(5, 70)
        learner.follow(segment, learner.new_scores(len(segment.rows), 70))
        learner.make()
    assert states_of(one) == states_of(several)
    assert one.weights.any()


@pytest.mark.usefixtures("always")
def test_the_kernel_of_several_threads_is_compiled_before_it_is_needed() -> None:
    learner = with_threads("mmp", 3)
    learner.warm_up()
    before = list(follow_mmp_slice.signatures)  # type: ignore[attr-defined]
    segment = wide_segment(6, 40)
    learner.follow(segment, learner.new_scores(len(segment.rows), 40))
    assert before == list(follow_mmp_slice.signatures)  # type: ignore[attr-defined]


def test_small_segments_have_one_thread() -> None:
    small, large = wide_segment(1, 64, 20), wide_segment(1, 2_000, 1_000)
    assert slices_for(small, 8) == [Columns(0, 64)]
    assert slices_for(large, 1) == [Columns(0, 2_000)]
    assert len(slices_for(large, 2)) == len(slices_for(large, 8)) == 2  # work for two
    assert len(slices_for(large, 8, effort=4)) == 8
    assert len(slices_for(large, 8, effort=4, min_step=10_000)) == 2
    assert slices_for(large, 2, min_step=100_000) == [Columns(0, 2_000)]


def test_slices_cover_all_topics_once() -> None:
    for topics in (*range(1, 70), 500, 4_999):
        for count in range(1, 9):
            slices = equal_slices(topics, count)
            assert [first for first, _ in slices] == [0, *(last for _, last in slices[:-1])]
            assert slices[-1].last == topics
            assert all(first < last for first, last in slices)
            assert all(first % 8 == 0 for first, _ in slices)
            assert len(slices) <= count


def test_shifted_columns_are_the_same_memory() -> None:
    matrix = np.arange(24.0).reshape(4, 6)
    shifted = columns_from(matrix, 2)
    assert shifted.flags.c_contiguous
    assert shifted[1, 0] == matrix[1, 2]
    shifted[3, 1] = -1.0
    assert matrix[3, 3] == -1.0
    assert columns_from(np.zeros((0, 0)), 2).shape == (0, 0)


def test_results_come_in_order() -> None:
    assert run_together([partial(pow, 2, n) for n in range(6)], lambda: None) == [
        1,
        2,
        4,
        8,
        16,
        32,
    ]


@pytest.mark.parametrize("failing", [0, 2])
@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_an_error_ends_all_threads(failing: int, error: type[BaseException]) -> None:
    before = threading.active_count()
    given_up = threading.Event()

    def call(number: int) -> bool:
        if number == failing:
            raise error
        return given_up.wait(60)

    with pytest.raises(error):
        run_together([partial(call, number) for number in range(4)], given_up.set)
    assert given_up.is_set()
    assert threading.active_count() == before


def test_a_thread_that_cannot_start_ends_those_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    given_up = threading.Event()
    start: Callable[[threading.Thread], None] = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name == "columns-2":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(RuntimeError, match="can't start"):
        run_together([lambda: given_up.wait(60)] * 4, given_up.set)


def test_threads_are_no_option_of_a_lane() -> None:
    with pytest.raises(OptionError, match="has no option"):
        parse_spec("mmp:threads=2")
