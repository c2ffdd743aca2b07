"""Draws faults from a seed: the same seed and the same kinds always give the same sequence."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

BROKERS = ("broker-1", "broker-2", "broker-3")
TOKENIZERS = ("tokenizer-0", "tokenizer-1")
LEARNER = "learner"
SHARDS = ("shard-0", "shard-1", "shard-2")
BRIEF = ("brief-tokenizer", "brief-learner")  # of the stream whose documents topic is replaced
WORKERS = (*TOKENIZERS, LEARNER, *SHARDS, *BRIEF)
MACHINES = ("run", *SHARDS, *BRIEF)  # processes with a clock of their own


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of fault: how often it is drawn, what it may hit, and how long it lasts."""

    weight: int
    targets: tuple[str, ...]
    shortest_s: float = 0.0
    longest_s: float = 0.0
    what: str = ""


KINDS = {
    "kill": Kind(20, WORKERS, what="kill -9 of a worker"),
    "stop": Kind(12, WORKERS, 1.0, 15.0, "SIGSTOP of a worker, then SIGCONT"),
    "kill-run": Kind(4, ("run",), 10.0, 10.0, "kill -9 of the supervisor, whose workers must end"),
    "kill-broker": Kind(8, BROKERS, 0.0, 6.0, "kill -9 of a broker, then a start"),
    "stop-broker": Kind(6, BROKERS, 1.0, 9.0, "SIGSTOP of a broker, then SIGCONT"),
    "leave-broker": Kind(3, BROKERS, 0.0, 2.0, "clean shutdown of a broker, then a start"),
    "leaders": Kind(6, ("cluster",), what="other leaders for all partitions"),
    "delay": Kind(5, BROKERS, 3.0, 12.0, "delay between clients and a broker"),
    "cut": Kind(5, BROKERS, 1.0, 10.0, "no byte passes between clients and a broker"),
    "mute": Kind(5, BROKERS, 1.0, 10.0, "requests reach a broker, its answers are held back"),
    "reset": Kind(4, BROKERS, what="all connections between clients and a broker are closed"),
    "full-disk": Kind(4, ("disk",), 3.0, 15.0, "the disk of the snapshots is full"),
    "slow-disk": Kind(4, ("disk",), 2.0, 10.0, "writes to the disk of the snapshots hang"),
    "clock": Kind(5, MACHINES, 5.0, 25.0, "the clock of a worker is set hours ahead or back"),
    "tokenizer": Kind(4, ("tokenizer-9",), 4.0, 20.0, "another tokenizer joins, then leaves"),
    "partition": Kind(1, ("documents",), what="a partition is added to the documents"),
    "reshard": Kind(3, ("shards",), what="the sharded lane gets another number of shards"),
    "lane": Kind(3, ("lanes",), what="a lane is added or removed"),
    "recreate": Kind(3, ("brief",), what="a documents topic is deleted and created again"),
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: how long after the one before it begins, what it does to whom, for how long."""

    number: int
    pause: float  # as a multiple of the usual pause
    kind: str
    target: str
    seconds: float
    strength: float  # from 0 to 1; each kind makes of it what it needs

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def draw_faults(seed: int, kinds: Iterable[str] = tuple(KINDS)) -> Iterator[Fault]:
    """An endless sequence of faults.

    >>> import itertools
    >>> first, again = (list(itertools.islice(draw_faults(7), 50)) for _ in range(2))
    >>> first == again
    True
    """
    wanted = sorted(set(kinds), key=list(KINDS).index)
    weights = [KINDS[name].weight for name in wanted]
    rng = random.Random(f"faults of {seed}")
    number = 0
    while True:
        number += 1
        (name,) = rng.choices(wanted, weights)
        kind = KINDS[name]
        seconds = rng.uniform(kind.shortest_s, kind.longest_s)
        yield Fault(
            number,
            round(rng.uniform(0.2, 1.8), 3),
            name,
            rng.choice(kind.targets),
            round(seconds, 3),
            round(rng.random(), 3),
        )
