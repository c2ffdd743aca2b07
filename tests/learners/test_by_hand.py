"""Learners that are used from Python: documents at once or one by one, as names or columns."""

from __future__ import annotations

import copy
import random
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from learners import AROW, MMP, FeatureFocus, Frequency, Perceptron, PRank
from learners.learner import Learner
from learners.named_learner import DocumentError
from learners.options import OptionError
from learners.rank_learner import RankLearner
from learners.specs import parse_spec
from learners.topic_learner import MAX_SCORES, TopicLearner
from tests.learners.test_twins import SPECS

TOPICS = [f"topic{number}" for number in range(6)]
ORDINAL_SPECS = [
    f"{name}:ranks=4{more}"
    for name in ("prank", "widrow-hoff", "multiclass-perceptron")
    for more in ("", ",average=true", ",kernel=poly2,budget=5")
]


def made_up_documents(seed: int, documents: int = 60) -> tuple[list[dict[str, float]], list[Any]]:
    """Documents with up to 12 terms, and topics that depend on them; some have no label."""
    rng = random.Random(seed)
    texts, labels = list[dict[str, float]](), list[Any]()
    for _ in range(documents):
        numbers = rng.sample(range(30), rng.randrange(13))
        texts.append({f"term{n}": round(rng.uniform(0.1, 3), 2) for n in numbers})
        topics = {TOPICS[n % 6] for n in numbers if n < 8}
        labels.append(None if rng.random() < 0.1 else sorted(topics))
    return texts, labels


def topic_learner(spec: str) -> TopicLearner:
    learner = parse_spec(spec).build()
    assert isinstance(learner, TopicLearner)
    return learner


def rank_learner(spec: str) -> RankLearner:
    learner = parse_spec(spec).build()
    assert isinstance(learner, RankLearner)
    return learner


def same_state(one: Learner, other: Learner) -> bool:
    """Whether two models are the same; how much was ranked with them is no part of that."""
    left, right = one.state(), other.state()
    models = [key for key in left if key != "visited"]
    return left.keys() == right.keys() and all(np.array_equal(left[k], right[k]) for k in models)


def random_cuts(seed: int, documents: int) -> list[tuple[int, int]]:
    rng = random.Random(seed)
    cuts = sorted(rng.randrange(documents + 1) for _ in range(rng.randrange(8)))
    return list(pairwise([0, *cuts, documents]))


@pytest.mark.parametrize("spec", SPECS)
def test_many_documents_are_learned_as_one_by_one(spec: str) -> None:
    documents, labels = made_up_documents(1)
    single, split, whole, silent = (topic_learner(spec) for _ in range(4))
    expected = []
    for document, topics in zip(documents, labels, strict=True):
        expected.append(single.rank_one(document))
        single.learn_one(document, topics)
    parts = [split.learn_many(documents[a:b], labels[a:b]) for a, b in random_cuts(2, 60)]
    assert [ranking for part in parts for ranking in part] == expected
    assert list(whole.learn_many(documents, labels)) == expected
    silent.learn_only(documents, labels)
    for other in (split, whole, silent):
        # Terms of unlabelled documents have a number in some, and no weight in any.
        assert other.topics == single.topics
        assert list(other.rank_many(documents)) == list(single.rank_many(documents))
    assert same_state(split, whole)
    assert same_state(split, silent)


