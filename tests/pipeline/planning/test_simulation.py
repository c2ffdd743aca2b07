"""The simulation: deterministic, loses nothing, and agrees with known results of queueing."""

from __future__ import annotations

import pytest

from learners.specs import parse_spec
from pipeline.errors import UsageError
from pipeline.planning.cluster import JOINED_RECORDS, ClusterShape, WorkerGroup
from pipeline.planning.cost_model import Costs
from pipeline.planning.formula import Load
from pipeline.planning.scenario import TOKENIZER, WORKER, Resharding, Restart, Scenario
from pipeline.planning.simulation import simulate, simulate_backlog
from tests.pipeline.planning.made_up_costs import costs_of

LANE = parse_spec("perceptron")
LOAD = Load(topics=100, terms=10)
SERVICE_US = 1000.0  # of the lane, per document


def shards(count: int) -> tuple[WorkerGroup, ...]:
    return (WorkerGroup((LANE,), count),)


def one_server() -> Costs:
    """Only the lane costs something."""
    return costs_of(lane_perceptron={"1": SERVICE_US})


def divided(latency: float = 2000.0) -> Costs:
    """Shards whose work divides perfectly, with two exchanges per block."""
    return costs_of(
        lane_perceptron={"K": 10.0},
        shard_perceptron={"K/N": 10.0},
        shard_bytes_perceptron={"1": 200.0},
        exchanges_perceptron={"1": 2.0},
        exchange_latency={"1": latency},
        tokenizer={"1": 20.0},
        broker={"1": 10.0},
    )


def test_equal_arrivals_never_wait() -> None:
    """D/D/1 below capacity: every document takes exactly its service time."""
    shape, scenario = ClusterShape(1, shards(1), max_block=1), Scenario(10, False, 0.0)
    result = simulate(one_server(), shape, LOAD, 500, scenario)
    assert result.latency["mean"] == pytest.approx(SERVICE_US / 1e6, rel=1e-6)
    assert result.latency["most"] == pytest.approx(SERVICE_US / 1e6, rel=1e-6)
    assert result.utilisation["worker"] == pytest.approx(0.5, rel=0.01)


def test_above_capacity_the_service_time_decides() -> None:
    """D/D/1 above capacity: the server is always busy."""
    shape, scenario = ClusterShape(1, shards(1), max_block=1), Scenario(5, False, 0.0)
    result = simulate(one_server(), shape, LOAD, 2000, scenario)
    assert result.documents_per_second == pytest.approx(1e6 / SERVICE_US, rel=0.01)
    assert result.latency["most"] == pytest.approx(5.0, rel=0.01)


@pytest.mark.parametrize("busy", [0.3, 0.6, 0.8])
def test_random_arrivals_wait_as_the_formula_says(busy: float) -> None:
    """M/D/1: the mean wait is rho S / (2 (1 - rho)) (Pollaczek and Khinchine)."""
    shape, scenario = ClusterShape(1, shards(1), max_block=1, joined=1), Scenario(60, True, 0.0)
    service = SERVICE_US / 1e6
    result = simulate(one_server(), shape, LOAD, busy / service, scenario)
    expected = service * (1 + busy / (2 * (1 - busy)))
    assert result.latency["mean"] == pytest.approx(expected, rel=0.06)


@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_a_backlog_takes_the_work_and_the_exchanges(count: int) -> None:
    """Without stragglers: blocks x (work / N + exchanges), with a core for everybody."""
    costs, block, documents = divided(), 100, 5000
    load = LOAD._replace(shards=count, block=block)
    rate = simulate_backlog(costs, LANE, load, documents, cores=20, joined=1)
    work = 10.0 * LOAD.topics / count
    exchanges = 2 * 2000.0 / block if count > 1 else 0.0
    assert rate == pytest.approx(1e6 / (work + exchanges), rel=0.05)


def test_blocks_that_wait_share_their_exchanges() -> None:
    """Shards take the first of 50 blocks alone, and then at most ten at a time."""
    costs, block, documents = divided(), 100, 5000
    load = LOAD._replace(shards=4, block=block)
    rate = simulate_backlog(costs, LANE, load, documents, cores=20, joined=10)
    work = 10.0 * LOAD.topics / 4
    exchanges = 2 * 2000.0 * (1 + 5) / documents
    assert rate == pytest.approx(1e6 / (work + exchanges), rel=0.05)


def test_records_that_wait_share_their_transactions() -> None:
    """An undivided lane takes ten records at a time; half of what a record costs is paid once."""
    costs = costs_of(worker_client={"1/B": 10_000.0}, tokenizer={"1": 1.0})
    load = LOAD._replace(block=10)
    alone, together = (simulate_backlog(costs, LANE, load, 5000, 20, joined=n) for n in (1, 10))
    assert alone == pytest.approx(1e6 / 1000.0, rel=0.05)
    assert together == pytest.approx(1e6 / (500.0 + 50.0), rel=0.05)
    assert WorkerGroup((LANE,)).capacity(costs, load) == pytest.approx(
        1e6 / (500.0 + 500.0 / JOINED_RECORDS)
    )


