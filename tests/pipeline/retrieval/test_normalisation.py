"""Normalisation of scores within queries, and the bins they are cut into."""

from __future__ import annotations

import numpy as np
import pytest

from learners.svm_map.features import BinnedItems
from pipeline.errors import UsageError
from pipeline.retrieval.features import Description, Form
from pipeline.retrieval.normalisation import binned, even_cuts, minmax, normalised, place
from pipeline.retrieval.trainers import as_matrix
from tests.support.two_queries import NOT, two_queries


def test_scores_are_brought_to_the_same_scale_within_queries() -> None:
    actual = normalised(two_queries(), "minmax")
    np.testing.assert_array_equal(actual[:, 0], [0.0, 0.25, 1.0, 1.0, 0.0])
    np.testing.assert_array_equal(actual[:, 1], [0.0, NOT, 0.0, NOT, 0.0])
    actual = normalised(two_queries(), "percentile")
    np.testing.assert_array_equal(actual[:, 0], [0.0, 0.5, 1.0, 1.0, 0.0])
    np.testing.assert_array_equal(actual[:, 1], [0.5, NOT, 0.5, NOT, 0.0])
    actual = normalised(two_queries(), "place")
    assert actual[2, 0] == actual[3, 0] == actual[4, 1] == 1.0
    assert actual[1, 0] == pytest.approx(1 - np.log(2) / np.log(4))


@pytest.mark.parametrize("how", ["minmax", "place", "percentile"])
def test_scales_of_queries_do_not_matter(how: str) -> None:
    queries = two_queries()
    before = normalised(queries, how)
    queries.values[:3] = queries.values[:3] * 1e6 - 7.0
    np.testing.assert_allclose(normalised(queries, how), before)


def test_normalising_leaves_the_set_as_it_was() -> None:
    queries = two_queries()
    normalised(queries, "minmax")
    np.testing.assert_array_equal(queries.values, two_queries().values)


def test_scores_as_far_apart_as_numbers_go() -> None:
    assert minmax(np.array([-1.7e308, 0.0, 1.7e308])).tolist() == [0.0, 0.5, 1.0]
    assert place(np.array([3.0])).tolist() == [1.0]


def test_a_missing_score_has_a_bin_of_its_own_below_all_others() -> None:
    values = np.array([[0.0], [0.1], [0.5], [0.99], [1.0], [NOT]])
    cuts = even_cuts(values, "minmax", 4)
    np.testing.assert_array_equal(cuts, [[0.0, 0.25, 0.5, 0.75]])
    assert binned(values, cuts).ravel().tolist() == [1, 1, 3, 4, 4, 0]


def test_cuts_of_raw_scores_span_those_of_training() -> None:
    values = np.array([[2.0, NOT], [10.0, NOT]])
    cuts = even_cuts(values, "none", 4)
    np.testing.assert_array_equal(cuts, [[2.0, 4.0, 6.0, 8.0], [0.0] * 4])
    assert binned(np.array([[1.0], [2.0], [99.0]]), cuts).ravel().tolist() == [0, 1, 4]


def test_bins_are_the_same_features_to_a_classifier() -> None:
    rng = np.random.default_rng(1)
    items = BinnedItems(rng.integers(0, 6, (40, 3)).astype(np.uint16), 5)
    weights = rng.normal(size=15)
    np.testing.assert_allclose(as_matrix(items) @ weights, items.scores(weights))


def test_without_cuts_values_are_the_features() -> None:
    queries = two_queries()
    description = Description.fitted(Form("minmax", 0), normalised(queries, "minmax"))
    assert description.width == 2
    scores = description.of(queries).scores(np.array([1.0, 10.0]))
    assert scores.tolist() == [0.0, 0.25, 1.0, 1.0, 0.0]


@pytest.mark.parametrize("form", [("mean", 5), ("minmax", -1), ("minmax", 10_000)])
def test_forms_that_there_are_not(form: tuple[str, int]) -> None:
    with pytest.raises(UsageError, match=r"choose one of minmax|expected 0 to 1000 cuts"):
        Form(*form)


def test_some_queries_alone() -> None:
    some = two_queries().select([1])
    assert (some.queries, some.documents) == (("2",), ("b", "a"))
    assert some.starts.tolist() == [0, 2]
    assert some.grades.tolist() == [2, 0]
    assert [known.tolist() for known in some.known] == [[2]]
    assert two_queries().select([1, 0]).documents == tuple("baedc")