@pytest.mark.parametrize("spec", SPECS)
def test_rows_of_a_matrix_are_learned_in_any_split(spec: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    documents, labels = made_up_documents(3)
    X = matrix_of(documents)
    whole, split, dense = topic_learner(spec), topic_learner(spec), topic_learner(spec)
    expected = whole.learn_many(sparse.csr_matrix(X), labels)
    parts = [split.learn_many(sparse.csr_array(X[a:b]), labels[a:b]) for a, b in random_cuts(4, 60)]
    assert [ranking for part in parts for ranking in part] == list(expected)
    assert list(dense.learn_many(X, labels)) == list(expected)
    assert same_state(whole, split)
    assert same_state(whole, dense)


@pytest.mark.parametrize("spec", ORDINAL_SPECS)
def test_ranks_are_learned_in_any_split(spec: str) -> None:
    documents, labels = made_up_documents(5)
    X, ranks = matrix_of(documents), [None if t is None else min(4, 1 + len(t)) for t in labels]
    whole, split, single = (rank_learner(spec) for _ in range(3))
    expected = whole.learn_many(X, ranks)
    parts = [split.learn_many(X[a:b], ranks[a:b]) for a, b in random_cuts(6, 60)]
    assert np.array_equal(np.concatenate([part.ranks for part in parts]), expected.ranks)
    assert np.array_equal(np.concatenate([part.scores for part in parts]), expected.scores)
    assert same_state(whole, split)
    assert expected.ranks.min() >= 1
    for document, rank in zip(documents, ranks, strict=True):
        single.rank_one(document)
        if rank is not None:
            single.learn_one(document, rank)
    assert single.rank_many(documents).ranks.tolist() == whole.rank_many(X).ranks.tolist()


def matrix_of(documents: list[dict[str, float]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    X = np.zeros((len(documents), 30))
    for row, document in enumerate(documents):
        for term, value in document.items():
            X[row, int(term.removeprefix("term"))] = value
    return X


def test_a_ranking_has_the_topics_that_were_known_then() -> None:
    rankings = MMP().learn_many([{"a": 1.0}] * 3, [["x"], ["y"], None])
    assert [len(ranking) for ranking in rankings] == [0, 1, 2]
    assert rankings.topics == ["x", "y"]
    assert rankings.scores.shape == (3, 2)
    assert rankings.known.tolist() == [0, 1, 2]
    assert rankings[-1] == rankings[2]
    best, scores = rankings.best(1)
    assert best[0] == -1
    assert scores[2, 0] == rankings[2][0][1]
    assert repr(rankings) == "<rankings of 3 documents, 2 topics>"
    with pytest.raises(IndexError):
        rankings[3]


def test_ranking_teaches_no_terms() -> None:
    model = Perceptron()
    model.learn_one({"wheat": 1.0}, "grain")
    model.rank_one({"port": 1.0, "wheat": 2.0})
    assert list(model.names.terms) == ["wheat"]


def test_vectors_are_scaled_as_in_a_lane() -> None:
    """AROW learns vectors of length one; a term that is not known still counts for the length."""
    one, other, unscaled = AROW(), AROW(), AROW()
    unscaled.norm = "none"
    one.learn_one({"wheat": 3.0, "port": 4.0}, ["grain"])
    other.learn_one({"wheat": 0.6, "port": 0.8}, ["grain"])
    assert one.rank_one({"wheat": 1.0}) == other.rank_one({"wheat": 1.0})
    assert one.rank_one({"wheat": 3.0, "new": 4.0}) == other.rank_one({"wheat": 0.6, "new": 0.8})
    unscaled.learn_one({"wheat": 3.0, "port": 4.0}, ["grain"])
    assert unscaled.rank_one({"wheat": 1.0}) != one.rank_one({"wheat": 1.0})


def test_topics_may_be_columns() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    X, Y = np.eye(3), np.array([[1, 0], [0, 1], [1, 1]])
    named = MMP().declare_topics([0, 1])
    named.learn_many(X, [[0], [1], [0, 1]])
    for indicators in (Y, Y.astype(bool), sparse.csr_array(Y), sparse.coo_matrix(Y)):
        model = MMP()
        model.learn_many(X, indicators)
        assert model.topics == [0, 1]
        assert same_state(model, named)
    with pytest.raises(DocumentError, match="3 columns, but 2 topics are known"):
        named.learn_many(X, np.eye(3))
    with pytest.raises(DocumentError, match="other values than 0 and 1"):
        named.learn_many(X, 2 * Y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.bool_])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_matrices_of_all_types(dtype: Any, index: Any) -> None:  # noqa: ANN401
    sparse = pytest.importorskip("scipy.sparse")
    X = np.array([[0, 1, 0], [1, 0, 1], [0, 0, 0]], dtype)
    csr = sparse.csr_array(X)
    csr.indices, csr.indptr = csr.indices.astype(index), csr.indptr.astype(index)
    expected = Perceptron().learn_many(X.astype(float), ["a", "b", "a"]).scores
    assert np.array_equal(Perceptron().learn_many(csr, ["a", "b", "a"]).scores, expected)
    assert np.array_equal(Perceptron().learn_many(csr.tocoo(), ["a", "b", "a"]).scores, expected)


def test_terms_in_any_order_twice_or_zero() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    messy = sparse.csr_array(
        (np.array([1.0, 2.0, 0.5, 0.0, 3.0]), np.array([2, 0, 2, 1, 1]), np.array([0, 4, 4, 5])),
        shape=(3, 3),
    )
    clean = np.array([[2.0, 0.0, 1.5], [0, 0, 0], [0, 3.0, 0]])
    before = messy.data.copy(), messy.indices.copy()
    one, other = FeatureFocus(), FeatureFocus()
    one.learn_many(messy, ["a", "b", "a"])
    other.learn_many(clean, ["a", "b", "a"])
    assert same_state(one, other)
    assert np.array_equal(messy.data, before[0])
    assert np.array_equal(messy.indices, before[1])


def test_read_only_arrays_are_copied() -> None:
    X = np.eye(3)
    X.flags.writeable = False
    assert len(MMP().learn_many(X, ["a", "b", "c"])) == 3
    sparse = pytest.importorskip("scipy.sparse")
    csr = sparse.csr_array(X)
    for array in (csr.data, csr.indices, csr.indptr):
        array.flags.writeable = False
    assert len(MMP().learn_many(csr, ["a", "b", "c"])) == 3


def broken(**arrays: Any) -> Any:  # noqa: ANN401
    """A sparse matrix whose arrays were changed after scipy's own checks."""
    sparse = pytest.importorskip("scipy.sparse")
    csr = sparse.csr_array(np.eye(3))
    for name, array in arrays.items():
        setattr(csr, name, np.array(array))
    return csr


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"indices": [0, 7, 2]}, "numbers from 0 to 7, expected 0 to 2"),
        ({"indices": [0, -1, 2]}, "numbers from -1 to 2"),
        ({"indptr": [0, 1, 2, 9]}, "ends at 9"),
        ({"indptr": [0, 3, 1, 3]}, "falls from 3 to 1"),
        ({"indptr": [1, 1, 2, 3]}, "expected from 0"),
        ({"indptr": [0, 1, 3]}, "indptr has 3 numbers"),
        ({"indices": [0.0, 1.0, 2.0]}, "not integers"),
        ({"data": [1.0, np.nan, 1.0]}, "the value nan"),
        ({"data": [1.0, np.inf, 1.0]}, "the value inf"),
        ({"data": [1.0, 1e80, 1.0]}, "at most 1e\\+75"),
        ({"data": [1.0 + 1j, 1.0, 1.0]}, "expected real numbers"),
        ({"data": [1.0]}, "3 rows and 1 values"),
    ],
)
def test_a_broken_matrix_is_refused(arrays: dict[str, Any], message: str) -> None:
    model = MMP()
    with pytest.raises(ValueError, match=message):
        model.learn_many(broken(**arrays), ["a", "b", "c"])
    assert not model.topics


