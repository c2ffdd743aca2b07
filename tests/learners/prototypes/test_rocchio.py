"""Feature selection by Rocchio's prototypes."""

from __future__ import annotations

import numpy as np

from learners.prototypes.rocchio import Rocchio, select_terms
from tests.learners.test_twins import follow
from tests.support.random_streams import random_stream


def test_keeps_the_heaviest_terms_of_each_topic() -> None:
    prototypes = np.zeros((6, 2))
    prototypes[:, 0] = [0.1, 0.5, 0.0, 0.4, 0.0, 0.2]
    prototypes[:, 1] = [0.0, 0.0, 0.9, 0.0, 0.0, 0.0]
    assert select_terms(prototypes, at_least=2).tolist() == [1, 2, 3]


def test_share_is_of_the_topics_own_list() -> None:
    prototypes = np.zeros((1000, 1))
    prototypes[:400, 0] = np.arange(400, 0, -1)
    assert select_terms(prototypes, share=0.5, at_least=10).tolist() == list(range(200))
    assert len(select_terms(prototypes, share=0.5, at_least=300)) == 300
    assert len(select_terms(prototypes, share=0.0, at_least=500)) == 400  # never a zero weight


def test_equal_weights_keep_the_earlier_term() -> None:
    assert select_terms(np.ones((5, 1)), share=0.0, at_least=2).tolist() == [0, 1]


def test_batch_prototypes_have_unit_norm_or_are_zero() -> None:
    rocchio = Rocchio(refresh=0)
    follow(rocchio, random_stream(0), [])
    assert not rocchio.weights.any()
    rocchio.make()
    norms = np.linalg.norm(rocchio.weights, axis=0)
    assert np.allclose(norms[norms > 0], 1.0)
    assert (norms > 0).any()
    assert (rocchio.weights >= 0).all()
