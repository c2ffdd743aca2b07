"""The brokers and the log of a simulated cluster."""

from __future__ import annotations

from typing import NamedTuple

from learners.arrays import Floats
from pipeline.planning.cluster import append_seconds
from pipeline.planning.event_loop import Process, Signal
from pipeline.planning.scenario import World

LOG_SHARE = 1 / 3  # of a broker's work for a block; the rest is for documents and rankings


class Block(NamedTuple):
    """A block of the log."""

    arrivals: Floats  # when its documents arrived
    appended: float  # when it was written


class BlockCosts(NamedTuple):
    """What a block costs brokers."""

    work: float  # seconds
    log: float  # bytes
    events: float
    rankings: float  # bytes per lane


class Brokers:
    """Brokers with cores of their own, and a count of their bytes.

    The log is on broker 0, the scores on broker 1. Documents and rankings are on all of them.
    """

    def __init__(self, world: World) -> None:
        brokers, cores = world.shape.brokers, world.scenario.broker_cores
        self._cores = [world.new_cores(cores) for _ in range(brokers)]
        self._copies = min(world.shape.replication, brokers) - 1
        self.count = brokers
        self.scores = 1 % brokers
        self.latency = append_seconds(world.costs)
        self._in = [0.0] * brokers
        self._out = [0.0] * brokers

    def work(self, broker: int, seconds: float) -> Process:
        """Let a broker work."""
        yield from self._cores[broker].use(seconds)

    def count_bytes(self, broker: int, size: float, readers: int) -> None:
        """A record was written to a broker, copied to others, and read by some processes."""
        self._in[broker] += size
        self._out[broker] += size * (readers + self._copies)
        for copy in range(1, self._copies + 1):
            self._in[(broker + copy) % self.count] += size

    def count_everywhere(self, size: float, readers: int) -> None:
        """Records were written to partitions on all brokers."""
        for broker in range(self.count):
            self.count_bytes(broker, size / self.count, readers)

    def utilisation(self, seconds: float) -> list[float]:
        """How busy each broker was."""
        return [cores.utilisation(seconds) for cores in self._cores]

    def bytes_per_second(self, seconds: float) -> list[tuple[float, float]]:
        """Into and out of each broker."""
        return [
            (into / seconds, out / seconds) for into, out in zip(self._in, self._out, strict=True)
        ]


class SimulatedLog:
    """The log of blocks, in one order."""

    def __init__(self, world: World, brokers: Brokers, expected: int) -> None:
        self.blocks: list[Block] = []
        self.documents = 0  # that were written
        self._expected = expected  # documents that arrive in all
        self._loop, self._costs, self._shape = world.loop, world.costs, world.shape
        self._load, self._brokers = world.load, brokers
        self._grown = Signal()
        self._known_costs: dict[int, BlockCosts] = {}

    @property
    def first_append(self) -> float:
        """When the first block was written."""
        return self.blocks[0].appended if self.blocks else 0.0

    @property
    def is_complete(self) -> bool:
        """Whether all documents are in the log."""
        return self.documents >= self._expected

    def grown(self) -> Signal:
        """Happens when the next block is written."""
        return self._grown

    def append(self, arrivals: Floats, written: Signal) -> Process:
        """Write a block; fires `written` when the broker has confirmed it."""
        size = len(arrivals)
        costs = self._block_costs(size)
        yield from self._brokers.work(0, LOG_SHARE * costs.work)
        yield self._brokers.latency
        self._brokers.count_bytes(0, costs.log, self._shape.log_readers)
        self._brokers.count_everywhere(costs.events, 1)
        self.blocks.append(Block(arrivals, self._loop.now))
        self.documents += size
        grown, self._grown = self._grown, Signal()
        self._loop.fire(grown)
        self._loop.fire(written)

    def publish(self, number: int, lanes: int, documents: int) -> Process:
        """Publish the rankings of some documents."""
        costs = self._block_costs(documents)
        yield from self._brokers.work(number % self._brokers.count, (1 - LOG_SHARE) * costs.work)
        yield self._brokers.latency
        self._brokers.count_everywhere(lanes * costs.rankings, 1)

    def _block_costs(self, size: int) -> BlockCosts:
        """What a block of some documents costs brokers; computed once for each size."""
        if size not in self._known_costs:
            load, costs = self._load._replace(block=size), self._costs
            self._known_costs[size] = BlockCosts(
                size * costs.at("broker", load) / 1e6,
                size * costs.at("log bytes", load),
                size * costs.at("event bytes", load),
                size * self._shape.ranking_bytes(costs),
            )
        return self._known_costs[size]
