"""What a stream needs: tokenizers, workers, shards, cores, memory, brokers and disks."""

from __future__ import annotations

from dataclasses import dataclass, replace

from learners.specs import LEARNERS, LaneSpec
from pipeline.errors import UsageError
from pipeline.planning.cluster import (
    ClusterShape,
    WorkerGroup,
    bytes_per_document,
    documents_per_block,
)
from pipeline.planning.cost_model import (
    MOST_SHARDS,
    PROGRAM_BYTES,
    Costs,
    can_be_divided,
    has_columns,
    whole,
)
from pipeline.planning.formula import Load

DAY = 86_400
FULL_BLOCK = 1000  # documents per block, at most
GIB = 2**30
BROKER_CORES = 4  # that a broker is planned with
TOKENIZER_BYTES = PROGRAM_BYTES + 200e6
MOST = {"documents per second": 1e6, "topics": 1e6, "terms per document": 1e5}


@dataclass(frozen=True, slots=True)
class Demand:
    """What a user has: a stream, and machines."""

    documents_per_second: float  # at its peak
    topics: int
    lanes: tuple[LaneSpec, ...]
    terms: int = 125  # different terms per document
    vocabulary: int = 1 << 17  # `max_terms`
    cores_per_machine: int = 8
    memory_per_machine: float = 32.0  # GiB
    headroom: float = 2.0  # capacity, as a multiple of the rate
    replication: int = 3
    top: int = 10
    log_days: float | None = None  # how long the log is kept; None: for ever

    def __post_init__(self) -> None:
        given = {
            "documents per second": self.documents_per_second,
            "topics": self.topics,
            "terms per document": self.terms,
        }
        for name, value in given.items():
            if not 0 < value <= MOST[name]:
                raise UsageError(
                    f"The number of {name} must be above 0 and at most {MOST[name]:,.0f}."
                )
        if not self.lanes:
            raise UsageError("A plan needs at least one lane.")
        if not self.headroom >= 1:
            raise UsageError("The headroom is a multiple of the rate: at least 1.")
        for lane in self.lanes:
            if lane.shards > 1:
                raise UsageError(
                    f"Leave out shards of lane {lane.name}: the plan finds the number."
                )

    def load(self, block: float = 1) -> Load:
        """The load of one process, before it is divided."""
        return Load(topics=self.topics, terms=self.terms, block=block)


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """A learner worker, or the shards of a lane."""

    group: WorkerGroup
    capacity: float  # documents per second
    memory: float  # bytes of each process
    utilisation: float  # of the capacity


@dataclass(frozen=True, slots=True)
class Plan:
    """What a stream needs."""

    demand: Demand
    tokenizers: int
    tokenizer_capacity: float
    workers: tuple[WorkerPlan, ...]
    brokers: int
    machines: int  # for tokenizers and workers, without brokers
    cores: int  # that are busy or kept free, of these machines
    block: float  # documents per block at this rate
    bytes_per_document: dict[str, float]  # by Kafka topic, before replication
    broker_in: float  # bytes per second into each broker
    broker_out: float
    stored_per_day: float  # bytes of log and rankings on all brokers together
    log_bytes: float | None  # that are kept; None: the log grows for ever
    one_core: float  # documents per second if one core did everything
    limit: str  # what is full first
    limit_rate: float  # and at how many documents per second

    @property
    def shape(self) -> ClusterShape:
        """The cluster, as the simulation takes it."""
        return ClusterShape(
            self.tokenizers,
            tuple(worker.group for worker in self.workers),
            self.brokers,
            min(self.demand.replication, self.brokers),
            top=self.demand.top,
        )


class NoPlanError(UsageError):
    """No number of shards and threads is enough; the message says what would help."""


def make_plan(costs: Costs, demand: Demand) -> Plan:
    """The smallest cluster that has the headroom, as far as the model knows."""
    wanted = demand.documents_per_second * demand.headroom
    tokenizers = count_tokenizers(costs, demand, wanted)
    rate = demand.documents_per_second
    block = documents_per_block(costs, demand.load(), rate, tokenizers)
    # Blocks grow with the rate, so capacity is what the cluster does with the blocks it then has.
    full = documents_per_block(costs, demand.load(), wanted, tokenizers)
    load = demand.load(full)
    groups = plan_groups(costs, demand, load, wanted)
    workers = tuple(
        WorkerPlan(
            group, capacity := group.capacity(costs, load),
            group.memory(demand.vocabulary, demand.topics), rate / capacity,
        )
        for group in groups
    )  # fmt: skip
    now = demand.load(block)
    sizes = bytes_per_document(costs, now, groups, demand.top)
    brokers, into, out = plan_brokers(costs, demand, now, groups, sizes)
    # A tokenizer that is busy takes larger blocks, which cost less per document.
    tokenizer_capacity = tokenizers * 1e6 / costs.tokenizer_us(demand.load(FULL_BLOCK))
    stages = {f"worker of {worker.group.name}": worker.capacity for worker in workers}
    stages["tokenizers"] = tokenizer_capacity
    limit = min(stages, key=lambda stage: stages[stage])
    kept = sizes["log"] + sizes["rankings"]
    copies = min(demand.replication, brokers)
    machines = count_machines(demand, tokenizers, workers)
    return Plan(
        demand, tokenizers, tokenizer_capacity, workers, brokers, machines,
        tokenizers + sum(group.shards * group.threads for group in groups),
        block, sizes, into, out, rate * DAY * kept * copies,
        None if demand.log_days is None else rate * DAY * demand.log_days * sizes["log"] * copies,
        one_core_rate(costs, demand), limit, stages[limit],
    )  # fmt: skip


