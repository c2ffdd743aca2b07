"""What happens to a simulated cluster, and the world that its parts share."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from pipeline.planning.cluster import ClusterShape
from pipeline.planning.cost_model import Costs
from pipeline.planning.event_loop import Cores, EventLoop
from pipeline.planning.formula import Load

SLICE_SECONDS = 0.004  # how long a process of a busy machine runs until another one has its turn
TOKENIZER, WORKER = "tokenizer", "worker"  # what can be killed


@dataclass(frozen=True, slots=True)
class Restart:
    """A process is killed at a time: a tokenizer, or a worker (a shard of a group)."""

    at: float
    kind: str  # TOKENIZER or WORKER
    number: int = 0
    group: int = 0


@dataclass(frozen=True, slots=True)
class Resharding:
    """A lane gets another number of shards at a time."""

    at: float
    shards: int
    group: int = 0


@dataclass(frozen=True, slots=True)
class Scenario:
    """What happens to a cluster."""

    seconds: float = 30.0  # for which documents arrive
    poisson: bool = True  # arrivals at random; otherwise at equal distances
    spread: float = 0.1  # of the speed of processes, and of their steps (standard deviation of log)
    restarts: tuple[Restart, ...] = ()
    reshardings: tuple[Resharding, ...] = ()
    snapshot_seconds: float = 60.0
    restart_seconds: float = 2.0  # until a killed process runs again
    load_bytes_per_second: float = 5e8  # of a snapshot
    # All processes and the broker share this many cores; 0: each has its own. Not a whole number
    # if other programs take a part of the machine.
    shared_cores: float = 0.0
    broker_cores: int = 4
    vocabulary: int = 1 << 17
    seed: int = 1


@dataclass(slots=True)
class World:
    """What all parts of a simulation share."""

    costs: Costs
    shape: ClusterShape
    load: Load
    scenario: Scenario
    loop: EventLoop = field(default_factory=EventLoop)
    _shared: Cores | None = None
    _generators: count[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        if self.scenario.shared_cores:
            cores = math.ceil(self.scenario.shared_cores)
            slowness = cores / self.scenario.shared_cores
            self._shared = Cores(self.loop, cores, SLICE_SECONDS, slowness)

    def new_cores(self, count: int = 1) -> Cores:
        """The cores of one process, or those that all processes share."""
        return self._shared or Cores(self.loop, count)

    def new_pace(self) -> Pace:
        """The pace of one process, which differs from that of others."""
        rng = np.random.default_rng([self.scenario.seed, next(self._generators)])
        return Pace(rng, self.scenario.spread)


class Pace:
    """How slow a process is: always, and in each of its steps."""

    def __init__(self, rng: np.random.Generator, spread: float) -> None:
        self._rng, self._spread = rng, spread
        self.always = float(rng.lognormal(0, spread)) if spread else 1.0

    def step(self, seconds: float) -> float:
        """The time of a step that would take so long at the usual pace."""
        if not self._spread:
            return seconds
        return seconds * self.always * float(self._rng.lognormal(0, self._spread))
