"""The measures of held-out rankings, beside those of the curves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import orjson
import pytest

from tests.bench.quality.held_out import differences, measures, quality, read_corpus
from tests.bench.quality.lanes import lane_scores


def test_quality_of_a_known_ranking() -> None:
    scores = np.array([[3.0, 2.0, 1.0, 0.0]])
    relevant = np.array([[False, True, False, True]])
    measured = quality(scores, relevant)
    assert measured.average_precision == pytest.approx((1 / 2 + 2 / 4) / 2)
    assert measured.one_error == 100.0
    assert measured.coverage == 3.0
    assert measured.loss3 == pytest.approx(100.0 * 3 / 4)


def test_equal_scores_are_errors_of_loss3_and_ranked_by_topic() -> None:
    measured = quality(np.zeros((1, 2)), np.array([[True, False]]))
    assert (measured.one_error, measured.coverage, measured.loss3) == (0.0, 0.0, 100.0)


def test_documents_are_compared_one_by_one() -> None:
    relevant = np.array([[True, False], [True, False], [False, True], [False, True]])
    good, poor = np.array([[2.0, 1.0]] * 2 + [[1.0, 2.0]] * 2), np.array([[2.0, 1.0]] * 4)
    pairs = differences(measures(good, relevant), measures(poor, relevant))
    assert [pair.mean for pair in pairs] == [0.25, -50.0, -0.5, -50.0]
    # Of the differences 0, 0, -100 and -100 the standard deviation is 57.7, over the root of 4.
    assert pairs[1].error == pytest.approx(100.0 / np.sqrt(3.0) / 2.0)
    assert all(np.isnan(pair.error) for pair in differences(np.zeros((1, 4)), np.ones((1, 4))))


def test_corpora_are_split_by_time_and_held_out_labels_are_not_learned(tmp_path: Path) -> None:
    pairs = [("wheat crop", "grain"), ("ship port", "ship")] * 10
    events = [{"id": i, "text": f"{text} {i}", "topics": [t]} for i, (text, t) in enumerate(pairs)]
    events[-1]["topics"] = ["unheard"]  # not known from the first part: left out
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(b"\n".join(map(orjson.dumps, events)))
    corpus = read_corpus("made up", str(path))
    assert (len(corpus.learned), len(corpus.held_out)) == (14, 5)
    given = lane_scores(corpus, ["arow"], "reuters2000")["arow"]
    assert given.scores.shape == (5, 2)
    assert quality(given.scores, corpus.relevant).average_precision == 1.0