def test_documents_that_cannot_be_used_are_refused() -> None:
    model = MMP()
    with pytest.raises(DocumentError, match="the value 'much', expected a number"):
        model.learn_one({"wheat": "much", "port": 1.0}, ["grain"])  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="the value nan"):
        model.learn_one({"wheat": float("nan")}, ["grain"])
    with pytest.raises(DocumentError, match="2 documents, but topics for 1"):
        model.learn_many([{"a": 1.0}, {"b": 1.0}], ["grain"])
    with pytest.raises(DocumentError, match=r"The topics must be a list .* Got None"):
        Perceptron().learn_many(np.eye(2), None)
    with pytest.raises(DocumentError, match=r"must be {term: value}\. Got 'a b'"):
        Perceptron().learn_one("a b", "grain")  # type: ignore[arg-type]
    with pytest.raises(DocumentError, match=r"must be {term: value}\. Got None"):
        PRank().rank_one(None)  # type: ignore[arg-type]
    with pytest.raises(DocumentError, match="The ranks must be a list"):
        PRank().learn_many(np.eye(2), None)
    with pytest.raises(OptionError, match="'ranks' option of PRank must be a whole number"):
        PRank(ranks="3")  # type: ignore[arg-type]
    with pytest.raises(DocumentError, match="A topic cannot be used: unhashable"):
        model.learn_many([{"a": 1.0}, {"b": 1.0}], ["grain", [{"no": "name"}]])
    assert not model.topics
    with pytest.raises(ValueError, match="1 dimensions, expected 2"):
        MMP().learn_many(np.ones(3), ["a"])


