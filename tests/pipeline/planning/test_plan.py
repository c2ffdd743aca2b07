"""Plans add up, and say what is missing."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner

from learners.specs import parse_spec
from pipeline.commands.app import new_app
from pipeline.commands.plan import split_lanes
from pipeline.errors import UsageError
from pipeline.planning.cost_model import read_costs
from pipeline.planning.plan import DAY, GIB, TOKENIZER_BYTES, Demand, NoPlanError, make_plan
from pipeline.planning.scenario import Scenario
from pipeline.planning.simulation import simulate
from tests.pipeline.planning.made_up_costs import costs_of

COSTS = read_costs()
LANES = (parse_spec("perceptron"), parse_spec("mmp:loss=1"))


def demand_of(rate: float, topics: int, **given: Any) -> Demand:  # noqa: ANN401
    return Demand(rate, topics, given.pop("lanes", LANES), **given)


@pytest.mark.parametrize(("rate", "topics"), [*product((0.01, 10, 200), (1, 100, 2_000))])
def test_a_plan_adds_up(rate: float, topics: int) -> None:
    demand = demand_of(rate, topics)
    plan = make_plan(COSTS, demand)
    wanted = rate * demand.headroom
    assert plan.tokenizer_capacity >= wanted * 0.999
    assert [lane for worker in plan.workers for lane in worker.group.lanes] == list(LANES)
    for worker in plan.workers:
        assert worker.capacity >= wanted * 0.999
        assert worker.memory <= demand.memory_per_machine * GIB
        assert worker.group.threads <= demand.cores_per_machine
    cores = sum(worker.group.shards * worker.group.threads for worker in plan.workers)
    assert plan.cores == plan.tokenizers + cores
    assert plan.machines * demand.cores_per_machine >= plan.cores
    memory = sum(worker.group.shards * worker.memory for worker in plan.workers)
    memory += plan.tokenizers * TOKENIZER_BYTES
    assert plan.machines * demand.memory_per_machine * GIB >= memory
    assert plan.limit_rate == min(
        plan.tokenizer_capacity, *(worker.capacity for worker in plan.workers)
    )
    kept = plan.bytes_per_document["log"] + plan.bytes_per_document["rankings"]
    assert plan.stored_per_day == pytest.approx(rate * DAY * kept * 3)
    assert plan.broker_in * plan.brokers == pytest.approx(
        3 * rate * sum(plan.bytes_per_document.values())
    )


def test_more_never_needs_less() -> None:
    plans = [make_plan(COSTS, demand_of(rate, 500)) for rate in (1, 10, 100, 300)]
    for smaller, larger in pairwise(plans):
        assert larger.cores >= smaller.cores
        assert larger.tokenizers >= smaller.tokenizers
        assert larger.broker_in >= smaller.broker_in
    ones = [make_plan(COSTS, demand_of(1, topics)).one_core for topics in (1, 10, 100, 1000)]
    assert ones == sorted(ones, reverse=True)


def test_the_log_that_is_kept() -> None:
    forever, month = (make_plan(COSTS, demand_of(10, 100, log_days=d)) for d in (None, 30.0))
    assert forever.log_bytes is None
    size = month.bytes_per_document["log"]
    assert month.log_bytes == pytest.approx(10 * DAY * 30 * size * 3)


def test_a_lane_that_one_core_cannot_do_gets_shards_or_threads() -> None:
    costs = costs_of(
        lane_perceptron={"K": 1.0}, shard_perceptron={"K/N": 1.0},
        shard_bytes_perceptron={"1": 100.0}, exchanges_perceptron={"1": 2.0},
        exchange_latency={"1": 1000.0}, tokenizer={"1": 10.0, "1/B": 5e4},
        thread_serial_share={"1": 1.0},
    )  # fmt: skip
    lanes = (parse_spec("perceptron"),)
    plan = make_plan(costs, demand_of(1000, 3000, lanes=lanes, headroom=1.0))
    (worker,) = plan.workers
    assert worker.group.shards >= 4  # 3 ms of work per document, in 1 ms
    assert worker.capacity >= 1000
    # With threads that divide everything, no shards are needed.
    threaded = costs_of(lane_perceptron={"K": 1.0}, tokenizer={"1": 10.0, "1/B": 5e4})
    plan = make_plan(threaded, demand_of(1000, 3000, lanes=lanes, headroom=1.0))
    assert [(w.group.shards, w.group.threads) for w in plan.workers] == [(1, 3)]


def test_a_model_that_does_not_fit_is_divided_for_memory() -> None:
    demand = demand_of(0.1, 20_000, lanes=(parse_spec("mmp"),), memory_per_machine=8.0)
    (worker,) = make_plan(COSTS, demand).workers
    assert worker.group.shards > 1
    assert worker.memory <= 8 * GIB


def test_what_cannot_be_planned_is_explained() -> None:
    with pytest.raises(NoPlanError, match="documents per second at most, with"):
        make_plan(COSTS, demand_of(900_000, 900_000, vocabulary=1000))
    lanes = (parse_spec("prank"), parse_spec("mmp"))
    with pytest.raises(NoPlanError, match=r"Lane mmp needs [\d,.]+ GiB"):
        make_plan(COSTS, demand_of(1, 1_000_000, lanes=lanes, memory_per_machine=1.0))
    stacked = (*LANES, parse_spec("svm-map"))
    with pytest.raises(NoPlanError, match="in its own process"):
        make_plan(COSTS, demand_of(100_000, 2_000, lanes=stacked))


@pytest.mark.parametrize(
    "given",
    [{"rate": 0}, {"rate": -1}, {"rate": float("nan")}, {"rate": float("inf")}, {"topics": 0},
     {"topics": 10**9}, {"terms": 0}, {"lanes": ()}, {"headroom": 0.5},
     {"headroom": float("nan")}, {"lanes": (parse_spec("mmp:shards=2"),)}],
)  # fmt: skip
def test_a_demand_that_makes_no_sense_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        demand_of(**{"rate": 1, "topics": 10, **given})


@pytest.mark.parametrize(("rate", "topics"), [(20, 200), (100, 1000)])
def test_the_simulation_of_a_plan_keeps_up(rate: float, topics: int) -> None:
    """The simulated cluster ranks as fast as documents arrive, since it was planned for more."""
    plan = make_plan(COSTS, demand_of(rate, topics))
    result = simulate(COSTS, plan.shape, plan.demand.load(plan.block), rate, Scenario(20))
    assert result.ranked == result.documents
    assert result.documents_per_second > 0.95 * rate
    assert result.latency["p99"] < 2


def test_lanes_with_commas() -> None:
    assert split_lanes(["soft-arow,mmp:loss=1", "perceptron:average=true,margin=0.1,arow"]) == [
        "soft-arow", "mmp:loss=1", "perceptron:average=true,margin=0.1", "arow",
    ]  # fmt: skip


def invoke(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(new_app(), ["plan", *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_the_command_prints_a_table() -> None:
    code, text, _ = invoke("--documents-per-second", "50", "--topics", "3000", "--simulate")
    assert code == 0
    for words in ("tokenizer", "learner of", "one core alone", "max_topics = 3000", "p99",
                  "restart at"):  # fmt: skip
        assert words in text


def test_the_command_prints_json() -> None:
    arguments = ("--documents-per-second", "50", "--topics", "100", "--lanes", "mmp,arow")
    code, text, _ = invoke(*arguments, "--json", "--simulate", "--seed", "3")
    assert code == 0
    content = orjson.loads(text)
    assert content["demand"]["lanes"] == ["mmp", "arow"]
    assert content["simulation"]["ranked"] == content["simulation"]["documents"]
    assert invoke(*arguments, "--json", "--simulate", "--seed", "3")[1] == text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--documents-per-second", "0", "--topics", "9"), "must be above 0"),
        (("--documents-per-second", "1", "--topics", "9", "--lanes", "mpp"), "no learner 'mpp'"),
        (("--documents-per-second", "1", "--topics", "9", "--lanes", "mmp,mmp"), "Two lanes"),
        (("--documents-per-second", "1", "--topics", "9", "--costs", "/nowhere"), "cannot be read"),
        (("--documents-per-second", "1e6", "--topics", "100000"), "wirerank:"),
    ],
)
def test_the_command_explains_what_is_wrong(arguments: tuple[str, ...], message: str) -> None:
    code, _, error = invoke(*arguments)
    assert code == 2
    assert message in error
