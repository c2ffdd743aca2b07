"""The learner workers of a simulated cluster: whole lanes, or the shards of a lane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pipeline.planning.cluster import JOINED_BYTES, JOINED_RECORDS, WorkerGroup
from pipeline.planning.event_loop import Cores, Process, Signal
from pipeline.planning.scenario import Pace, World
from pipeline.planning.simulated_log import Block, Brokers, SimulatedLog


class Recovery(NamedTuple):
    """What a restart or a change of shards cost."""

    what: str
    at: float
    working: float  # seconds until the lane computed again
    caught_up: float  # seconds until no more documents waited than before


class Exchange:
    """One exchange: complete when the parts of all shards are written."""

    def __init__(self, shards: int) -> None:
        self.missing = shards
        self.complete = Signal()


class BlockCosts(NamedTuple):
    """What a block costs one process, at the usual pace; times in seconds."""

    work: float
    exchanges: int
    client: float  # of one exchange
    broker: float  # of this process's part of one exchange
    payload: float  # bytes of one exchange


class Member:
    """One process of a group."""

    def __init__(self, cores: Cores, pace: Pace) -> None:
        self.cores, self.pace = cores, pace
        self.killed_at: float | None = None
        self.worked = 0.0
        self.waited = 0.0
        self.position = 0  # the block that it computes, or waits for


class GroupRun:
    """All processes of a group. They follow the log block by block, and meet at exchanges.

    A worker takes all blocks that wait together. Shards take as many as the first one says at an
    exchange.
    """

    def __init__(
        self,
        world: World,
        group: WorkerGroup,
        log: SimulatedLog,
        brokers: Brokers,
        joined: int = JOINED_RECORDS,
    ) -> None:
        self.ranked_at: list[float] = []  # per block
        self.recoveries: list[Recovery] = []
        self._world, self._loop, self._costs = world, world.loop, world.costs
        self._log, self._brokers = log, brokers
        self._exchanges: dict[tuple[int, int], Exchange] = {}
        self._known_costs: dict[tuple[int, int, int], BlockCosts] = {}
        self._joined = joined
        self._waiting: dict[int, int] = {}  # by position: the blocks to take together there
        self._stop_at: int | None = None  # the block at which the number of shards changes
        self._stopped = 0
        self._next_shards = 0
        self._changing = (0.0, 0)
        self._unfinished: list[tuple[str, float, float, int]] = []
        self._published = Signal()
        self._published.happened = True
        self._retired: list[Member] = []
        self._set_shards(group)

    def _set_shards(self, group: WorkerGroup) -> None:
        self._group = group
        self._members = [
            Member(self._world.new_cores(), self._world.new_pace()) for _ in range(group.shards)
        ]

    def start(self, first: int = 0, delay: float = 0.0) -> None:
        """Let all processes follow the log from a block on."""
        for shard in range(self._group.shards):
            self._loop.start(self._follow(shard, first), delay)

    def kill(self, at: float, shard: int) -> None:
        """Kill a process at a time."""

        def dying() -> Process:
            yield at
            if shard < len(self._members):
                self._members[shard].killed_at = self._loop.now

        self._loop.start(dying())

    def reshard(self, at: float, shards: int) -> None:
        """Stop all processes at a time, and go on with another number of them."""

        def changing() -> Process:
            yield at
            self._stop_at = 1 + max(member.position for member in self._members)
            self._next_shards = shards
            self._changing = (self._loop.now, self._behind())

        self._loop.start(changing())

    def utilisation(self, seconds: float) -> list[float]:
        """How busy each process was."""
        return [member.worked / seconds for member in (*self._members, *self._retired)]

    def waiting(self, seconds: float) -> list[float]:
        """The share of its time that each process waited for exchanges."""
        return [member.waited / seconds for member in (*self._members, *self._retired)]

    def _behind(self) -> int:
        """Documents in the log that are not ranked yet."""
        return documents_in(self._log.blocks[len(self.ranked_at) :])

    def _follow(self, shard: int, first: int) -> Process:
        """One process: compute block after block."""
        member, position = self._members[shard], first
        while True:
            member.position = position
            while position >= len(self._log.blocks):
                if self._log.is_complete:
                    return
                yield self._log.grown()
            if self._stop_at is not None and position >= self._stop_at:
                self._stop_member(position)
                return
            if member.killed_at is not None:
                yield from self._recover(member, position)
            if self._group.shards == 1:
                self._decide(position)
            blocks = self._log.blocks[position : position + self._waiting.get(position, 1)]
            yield from self._compute(shard, position, blocks)
            if shard == 0:
                yield self._published  # the rankings before these
                self._published = Signal()
                self._loop.start(self._publish(position, blocks, self._published))
            position += len(blocks)

    def _block_costs(self, size: int, blocks: int) -> BlockCosts:
        """What some documents cost that are taken together; computed once for each size."""
        group, costs = self._group, self._costs
        if group.shards > 1:
            blocks = 1  # shards join them to one
        key = (group.shards, size, blocks)
        if key not in self._known_costs:
            load = self._world.load._replace(block=size / blocks)
            exchanges = round(group.exchanges(costs, load))
            payload = group.payload(costs, load)
            given = group.load(load)._replace(payload=payload)
            self._known_costs[key] = BlockCosts(
                size * group.elapsed_us(costs, load, size) / 1e6,
                exchanges,
                costs.at("exchange client", given) / 1e6,
                costs.at("exchange broker", given) / 1e6 / group.shards,
                payload,
            )
        return self._known_costs[key]

    def _compute(self, shard: int, position: int, blocks: Sequence[Block]) -> Process:
        member = self._members[shard]
        costs = self._block_costs(documents_in(blocks), len(blocks))
        seconds = member.pace.step(costs.work)
        member.worked += seconds
        for number in range(costs.exchanges):
            yield from member.cores.use(seconds / costs.exchanges)
            if shard == 0 and number == costs.exchanges - 1:
                self._decide(position + len(blocks))
            yield from self._exchange(member, (position, number), costs)
        if not costs.exchanges:
            yield from member.cores.use(seconds)

    def _decide(self, position: int) -> None:
        """Decide how many blocks are taken together at a position."""
        size, count = 0.0, 0
        for block in self._log.blocks[position : position + self._joined]:
            load = self._world.load._replace(block=len(block.arrivals))
            size += len(block.arrivals) * self._costs.at("log bytes", load)
            if size > JOINED_BYTES:
                break
            count += 1
        self._waiting[position] = max(1, count)

    def _exchange(self, member: Member, number: tuple[int, int], costs: BlockCosts) -> Process:
        """Send a part, and wait for those of all others."""
        exchange = self._exchanges.setdefault(number, Exchange(self._group.shards))
        client = costs.client * member.pace.always
        member.worked += client
        began = self._loop.now
        yield from member.cores.use(client / 2)
        yield from self._brokers.work(self._brokers.scores, costs.broker)
        yield self._brokers.latency
        self._brokers.count_bytes(self._brokers.scores, costs.payload, self._group.shards)
        exchange.missing -= 1
        if exchange.missing == 0:
            del self._exchanges[number]
            self._loop.fire(exchange.complete)
        yield exchange.complete
        yield self._brokers.latency
        yield from member.cores.use(client / 2)
        member.waited += self._loop.now - began - client

    def _publish(self, position: int, blocks: Sequence[Block], published: Signal) -> Process:
        yield from self._log.publish(position, len(self._group.lanes), documents_in(blocks))
        self.ranked_at += [self._loop.now] * len(blocks)
        behind = self._behind() if self._unfinished else 0
        for what, at, working, before in [u for u in self._unfinished if behind <= u[3]]:
            self.recoveries.append(Recovery(what, at, working, self._loop.now - at))
            self._unfinished.remove((what, at, working, before))
        self._loop.fire(published)

    def _recover(self, member: Member, position: int) -> Process:
        """Start again: load the newest snapshot, and follow the log silently from there."""
        at = member.killed_at or 0.0
        member.killed_at = None
        before = self._behind()
        taken = at - at % self._world.scenario.snapshot_seconds
        silent = [b for b in self._log.blocks[:position] if b.appended > taken]
        yield (
            max(0.0, at + self._world.scenario.restart_seconds - self._loop.now)
            + self._load_seconds()
        )
        for block in silent:
            work = self._block_costs(len(block.arrivals), 1).work
            yield from member.cores.use(work * member.pace.always)
        self._unfinished.append(("restart", at, self._loop.now - at, max(before, 1)))

    def _load_seconds(self) -> float:
        """How long it takes to load the snapshot of one process."""
        scenario, topics = self._world.scenario, max(1, round(self._world.load.topics))
        memory = self._group.memory(scenario.vocabulary, topics)
        return memory / scenario.load_bytes_per_second

    def _stop_member(self, position: int) -> None:
        """Count a process that has stopped; the last one starts the new processes."""
        self._stopped += 1
        if self._stopped < self._group.shards:
            return
        at, before = self._changing
        lanes, threads = self._group.lanes, self._group.threads
        self._retired += self._members
        self._stop_at, self._stopped = None, 0
        self._set_shards(WorkerGroup(lanes, self._next_shards, threads))
        delay = self._world.scenario.restart_seconds + self._load_seconds()
        working = self._loop.now - at + delay
        self._unfinished.append(("re-sharding", at, working, max(before, 1)))
        self.start(position, delay)


def documents_in(blocks: Sequence[Block]) -> int:
    """The number of documents in some blocks."""
    return sum(len(block.arrivals) for block in blocks)