def count_tokenizers(costs: Costs, demand: Demand, wanted: float) -> int:
    """Tokenizers that together reach a rate with full blocks; each uses one core."""
    each = 1e6 / costs.tokenizer_us(demand.load(FULL_BLOCK))
    return max(1, -int(-wanted // each))


def plan_groups(costs: Costs, demand: Demand, load: Load, wanted: float) -> tuple[WorkerGroup, ...]:
    """One worker with all lanes if that is enough; otherwise each lane has its own processes."""
    memory = demand.memory_per_machine * GIB
    for threads in range(1, demand.cores_per_machine + 1):
        group = WorkerGroup(demand.lanes, 1, threads)
        enough = group.capacity(costs, load) >= wanted
        if enough and group.memory(demand.vocabulary, demand.topics) <= memory:
            return (group,)
    stackers = [lane.name for lane in demand.lanes if lane.is_stacker]
    if stackers:
        raise NoPlanError(
            f"One process is not enough, and lane {stackers[0]} needs the lanes that it combines "
            f"in its own process. It does {group.capacity(costs, load):,.0f} documents per second "
            f"with {demand.cores_per_machine} cores. Leave out that lane, or a lane that is large."
        )
    return tuple(divide(costs, demand, lane, load, wanted) for lane in demand.lanes)


def divide(costs: Costs, demand: Demand, lane: LaneSpec, load: Load, wanted: float) -> WorkerGroup:
    """Shards and threads for a lane: the fewest cores that reach the rate, then fewest shards."""
    memory = demand.memory_per_machine * GIB
    most_shards = min(MOST_SHARDS, demand.topics) if can_be_divided(lane) else 1
    most_threads = demand.cores_per_machine if has_columns(lane) else 1
    best: WorkerGroup | None = None
    fastest = (0.0, WorkerGroup((lane,)))
    fits_once = False
    for shards in range(1, most_shards + 1):
        if WorkerGroup((lane,), shards).memory(demand.vocabulary, demand.topics) > memory:
            continue
        fits_once = True
        for threads in range(1, most_threads + 1):
            group = WorkerGroup((lane,), shards, threads)
            capacity = group.capacity(costs, load)
            fastest = max(fastest, (capacity, group), key=lambda pair: pair[0])
            cores = shards * threads
            if capacity >= wanted and (best is None or cores < best.shards * best.threads):
                best = group
    if best is not None:
        return best
    raise NoPlanError(why_not(demand, lane, fits_once, fastest))


def why_not(demand: Demand, lane: LaneSpec, fits: bool, fastest: tuple[float, WorkerGroup]) -> str:
    """Say why a lane cannot reach a rate, and what would help."""
    if not fits:
        needed = WorkerGroup((lane,), 1).memory(demand.vocabulary, demand.topics) / GIB
        reason = LEARNERS[lane.learner].unshardable
        cannot = f" {lane.learner} cannot be divided: {reason}" if reason else ""
        return (
            f"Lane {lane.name} needs {needed:,.1f} GiB, and a machine has "
            f"{demand.memory_per_machine:g}.{cannot} Lower the vocabulary or the topics, or take "
            "machines with more memory."
        )
    rate, group = fastest
    return (
        f"Lane {lane.name} reaches {rate:,.0f} documents per second at most, with {group.shards} "
        f"shard(s) of {group.threads} thread(s), and {demand.documents_per_second:g} times "
        f"{demand.headroom:g} are wanted. Use a cheaper learner (feature-focus for very many "
        "topics), fewer topics, less headroom, or divide the stream."
    )


def plan_brokers(
    costs: Costs,
    demand: Demand,
    load: Load,
    groups: tuple[WorkerGroup, ...],
    sizes: dict[str, float],
) -> tuple[int, float, float]:
    """Brokers, and bytes per second into and out of each of them."""
    rate = demand.documents_per_second
    microseconds = costs.at("broker", load)
    readers = sum(group.shards for group in groups)
    out = sizes["documents"] + sizes["log"] * readers + sizes["rankings"]
    for group in groups:
        payload = group.payload(costs, load)
        exchanges = group.exchanges(costs, load) / load.block
        exchange = costs.at("exchange broker", group.load(load)._replace(payload=payload))
        microseconds += exchanges * exchange
        out += group.exchange_bytes(costs, load) * group.shards
    busy = rate * demand.headroom * microseconds / 1e6 / BROKER_CORES
    brokers = max(demand.replication, -int(-busy // 1))
    copies = min(demand.replication, brokers)
    written = rate * sum(sizes.values())
    return brokers, written * copies / brokers, (rate * out + written * (copies - 1)) / brokers


def count_machines(demand: Demand, tokenizers: int, workers: tuple[WorkerPlan, ...]) -> int:
    """Machines for all processes: the largest first, each where it still fits."""
    processes = [(1, TOKENIZER_BYTES)] * tokenizers
    for worker in workers:
        processes += [(worker.group.threads, worker.memory)] * worker.group.shards
    free: list[tuple[float, float]] = []
    for cores, memory in sorted(processes, reverse=True):
        for number, (cores_left, memory_left) in enumerate(free):
            if cores <= cores_left and memory <= memory_left:
                free[number] = (cores_left - cores, memory_left - memory)
                break
        else:
            machine = (demand.cores_per_machine, demand.memory_per_machine * GIB)
            free.append((machine[0] - cores, machine[1] - memory))
    return len(free)


def one_core_rate(costs: Costs, demand: Demand) -> float:
    """Documents per second if one core did everything, in full blocks and without headroom."""
    load = demand.load(FULL_BLOCK)
    group = WorkerGroup(tuple(replace(whole(lane)) for lane in demand.lanes))
    return 1e6 / (costs.tokenizer_us(load) + group.core_us(costs, load))
