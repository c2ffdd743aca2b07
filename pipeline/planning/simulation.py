"""Plays a cluster by the cost model: blocks flow from tokenizers over the log to shards.

Every block goes through these steps:

1. Documents arrive. A tokenizer takes all that wait, and writes them to the log as one block.
2. Every process that reads the log computes its part of the block. The shards of a lane exchange
   what the model says, and at each exchange all of them wait for the slowest.
3. The first shard publishes the rankings. With that, the documents of the block are ranked.

A broker has the work of blocks, rankings and exchanges; that of a block is counted one third where
the log is, two thirds where its rankings are. Processes may be slower than others (stragglers),
may be killed and restarted, and a lane may get another number of shards. Both take effect when a
process has computed its current block. The result depends only on the arguments and the seed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from learners.arrays import Floats
from learners.specs import LaneSpec
from pipeline.errors import UsageError
from pipeline.planning.cluster import JOINED_RECORDS, ClusterShape, WorkerGroup
from pipeline.planning.cost_model import Costs
from pipeline.planning.formula import Load
from pipeline.planning.scenario import WORKER, Scenario, World
from pipeline.planning.simulated_log import Brokers, SimulatedLog
from pipeline.planning.simulated_tokenizer import Tokenizer
from pipeline.planning.simulated_worker import GroupRun, Recovery


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """How the cluster did."""

    documents: int
    ranked: int  # documents for which every lane has published a ranking
    seconds: float  # from the first arrival to the last ranking
    blocks: int
    documents_per_second: float
    latency: dict[
        str, float
    ]  # seconds from arrival to the last lane's ranking: mean, p50, p99, most
    utilisation: dict[str, float]  # of tokenizers, workers and the busiest broker
    waiting: float  # share of the time that shards wait for exchanges
    broker_bytes: list[tuple[float, float]]  # per second: into and out of each broker
    recoveries: list[Recovery] = field(default_factory=list)
    events: int = 0


def simulate(
    costs: Costs, shape: ClusterShape, load: Load, rate: float, scenario: Scenario | None = None
) -> SimulationResult:
    """Play documents that arrive at a rate (per second), until all of them are ranked."""
    scenario = scenario or Scenario()
    check(shape, rate, scenario)
    world = World(costs, shape, load, scenario)
    return Simulation(world, arrivals_of(rate, scenario)).run()


def simulate_backlog(
    costs: Costs,
    lane: LaneSpec,
    load: Load,
    documents: int,
    cores: float,
    joined: int = JOINED_RECORDS,
) -> float:
    """Documents per second for a backlog, with all processes and the broker on one machine.

    From the first block to the last ranking, as a real run is measured.
    """
    group = WorkerGroup((lane,), int(load.shards))
    shape = ClusterShape(1, (group,), max_block=max(1, round(load.block)), joined=joined)
    scenario = Scenario(spread=0.0, shared_cores=cores)
    played = Simulation(World(costs, shape, load, scenario), np.zeros(documents))
    result = played.run()
    return documents / (result.seconds - played.log.first_append)


def check(shape: ClusterShape, rate: float, scenario: Scenario) -> None:
    """Refuse what cannot be played."""
    if not rate > 0 or not scenario.seconds > 0 or rate * scenario.seconds > 5e7:
        raise UsageError("A simulation needs between one document and 50 million documents.")
    for restart in scenario.restarts:
        count = shape.tokenizers
        if restart.kind == WORKER:
            count = shape.groups[restart.group].shards
        if not 0 <= restart.number < count:
            raise UsageError(f"There is no {restart.kind} {restart.number} that could be killed.")


def arrivals_of(rate: float, scenario: Scenario) -> Floats:
    """The times at which documents arrive, in order."""
    documents = max(1, round(rate * scenario.seconds))
    if not scenario.poisson:
        return np.arange(documents) / rate
    gaps = np.random.default_rng([scenario.seed, 0]).exponential(1 / rate, documents)
    return np.cumsum(gaps)


class Simulation:
    """One run."""

    def __init__(self, world: World, arrivals: Floats) -> None:
        self._world, self._arrivals = world, arrivals
        self._brokers = Brokers(world)
        self.log = SimulatedLog(world, self._brokers, len(arrivals))
        tokenizers = world.shape.tokenizers
        self._tokenizers = [
            Tokenizer(world, self.log, arrivals[i::tokenizers]) for i in range(tokenizers)
        ]
        self._groups = [
            GroupRun(world, group, self.log, self._brokers, world.shape.joined)
            for group in world.shape.groups
        ]

    def run(self) -> SimulationResult:
        """Let everything happen until all documents are ranked."""
        scenario = self._world.scenario
        for tokenizer in self._tokenizers:
            self._world.loop.start(tokenizer.run())
        for group in self._groups:
            group.start()
        for restart in scenario.restarts:
            if restart.kind == WORKER:
                self._groups[restart.group].kill(restart.at, restart.number)
            else:
                self._tokenizers[restart.number].kill(restart.at)
        for change in scenario.reshardings:
            self._groups[change.group].reshard(change.at, change.shards)
        self._world.loop.run()
        return self._result()

    def _result(self) -> SimulationResult:
        blocks = self.log.blocks
        done = [group.ranked_at for group in self._groups]
        ranked = min(len(times) for times in done)
        last = [max(times[i] for times in done) for i in range(ranked)]
        delays = np.concatenate(
            [last[i] - block.arrivals for i, block in enumerate(blocks[:ranked])] or [np.zeros(1)]
        )
        seconds = float(max(max(last, default=0.0), self._arrivals[-1]))
        documents = sum(len(block.arrivals) for block in blocks[:ranked])
        p50, p99 = np.percentile(delays, [50, 99])
        busy = [tokenizer.cores.utilisation(seconds) for tokenizer in self._tokenizers]
        worked = [use for group in self._groups for use in group.utilisation(seconds)]
        waited = [share for group in self._groups for share in group.waiting(seconds)]
        recoveries = [recovery for group in self._groups for recovery in group.recoveries]
        return SimulationResult(
            len(self._arrivals), documents, seconds, len(blocks), documents / seconds,
            {"mean": float(delays.mean()), "p50": float(p50), "p99": float(p99),
             "most": float(delays.max())},
            {
                "tokenizer": float(np.mean(busy)),
                "worker": float(np.max(worked)),
                "broker": max(self._brokers.utilisation(seconds)),
            },
            float(np.mean(waited)),
            self._brokers.bytes_per_second(seconds),
            sorted(recoveries, key=lambda recovery: recovery.at),
            self._world.loop.events,
        )  # fmt: skip
