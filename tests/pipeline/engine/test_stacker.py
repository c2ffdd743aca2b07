"""The stacker in an engine: how well it ranks, and which lanes an engine with helpers shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from learners.measures import MEASURES
from learners.specs import helpers_of, parse_spec, resolved
from pipeline.corpora import Source
from pipeline.corpora.reuters21578 import Reuters21578
from pipeline.corpora.synthetic_newswire import SyntheticNewswire
from pipeline.curves.topic_curve import SUMS, WITH_TOPICS
from pipeline.engine.engine import Engine
from pipeline.log.block import make_block
from pipeline.log.block_reader import BlockReader
from pipeline.reports.report import make_report
from pipeline.snapshots.snapshot import take_snapshot
from pipeline.text.tokenizer import Tokenizer
from tests.pipeline.engine.test_engine import TOKENIZER, random_events

PLAIN_LANES = ("mmp:loss=1", "mmp:loss=2", "mmp:loss=3", "perceptron")
AVERAGE_PRECISION = SUMS + MEASURES.index("average_precision")


def second_half(source: Source, lanes: Sequence[str]) -> dict[str, float]:
    """Return the AvgP of each lane, averaged over the second half of the rounds."""
    engine = Engine([parse_spec(lane) for lane in lanes], source.topics)
    tallies = []
    for reading in BlockReader(source, Tokenizer(), 256):
        for _ in engine.process(reading.block):
            pass
        tallies.append([lane.curve.tally() for lane in engine.lanes])
    half = np.searchsorted([tally[0][0] for tally in tallies], engine.rounds / 2)
    then, now = np.array(tallies[int(half)]), np.array(tallies[-1])
    means = (now - then)[:, AVERAGE_PRECISION] / (now - then)[:, WITH_TOPICS]
    return dict(zip(lanes, means.tolist(), strict=True))


def test_the_stacker_is_as_good_as_every_lane_that_it_combines(
    shared_corpus: Callable[[str], Path],
) -> None:
    lanes = [*PLAIN_LANES, "svm-map"]
    average_precisions = second_half(Reuters21578(shared_corpus("reuters21578")), lanes)
    assert average_precisions["svm-map"] >= max(average_precisions.values())
    assert (
        average_precisions["svm-map"] > max(average_precisions[lane] for lane in PLAIN_LANES) + 0.01
    )


def test_the_stacker_is_as_good_on_a_synthetic_corpus() -> None:
    lanes = ["mmp:loss=2", "perceptron", "svm-map:refit=250,window=500"]
    average_precisions = second_half(SyntheticNewswire(documents=2000, topics=30), lanes)
    assert average_precisions[lanes[2]] >= max(average_precisions.values())


def test_helpers_learn_but_are_not_shown() -> None:
    every = resolved([parse_spec(lane) for lane in ("mmp", "perceptron", "svm-map:refit=20")])
    blocks = [make_block(random_events(3, 300), TOKENIZER)]
    whole = Engine(every)
    alone = Engine(every[2:], helpers=helpers_of(every[2:], every))
    for block in blocks:
        for with_helpers, all_ in zip(alone.process(block), whole.process(block), strict=True):
            assert (
                len(with_helpers.scores)
                == len(with_helpers.measures)
                == len(with_helpers.rounds)
                == 1
            )
            rows = range(len(with_helpers.documents))
            for row in rows:
                known = int(with_helpers.known_topics[row])
                scores = with_helpers.scores[0].row(row, known)
                assert np.array_equal(scores, all_.scores[2].row(row, known))
    report = make_report(alone, 1.0, 0, {})
    assert list(report) == ["svm-map:refit=20"]
    assert report["svm-map:refit=20"].get("against", {}) == {}
    assert take_snapshot(alone, 1).lanes == ["svm-map:refit=20"]
    assert take_snapshot(alone, 1).all_lanes == ["svm-map:refit=20", "mmp", "perceptron"]


@pytest.mark.parametrize("lanes", [("mmp", "svm-map:refit=1,window=1"), ("frequency", "svm-map")])
def test_streams_without_topics_words_or_labels(lanes: Sequence[str]) -> None:
    """No topic, one topic, documents without words or labels."""
    for length in (1, 2, 5):
        engine = Engine([parse_spec(lane) for lane in lanes])
        for event in random_events(length, length):
            for ranked in engine.process(make_block([event], TOKENIZER)):
                assert len(ranked.scores) == len(lanes)
        assert engine.lanes[1].curve.rounds == engine.rounds
