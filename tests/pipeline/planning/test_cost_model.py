"""The cost model: never cheaper for more, and read and written without loss."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import orjson
import pytest

from learners.specs import LEARNERS, parse_spec
from pipeline.errors import UsageError
from pipeline.planning.cluster import (
    ClusterShape,
    WorkerGroup,
    bytes_per_document,
    documents_per_block,
)
from pipeline.planning.cost_model import (
    SET_BYTES,
    can_be_divided,
    fit_all,
    growth,
    model_bytes,
    read_costs,
    worker_bytes,
)
from pipeline.planning.formula import Formula, Load, Sample
from tests.pipeline.planning.made_up_costs import costs_of

COSTS = read_costs()
TOPICS, TERMS = (10, 1_000, 100_000), (1, 125, 5_000)


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_has_costs_that_never_fall(learner: str) -> None:
    spec = parse_spec(learner)
    for topics, terms in product(TOPICS, TERMS):
        load = Load(topics=topics, terms=terms, block=100)
        here = COSTS.lane_us(spec, load)
        assert here > 0
        assert COSTS.lane_us(spec, load._replace(topics=2 * topics)) >= here
        assert COSTS.lane_us(spec, load._replace(terms=2 * terms)) >= here
        assert model_bytes(spec, 1000, 2 * topics) >= model_bytes(spec, 1000, topics)


@pytest.mark.parametrize("learner", [name for name in LEARNERS if can_be_divided(parse_spec(name))])
def test_a_shard_costs_no_more_with_fewer_topics(learner: str) -> None:
    spec = parse_spec(learner)
    load = Load(topics=10_000, terms=125, shards=4, block=100)
    assert COSTS.shard_us(spec, load._replace(topics=1000)) <= COSTS.shard_us(spec, load)
    assert COSTS.exchanges(spec, load) > 0
    assert COSTS.payload(spec, load) > 0
    assert COSTS.exchanges(spec, load._replace(shards=1)) == 0
    assert COSTS.shard_us(spec, load._replace(shards=1)) == COSTS.lane_us(spec, load)


def test_sets_cost_time_in_every_shard_and_bytes_in_every_ranking() -> None:
    plain, assigning = parse_spec("perceptron"), parse_spec("perceptron:assign=micro")
    costs = costs_of(sets={"1": 5.0, "K": 0.01})
    load = Load(topics=1000, terms=100, block=100)
    assert costs.lane_us(plain, load) == 0
    assert costs.lane_us(assigning, load) == 15
    assert costs.shard_us(assigning, load._replace(shards=4)) == 15
    assert costs.elapsed_us(assigning, load, 2) == 15
    costs = costs_of(exchanges_perceptron={"1": 2.0}, shard_bytes_perceptron={"1": 50.0})
    for topics, more in ((1000, 120), (60, 60), (20, 0)):  # of 4 shards: 250, 15 and 5
        shards = load._replace(topics=topics, shards=4)
        assert costs.payload(plain, shards) == 50 * 100 / 2
        assert costs.payload(assigning, shards) == (50 + more) * 100 / 2
    costs = costs_of(ranking_bytes={"1": 300.0})
    assert costs.ranking_bytes(plain, 10) == 300
    both = WorkerGroup((plain, assigning))
    shape = ClusterShape(1, (both,))
    assert shape.ranking_bytes(costs) == 300 + SET_BYTES / 2
    assert bytes_per_document(costs, load, [both], 10)["rankings"] == 600 + SET_BYTES


def test_costs_of_earlier_versions_lack_sets(tmp_path: Path) -> None:
    path, content = tmp_path / "costs.json", COSTS.content()
    formulas = {name: each.content() for name, each in COSTS.formulas.items() if name != "sets"}
    path.write_bytes(orjson.dumps({**content, "formulas": formulas}))
    load = Load(topics=1000, terms=100, block=100)
    earlier = read_costs(path)
    assert earlier.lane_us(parse_spec("mmp:assign=f1"), load) == COSTS.lane_us(
        parse_spec("mmp"), load
    )


def test_threads_divide_the_columns_and_nothing_else() -> None:
    spec = parse_spec("perceptron")
    costs = costs_of(lane_perceptron={"1": 100.0, "K": 1.0}, thread_serial_share={"1": 0.1})
    load = Load(topics=1000, terms=100, block=1000)
    assert costs.elapsed_us(spec, load, 1) == 1100
    assert costs.elapsed_us(spec, load, 2) == pytest.approx(100 + 1000 * (0.1 + 0.9 / 2))
    assert costs.elapsed_us(spec, load, 10**6) >= 200
    # A block that is too small for threads, as learners have it.
    assert costs.elapsed_us(spec, load._replace(block=1), 2) == 1100


def test_a_worker_runs_its_lanes_side_by_side() -> None:
    costs = costs_of(lane_perceptron={"1": 100.0}, vocabulary={"1": 10.0})
    lanes = tuple(parse_spec(f"perceptron:name={name}") for name in "abcd")
    load = Load(topics=10, terms=10)
    elapsed = {n: WorkerGroup(lanes, 1, n).elapsed_us(costs, load) for n in (1, 2, 4, 8)}
    assert elapsed == {1: 410, 2: 210, 4: 110, 8: 110}
    assert WorkerGroup(lanes).core_us(costs, load) == 410


def test_options_that_make_a_model_larger_make_it_slower() -> None:
    assert growth(parse_spec("perceptron")) == 1
    assert growth(parse_spec("perceptron:average=true")) == 2
    assert growth(parse_spec("committee:size=20")) == 2
    assert growth(parse_spec("prank:ranks=7")) == 1
    with pytest.raises(UsageError, match="with a kernel"):
        COSTS.lane_us(parse_spec("mmp:kernel=poly2"), Load(10, 10))


def test_memory_is_that_of_the_learners() -> None:
    spec = parse_spec("mmp")
    assert model_bytes(spec, 1000, 100) == 8 * 1000 * 100
    more = worker_bytes([spec, spec], 1000, 100) - worker_bytes([spec], 1000, 100)
    assert more == 8 * 1000 * 100
    one, four = (WorkerGroup((spec,), n).memory(1000, 10_000) for n in (1, 4))
    assert one - four == 8 * 1000 * 7500


def test_blocks_grow_with_the_rate_up_to_their_limit() -> None:
    sizes = [documents_per_block(COSTS, Load(terms=125), rate, 1) for rate in (0.1, 100, 1e3, 1e6)]
    assert sizes == sorted(sizes)
    assert (sizes[0], sizes[-1]) == (1, 1000)


def test_costs_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "costs.json"
    COSTS.write(path)
    again = read_costs(path)
    assert again.content() == COSTS.content()
    assert again.machine == COSTS.machine


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "not JSON"),
        (b"[]", "does not hold costs of this version"),
        (b'{"version": 99}', "does not hold costs of this version"),
        (b'{"version": 1}', "lacks formulas or machine"),
        (b'{"version": 1, "machine": {}, "formulas": {}}', "lacks the formula"),
        (b'{"version": 1, "machine": {}, "formulas": {"broker": 3}}', "'broker'"),
    ],
)
def test_damaged_costs_are_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "costs.json"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=message):
        read_costs(path)
    with pytest.raises(UsageError, match="cannot be read"):
        read_costs(tmp_path / "missing.json")


def test_a_learner_without_measurement_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no measurement of mmp\. They have: perceptron"):
        costs_of().lane_us(parse_spec("mmp"), Load(10, 10))


def test_a_machine_that_is_twice_as_slow_takes_twice_as_long() -> None:
    slow = {name: COSTS.formulas[name].times(2) for name in ("tokenizer", "lane mmp")}
    scaled = COSTS.scaled(slow, {"processor": "slow"})
    load = Load(topics=1000, terms=125, block=100, payload=1000, shards=2)
    for name in ("tokenizer", "lane mmp", "broker", "exchange client", "shard mmp"):
        assert scaled.at(name, load) == pytest.approx(2 * COSTS.at(name, load))
    for name in ("log bytes", "shard bytes mmp", "exchanges mmp", "thread serial share"):
        assert scaled.at(name, load) == COSTS.at(name, load)
    assert scaled.machine == {"processor": "slow"}


def test_the_shipped_fit_is_no_guess() -> None:
    """Most formulas come from several measurements, and fit them."""
    content = orjson.loads(orjson.dumps(COSTS.content()))
    lanes = [Formula.from_content(each, name) for name, each in content["formulas"].items()
             if name.startswith("lane ")]  # fmt: skip
    assert min(formula.samples for formula in lanes) >= 4
    assert sorted(formula.median_error for formula in lanes)[len(lanes) // 2] < 0.2


def test_sets_without_measurements_have_no_formula() -> None:
    fitted = fit_all({"lane mmp": [Sample(Load(10, 10), 5.0)], "lane arow": []})
    assert list(fitted) == ["lane mmp"]
