"""The committee beyond its twin: its random starts, and what they are good for."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

from learners.arrays import Floats
from learners.options import OptionError
from learners.prototypes.committee import Committee, random_start
from learners.specs import parse_spec
from learners.splitmix import mix
from tests.learners.test_twins import follow
from tests.support.random_streams import Happening, Stream, learn, random_stream


def members(learner: Committee) -> Floats:
    """The weights as terms x topics x members."""
    weights = learner.state()["weights"].astype(np.float64)
    return weights.reshape(len(weights), -1, learner.size)


def test_bits_are_those_of_splitmix64() -> None:
    """The first outputs of the reference program of Steele, Lea and Flood for the seed 1234567."""
    gamma = 0x9E3779B97F4A7C15
    seeds = [np.uint64((1234567 + i * gamma) % 2**64) for i in range(3)]
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [int(mix(seed)) for seed in seeds] == expected


def test_starts_are_spread_over_the_whole_range() -> None:
    documents = [np.uint64(mix(np.uint64(number))) for number in range(20)]
    places = [(document, place) for document in documents for place in range(20)]
    drawn = np.array([random_start(*place, p) for place in places for p in range(50)])
    assert -1.0 < drawn.min() < -0.999
    assert 0.999 < drawn.max() < 1.0
    assert abs(drawn.mean()) < 0.02
    assert abs(drawn.var() - 1 / 3) < 0.01
    assert len(set(drawn)) == len(drawn)
    assert all(a != b for a, b in pairwise(drawn))


def test_members_differ_by_their_starts_alone() -> None:
    """One document: every member is wrong by a tie, and moves by the same from its own start."""
    stream = Stream([{"f": 0.5}], [Happening(0, None, [])], ["f"])
    learn(stream, 0, ["c"])
    learner = Committee(size=4, seed=9)
    follow(learner, stream, [])
    document = np.uint64(mix(mix(np.uint64(9))))
    starts = [random_start(document, 0, perceptron) for perceptron in range(4)]
    assert members(learner)[0, 0].tolist() == [start + 0.5 for start in starts]
    assert learner.rounds == 1


def test_another_seed_is_another_committee() -> None:
    stream = random_stream(1)
    first, second = follow(Committee(seed=1), stream, []), follow(Committee(seed=2), stream, [])
    assert first != second


def test_a_term_that_is_not_in_the_document_is_not_taken_up() -> None:
    stream = Stream([{"f": 0.5, "g": 0.0}], [Happening(0, None, [])], ["f", "g"])
    learn(stream, 0, ["c"])
    learner = Committee(size=2)
    follow(learner, stream, [])
    assert members(learner)[0].all()
    assert not members(learner)[1].any()


def test_mean_weights_explain_the_scores() -> None:
    stream = random_stream(5)
    learner = Committee(size=5)
    follow(learner, stream, [])
    stream.happenings = [Happening(row, None, list(stream.topics)) for row in range(20)]
    emitted = follow(learner, stream, [])
    for row in range(20):
        segment = stream.segment(row, row + 1)
        terms, values = segment.rows.row(0)
        shares = learner.contributions(terms, values, np.arange(len(stream.topics)))
        assert shares is not None
        assert np.allclose(shares.sum(axis=0), emitted[row], atol=1e-12)


def noisy(seed: int, length: int) -> Stream:
    """Five classes of six signs each; a document has four of its own and four of anybody's."""
    rng = random.Random(seed)
    stream = Stream()
    for row in range(length):
        topic = rng.randrange(5)
        own = [f"f{6 * topic + rng.randrange(6)}" for _ in range(4)]
        others = [f"f{rng.randrange(30)}" for _ in range(4)]
        signs = dict.fromkeys(own + others)
        stream.documents.append({sign: len(signs) ** -0.5 for sign in signs})
        stream.happenings.append(Happening(row, None, list(stream.topics)))
        learn(stream, row, [f"c{topic}"])
    stream.features = list(dict.fromkeys(f for document in stream.documents for f in document))
    return stream


def test_ten_err_less_than_one() -> None:
    """By a fifth over twenty seeds; five of them are between 13 and 27 % apart."""
    errors = dict.fromkeys((1, 10), 0)
    for seed in range(5):
        stream = noisy(seed, 600)
        for size in errors:
            emitted = follow(Committee(size=size), stream, [])
            for row in range(300, 600):
                best = stream.topics[int(np.argmax(emitted[row]))]
                errors[size] += stream.happenings[2 * row + 1].topics != (best,)
    assert errors[10] < 0.95 * errors[1], errors


@pytest.mark.parametrize("spec", ["committee:size=0", "committee:size=101", "committee:seed=-1"])
def test_options_have_limits(spec: str) -> None:
    with pytest.raises(OptionError, match="must be a whole number from"):
        parse_spec(spec)
