"""A cluster on paper: which workers there are, and what a block costs each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from learners.specs import LaneSpec
from pipeline.planning.cost_model import Costs, worker_bytes
from pipeline.planning.formula import Load

# The records of the log that a worker which is behind takes together, at most: shards as one block
# (see `consumers.sharding.shared_blocks`), others to publish them in one transaction.
JOINED_RECORDS, JOINED_BYTES = 64, 1 << 20
# The part of what a record of the log costs a worker that is due to its transaction. A worker that
# was behind took 360 us per document with records of 20 documents, and 650 us otherwise.
TRANSACTION_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class WorkerGroup:
    """One learner worker with some undivided lanes, or all shards of one lane."""

    lanes: tuple[LaneSpec, ...]
    shards: int = 1
    threads: int = 1  # cores that each process can use

    @property
    def name(self) -> str:
        """The names of its lanes."""
        return ", ".join(lane.name for lane in self.lanes)

    def load(self, load: Load) -> Load:
        """The load of one process."""
        return load._replace(shards=self.shards)

    def core_us(self, costs: Costs, load: Load) -> float:
        """Core time per document of one process, exchanges included."""
        load = self.load(load)
        lanes = sum(costs.shard_us(lane, load) for lane in self.lanes)
        return costs.worker_us(load) + lanes + self._exchange_core_us(costs, load)

    def elapsed_us(self, costs: Costs, load: Load, together: float = 0.0) -> float:
        """Time by the clock per document of one process, without exchanges.

        The lanes of a worker run side by side, and share its cores. `together` is the number of
        documents that are published in one transaction, if these are more than a block.
        """
        load = self.load(load)
        each = max(1, self.threads // len(self.lanes))
        longest = max(costs.elapsed_us(lane, load, each) for lane in self.lanes)
        total = sum(costs.shard_us(lane, load) for lane in self.lanes)
        published = costs.worker_us(load._replace(block=max(load.block, together)))
        worker = TRANSACTION_SHARE * published + (1 - TRANSACTION_SHARE) * costs.worker_us(load)
        return worker + max(longest, total / self.threads)

    def exchanges(self, costs: Costs, load: Load) -> float:
        """Exchanges per block."""
        return costs.exchanges(self.lanes[0], self.load(load))

    def payload(self, costs: Costs, load: Load) -> float:
        """Bytes that a shard sends in one exchange."""
        return costs.payload(self.lanes[0], self.load(load))

    def exchange_us(self, costs: Costs, load: Load) -> float:
        """Time by the clock per document for exchanges, if no shard has to wait for a slow one."""
        exchanges = self.exchanges(costs, load)
        if not exchanges:
            return 0.0
        payload = self.payload(costs, load)
        return exchanges * costs.exchange_us(self.load(load)._replace(payload=payload)) / load.block

    def exchange_bytes(self, costs: Costs, load: Load) -> float:
        """Bytes per document that all shards together send."""
        sent = self.shards * self.exchanges(costs, load) * self.payload(costs, load)
        return sent / load.block

    def _exchange_core_us(self, costs: Costs, load: Load) -> float:
        exchanges = self.exchanges(costs, load)
        if not exchanges:
            return 0.0
        payload = self.payload(costs, load)
        return exchanges * costs.at("exchange client", load._replace(payload=payload)) / load.block

    def capacity(self, costs: Costs, load: Load) -> float:
        """Documents per second of this group alone, at most: if it is behind."""
        most = JOINED_BYTES / max(1.0, costs.at("log bytes", load))
        together = max(load.block, min(JOINED_RECORDS * load.block, most))
        if self.shards > 1:
            load = load._replace(block=together)
        return 1e6 / (self.elapsed_us(costs, load, together) + self.exchange_us(costs, load))

    def memory(self, terms: int, topics: int) -> float:
        """Bytes of one process."""
        return worker_bytes(self.lanes, terms, -(-topics // self.shards))


@dataclass(frozen=True, slots=True)
class ClusterShape:
    """All processes of a stream, and the brokers."""

    tokenizers: int
    groups: tuple[WorkerGroup, ...]
    brokers: int = 1
    replication: int = 1
    max_block: int = 1000  # documents per block, at most
    joined: int = JOINED_RECORDS  # blocks that a worker takes together, at most
    top: int = 10  # topics per ranking

    @property
    def log_readers(self) -> int:
        """Processes that read the log."""
        return sum(group.shards for group in self.groups)

    @property
    def published(self) -> int:
        """Lanes whose rankings are published."""
        return sum(len(group.lanes) for group in self.groups)

    def ranking_bytes(self, costs: Costs) -> float:
        """Bytes of a published ranking, as the mean of all lanes."""
        return rankings_bytes(costs, self.groups, self.top) / self.published


def documents_per_block(
    costs: Costs, load: Load, rate: float, tokenizers: int, most: int = 1000
) -> float:
    """The size of blocks at a rate: what has arrived while the block before was on its way.

    A tokenizer takes all documents that wait. So blocks are small while it has little to do, and
    grow until it can keep up.
    """
    each = rate / max(1, tokenizers)
    single = load._replace(block=1)
    per_document = costs.tokenizer_us(single._replace(block=float(most))) / 1e6
    overhead = max(0.0, costs.tokenizer_us(single) / 1e6 - per_document) + append_seconds(costs)
    if each * per_document >= 1:
        return float(most)
    return min(float(most), max(1.0, each * overhead / (1 - each * per_document)))


def append_seconds(costs: Costs) -> float:
    """Time by the clock until a record is written: half of an exchange, which also reads it."""
    return costs.at("exchange latency", Load()) / 2e6


def bytes_per_document(
    costs: Costs, load: Load, groups: Sequence[WorkerGroup], top: int
) -> dict[str, float]:
    """Bytes per document that are written to each Kafka topic, before replication."""
    return {
        "documents": costs.at("event bytes", load),
        "log": costs.at("log bytes", load),
        "rankings": rankings_bytes(costs, groups, top),
        "scores": sum(group.exchange_bytes(costs, load) for group in groups),
    }


def rankings_bytes(costs: Costs, groups: Sequence[WorkerGroup], top: int) -> float:
    """Bytes of the rankings that all lanes publish for one document."""
    return sum(costs.ranking_bytes(lane, top) for group in groups for lane in group.lanes)