def test_fewer_cores_than_processes_share_them() -> None:
    """Four shards on two cores take twice as long as on four."""
    costs = divided(latency=0.0)
    load = LOAD._replace(shards=4, block=100)
    two, four = (simulate_backlog(costs, LANE, load, 5000, cores) for cores in (2, 20))
    assert two == pytest.approx(four / 2, rel=0.1)


def test_stragglers_slow_all_shards_down() -> None:
    costs = divided(latency=0.0)
    rates = [
        simulate(costs, ClusterShape(2, shards(16)), LOAD, 10_000, Scenario(0.5, True, spread))
        for spread in (0.0, 0.5)
    ]
    assert rates[1].documents_per_second < 0.8 * rates[0].documents_per_second


def test_equal_seeds_give_equal_results() -> None:
    shape = ClusterShape(3, shards(5), brokers=3, replication=3)
    restarts = (Restart(1.0, WORKER, 2), Restart(2.0, TOKENIZER, 1))
    runs = [
        simulate(divided(), shape, LOAD, 800, Scenario(4, restarts=restarts, seed=seed))
        for seed in (7, 7, 8)
    ]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


@pytest.mark.parametrize("seed", range(4))
def test_no_document_is_lost(seed: int) -> None:
    """Whatever is killed and however often the number of shards changes."""
    groups = (*shards(3), WorkerGroup((LANE,)))
    restarts = (
        Restart(0.5, WORKER, 1), Restart(0.7, TOKENIZER, 0), Restart(0.8, WORKER, 0, group=1),
        Restart(0.9, WORKER, 2), Restart(3.0, TOKENIZER, 1), Restart(5.0, WORKER, 0),
    )  # fmt: skip
    changes = (Resharding(1.5, 5), Resharding(6.0, 1))
    scenario = Scenario(8, restarts=restarts, reshardings=changes, seed=seed, restart_seconds=0.5)
    shape = ClusterShape(2, groups, brokers=3, replication=2)
    result = simulate(divided(), shape, LOAD, 300, scenario)
    assert result.ranked == result.documents == 2400
    assert {recovery.what for recovery in result.recoveries} == {"restart", "re-sharding"}


def test_a_restart_takes_start_snapshot_and_replay() -> None:
    costs = costs_of(lane_perceptron={"1": SERVICE_US})
    scenario = Scenario(
        20, False, 0.0, (Restart(9.0, WORKER),), snapshot_seconds=5.0, restart_seconds=2.0,
        load_bytes_per_second=1e15,
    )  # fmt: skip
    (recovery,) = simulate(costs, ClusterShape(1, shards(1), max_block=1), LOAD, 200,
                           scenario).recoveries  # fmt: skip
    replayed = 200 * 4 * SERVICE_US / 1e6  # what came since the snapshot at 5 s
    assert recovery.working == pytest.approx(2.0 + replayed, abs=0.02)
    behind = 200 * recovery.working
    assert recovery.caught_up == pytest.approx(recovery.working + behind / (1000 - 200), rel=0.05)


def test_bytes_of_brokers_add_up() -> None:
    costs = costs_of(log_bytes={"1": 100.0}, event_bytes={"1": 50.0}, ranking_bytes={"1": 10.0})
    shape = ClusterShape(1, (*shards(1), *shards(1)), brokers=3, replication=3)
    result = simulate(costs, shape, LOAD, 100, Scenario(10, False, 0.0))
    into = sum(i for i, _ in result.broker_bytes) * result.seconds
    out = sum(o for _, o in result.broker_bytes) * result.seconds
    written = result.documents * (100 + 50 + 2 * 10)
    assert into == pytest.approx(3 * written)
    assert out == pytest.approx(result.documents * (2 * 100 + 50 + 2 * 10) + 2 * written)


def test_a_cluster_of_the_largest_size() -> None:
    shape = ClusterShape(20, shards(100), brokers=5, replication=3)
    result = simulate(divided(), shape, LOAD, 2000, Scenario(0.5))
    assert result.ranked == result.documents == 1000
    assert len(result.broker_bytes) == 5
    assert result.waiting > 0.5


def test_what_cannot_be_played_is_refused() -> None:
    shape = ClusterShape(1, shards(2))
    with pytest.raises(UsageError, match="no worker 2"):
        simulate(divided(), shape, LOAD, 1, Scenario(restarts=(Restart(1, WORKER, 2),)))
    with pytest.raises(UsageError, match="no tokenizer 1"):
        simulate(divided(), shape, LOAD, 1, Scenario(restarts=(Restart(1, TOKENIZER, 1),)))
    for rate in (0.0, -1.0, float("nan"), 1e9):
        with pytest.raises(UsageError, match="between one document"):
            simulate(divided(), shape, LOAD, rate)