def test_names_and_columns_are_not_mixed() -> None:
    by_name, by_column = MMP(), MMP()
    by_name.learn_one({"wheat": 1.0}, ["grain"])
    by_column.learn_many(np.eye(2), ["a", "b"])
    with pytest.raises(DocumentError, match="Give it dictionaries"):
        by_name.learn_many(np.eye(2), ["a", "b"])
    with pytest.raises(DocumentError, match="Give it rows"):
        by_column.rank_one({"wheat": 1.0})
    with pytest.raises(DocumentError, match=r"3 columns, but .* with 2 columns"):
        by_column.rank_many(np.eye(3))


@pytest.mark.parametrize("rank", [0, 6, 1.5, True, "1"])
def test_ranks_that_do_not_exist_are_refused(rank: Any) -> None:  # noqa: ANN401
    with pytest.raises(DocumentError, match="integer from 1 to 5"):
        PRank(ranks=5).learn_one({"good": 1.0}, rank)


def test_options_are_checked_when_a_learner_is_first_used() -> None:
    with pytest.raises(OptionError, match=r"option of MMP must be one of 1, 2, 3\. Got 4"):
        MMP(loss=4).learn_one({"wheat": 1.0}, ["grain"])
    with pytest.raises(OptionError, match="must be a number from 0"):
        MMP(margin="1").learn_one({"wheat": 1.0}, ["grain"])  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="Use KernelMMP"):
        MMP(kernel="poly2")
    MMP(margin=np.float64(0.5), loss=np.int64(2)).learn_one({"wheat": 1}, ["grain"])  # type: ignore[arg-type]


def test_too_many_scores_are_refused_before_they_are_made() -> None:
    model = Frequency().declare_topics(range(1000))
    sparse = pytest.importorskip("scipy.sparse")
    X = sparse.csr_array((MAX_SCORES // 1000 + 1, 5))
    with pytest.raises(DocumentError, match="Give fewer rows at a time"):
        model.rank_many(X)


def test_no_documents_at_all() -> None:
    model = MMP()
    assert len(model.learn_many([], [])) == 0
    assert model.rank_one({}) == []
    assert PRank().rank_one({}).rank == 5


@pytest.mark.parametrize("spec", [*SPECS, *ORDINAL_SPECS])
def test_a_copy_learns_by_itself(spec: str) -> None:
    learner = parse_spec(spec).build()
    assert isinstance(learner, TopicLearner | RankLearner)
    documents, labels = made_up_documents(7)
    if isinstance(learner, RankLearner):
        labels = [None if topics is None else min(4, 1 + len(topics)) for topics in labels]
    learner.learn_only(documents[:40], labels[:40])
    copied = copy.deepcopy(learner)
    copied.learn_only(documents[40:], labels[40:])
    assert not same_state(copied, learner)
    learner.learn_only(documents[40:], labels[40:])
    assert same_state(copied, learner)
    assert str(list(copied.rank_many(documents))) == str(list(learner.rank_many(documents)))


def test_one_word_is_one_topic_and_a_slice_of_rankings_is_a_list() -> None:
    model = Perceptron().declare_topics("grain")
    assert model.topics == ["grain"]
    rankings = model.learn_many(np.eye(3), ["grain", "ship", "grain"])
    assert rankings[1:] == [rankings[1], rankings[2]]
    assert rankings[-1:] == [rankings[2]]
