"""The comparison with other programs: its measure, its check of ratios, and its tables."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from tests.bench.peers.comparison import Summary
from tests.bench.peers.corpus import Corpus, write_corpus
from tests.bench.peers.page import row
from tests.bench.peers.programs.common import average_precision, best
from tests.bench.peers.programs_list import FROM_FILES, KAFKA, SIZES, SOFT_AROW
from tests.bench.peers.quick import FALL, RECORDED, fallen
from tests.bench.peers.quick import FROM_FILES as FILE_PAIRS
from tests.bench.peers.quick import ON_BROKER as BROKER_PAIRS
from tests.bench.peers.runner import Result, Store, failed
from tests.bench.quality.held_out import quality


def test_average_precision_equals_that_of_held_out_rankings() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        scores = rng.integers(0, 5, 12).astype(float)  # with ties
        relevant = rng.random(12) < 0.3
        relevant[rng.integers(12)] = True
        expected = quality(scores[None], relevant[None]).average_precision
        assert average_precision(scores, np.flatnonzero(relevant).tolist()) == pytest.approx(
            expected
        )


def test_the_best_topics_are_in_order() -> None:
    scores = np.random.default_rng(1).random(50)
    assert best(scores).tolist() == np.argsort(-scores)[:10].tolist()
    assert best(scores[:3]).tolist() == np.argsort(-scores[:3]).tolist()


def test_a_ratio_that_falls_by_a_third_is_noticed() -> None:
    recorded = {"a": 3.0, "b": 3.0}
    assert fallen({"a": 2.1, "b": 1.9}, recorded) == ["b"]
    assert fallen({"a": 3.0 * FALL}, recorded) == ["a"]
    assert fallen({"c": 9.0}, recorded) == ["c"]


def test_every_ratio_that_is_checked_was_recorded() -> None:
    by_processor = json.loads(RECORDED.read_text())
    assert by_processor
    for recorded in by_processor.values():
        assert set(recorded) == {pair.name for pair in (*FILE_PAIRS, *BROKER_PAIRS)}
        assert all(value > 0 for value in recorded.values())


def test_programs_have_different_keys() -> None:
    keys = [program.key for program in (*FROM_FILES, *KAFKA)]
    assert len(set(keys)) == len(keys)


def test_results_are_kept(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.get("a--0") is None
    first, second = Result(10, 1.0, 0.5, 100.0, [0.5, math.nan]), failed("no memory")
    store.put("a--0", first)
    store.put("a--1", second)
    store.put("a--quality", first)
    kept = store.runs("a")
    assert [run.documents for run in kept] == [10, 0]
    assert kept[0].microseconds == 100_000
    assert kept[1].failure == "no memory"


def test_a_row_says_what_was_stopped_or_failed() -> None:
    corpus = Corpus(100, 4)
    ours = Summary([Result(4, 4e-6, 4e-6, 10.0)], [0.5, 0.5, 1.0, 1.0])
    whole = row(SOFT_AROW, ours, corpus, ours)
    assert whole[1:] == ["4", "1.0", "1.0", "10.0", "0.750", "1.000"]
    stopped = Summary([Result(2, 1e-3, 1e-3, 10.0)], [0.25, 0.25])
    assert row(SOFT_AROW, stopped, corpus, ours)[1:] == [
        "stopped after 2", "500", "500", "10.0", "0.250 (0.500)", "",
    ]  # fmt: skip
    batch = Summary([Result(4, 4e-6, 4e-6, 10.0)], [math.nan, math.nan, 0.5, 0.5])
    assert row(SOFT_AROW, batch, corpus, ours)[5:] == ["", "0.500"]
    assert (
        "more than" in row(SOFT_AROW, Summary([failed("more than 1 GiB")], None), corpus, ours)[1]
    )


def test_a_corpus_lists_all_topics_in_another_order(tmp_path: Path) -> None:
    place = write_corpus(Corpus(20, 30), tmp_path)
    assert len((place / "events.jsonl").read_bytes().splitlines()) == 30
    topics = (place / "topics.txt").read_text().split()
    assert len(set(topics)) == 20
    assert len(SIZES) == 3
