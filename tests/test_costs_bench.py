"""The measurement of costs: what one shard of a lane takes and sends."""

from __future__ import annotations

import pytest

from pipeline.planning.cost_model import fit_all
from pipeline.planning.formula import Load, Sample
from pipeline.planning.measuring import make_workload
from tests.bench.cluster_costs import averaged
from tests.bench.costs import TIMED_BLOCKS, measure_shards


def test_every_shard_is_measured_with_its_exchanges() -> None:
    workload = make_workload(40, 20, TIMED_BLOCKS + 1, 16)
    samples = measure_shards([workload], ["perceptron", "mmp:loss=1", "svm-map"])
    assert "shard svm-map" not in samples  # it cannot be divided
    for learner in ("perceptron", "mmp:loss=1"):
        for what in ("shard", "shard bytes", "exchanges"):
            assert all(sample.value > 0 for sample in samples[f"{what} {learner}"])
    assert {sample.value for sample in samples["exchanges perceptron"]} == {2.0}
    assert min(sample.value for sample in samples["exchanges mmp:loss=1"]) >= 4.0


def test_noise_with_large_blocks_does_not_hide_the_cost_of_a_block() -> None:
    noise = [Sample(Load(block=1000.0), value) for value in (1.0, 30.0, 2.0, 27.0)]
    samples = averaged([*noise, Sample(Load(block=20.0), 505.0)])
    formula = fit_all({"tokenizer client": samples})["tokenizer client"]
    assert formula.at(Load(block=20.0)) == pytest.approx(505.0)
    assert formula.at(Load(block=1000.0)) == pytest.approx(15.0)
