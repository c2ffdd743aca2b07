"""Makes faults happen, and ends them again when their time is over."""

from __future__ import annotations

import heapq
import itertools
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

from kafka import TopicPartition
from kafka.errors import KafkaError

from deploy.kafka import BrokerError
from deploy.kafka.process import ProcessId
from tests.soak import configuration
from tests.soak.clock import set_clock
from tests.soak.cluster import SoakCluster
from tests.soak.configuration import Configuration
from tests.soak.disk import SnapshotDisk
from tests.soak.journal import Journal
from tests.soak.plan import BRIEF, KINDS, SHARDS, Fault
from tests.soak.processes import children, send
from tests.soak.workers import Workers, environment_of

ALL, NONE = ("*",), ()
PATIENCE_S = 8.0  # for a worker that is just being started
MAX_PARTITIONS = 8
MAX_DELAY_S = 0.4
Undo = Callable[[], None]


class SkippedError(Exception):
    """A fault that is not possible now; the message says why."""


class Faults:
    """What can go wrong, by kind; each method returns how to end it, or None."""

    def __init__(
        self,
        cluster: SoakCluster,
        workers: Workers,
        disk: SnapshotDisk,
        settings: Configuration,
        folder: Path,
        journal: Journal,
        more_partitions: Callable[[int], None],
        recreate: Callable[[], None],
    ) -> None:
        self._cluster, self._workers, self._disk = cluster, workers, disk
        self._settings, self._folder, self._journal = settings, folder, journal
        self._more_partitions, self._recreate = more_partitions, recreate
        self.partitions = settings.partitions
        self._active: list[tuple[float, int, dict[str, object], Undo]] = []
        self._numbers = itertools.count()
        self.happened: dict[str, int] = {}
        self.skipped = 0
        self._guest_left = 0.0

    def possible(self) -> list[str]:
        """The kinds that this machine allows."""
        needs = {
            "full-disk": self._disk.mounted,
            "slow-disk": self._disk.mounted,
        }
        known = [kind for kind in KINDS if hasattr(self, method_of(kind))]
        return [kind for kind in known if needs.get(kind, True)]

    # Injecting and ending

    def inject(self, fault: Fault) -> bool:
        """Make a fault happen; returns whether it did."""
        entry: dict[str, object] = {**fault.as_json(), "began": time.time()}
        try:
            touched, undo = getattr(self, method_of(fault.kind))(fault)
        except (SkippedError, BrokerError, KafkaError, OSError) as error:
            self.skipped += 1
            self._journal.write({**entry, "skipped": str(error)})
            return False
        entry["touches"] = list(touched)
        self.happened[fault.kind] = self.happened.get(fault.kind, 0) + 1
        if undo is None:
            self._journal.write({**entry, "ended": time.time()})
        else:
            due = time.monotonic() + fault.seconds
            heapq.heappush(self._active, (due, next(self._numbers), entry, undo))
        return True

    def end_due(self) -> None:
        """End the faults whose time is over."""
        while self._active and self._active[0][0] <= time.monotonic():
            self._end_first()

    def end_all(self) -> None:
        """End all faults now."""
        while self._active:
            self._end_first()

    def _end_first(self) -> None:
        _, _, entry, undo = heapq.heappop(self._active)
        undo()
        self._journal.write({**entry, "ended": time.time()})

    def _is_active(self, *kinds: str) -> bool:
        return any(entry["kind"] in kinds for _, _, entry, _ in self._active)

    # Workers

    def _pid(self, name: str) -> int:
        if name in SHARDS and int(name[-1]) >= self._settings.shards:
            name = SHARDS[0]
        pid = self._workers.pid(name, PATIENCE_S)
        if pid is None:
            raise SkippedError(f"{name} does not run")
        return pid

    @staticmethod
    def _touched(name: str) -> tuple[str, ...]:
        if name in SHARDS:
            return (configuration.SPLIT,)
        if name in BRIEF:
            return NONE
        if name == "learner":
            return (*configuration.WHOLE, *configuration.GUEST)
        return ALL

    def kill(self, fault: Fault) -> tuple[tuple[str, ...], Undo | None]:
        send(self._pid(fault.target), signal.SIGKILL)
        return self._touched(fault.target), None

    def stop(self, fault: Fault) -> tuple[tuple[str, ...], Undo | None]:
        pid = self._pid(fault.target)
        send(pid, signal.SIGSTOP)
        return self._touched(fault.target), lambda: void(send(pid, signal.SIGCONT))

    def kill_run(self, fault: Fault) -> tuple[tuple[str, ...], Undo | None]:
        """The supervisor alone: its workers must end too, or they would fight with the next."""
        pid = self._pid("run")
        below = [ProcessId.of(child) for child in children(pid)]
        send(pid, signal.SIGKILL)

        def count_orphans() -> None:
            orphans = [child for child in below if child is not None and child.alive()]
            for orphan in orphans:
                orphan.signal(signal.SIGKILL)
            if orphans:
                self._journal.write({"kind": "orphans", "at": time.time(), "count": len(orphans)})

        return ALL, count_orphans

    def tokenizer(self, fault: Fault) -> tuple[tuple[str, ...], Undo | None]:
        if self._is_active("tokenizer"):
            raise SkippedError("the further tokenizer runs already")
        number = fault.target.rpartition("-")[2]
        self._workers.start(
            fault.target, "tokenize", str(self._settings.whole_file), "--instance", number,
            environment=environment_of(self._folder / f"{fault.target}.clock"),
        )  # fmt: skip
        return ALL, lambda: void(self._workers.end(fault.target))

    # Brokers

    def _one_broker_at_a_time(self) -> None:
        if self._is_active("kill-broker", "leave-broker", "stop-broker", "cut", "mute"):
            raise SkippedError("another broker is away")
        if not self._cluster.in_sync():
            raise SkippedError("not all replicas are in sync")

    def kill_broker(self, fault: Fault) -> tuple[tuple[str, ...], Undo | None]:
        self._one_broker_at_a_time()
        broker = self._cluster.broker(fault.target)
        broker.kill()
        return ALL, broker.launch

    def leave_broker(self, fault: Fault) -> tuple[tuple[str, ...], Undo | None]:
        self._one_broker_at_a_time()
        broker = self._cluster.broker(fault.target)
        broker.stop()
        return ALL, broker.launch

    def stop_broker(self, fault: Fault) -> tuple[tuple[str, ...], Undo | None]:
        self._one_broker_at_a_time()
        broker = self._cluster.broker(fault.target)
        broker.pause()
        return ALL, broker.resume

    def leaders(self, fault: Fault) -> tuple[tuple[str, ...], Undo | None]:
        """Put the replicas of every partition into another order, and elect the first of them."""
        if not self._cluster.in_sync():
            raise SkippedError("not all replicas are in sync")
        rng = random.Random(fault.number)
        admin = self._cluster.admin()
        try:
            places = {
                TopicPartition(topic["name"], place["partition_index"]): place["replica_nodes"]
                for topic in admin.describe_topics()
                for place in topic["partitions"]
            }
            admin.alter_partition_reassignments(
                {place: rng.sample(nodes, len(nodes)) for place, nodes in places.items()}
            )
            admin.elect_leaders(0, raise_errors=False)
        finally:
            admin.close()
        return ALL, None

    # The network

    def delay(self, fault: Fault) -> tuple[tuple[str, ...], Undo | None]:
        self._cluster.delay(fault.target, 0.01 + MAX_DELAY_S * fault.strength)
        return ALL, lambda: self._cluster.delay(fault.target, 0.0)

    def cut(self, fault: Fault) -> tuple[tuple[str, ...], Undo | None]:
        self._one_broker_at_a_time()
        self._cluster.hold(fault.target, requests=True, answers=True)
        return ALL, lambda: self._cluster.hold(fault.target, requests=False, answers=False)

    def mute(self, fault: Fault) -> tuple[tuple[str, ...], Undo | None]:
        self._one_broker_at_a_time()
        self._cluster.hold(fault.target, requests=False, answers=True)
        return ALL, lambda: self._cluster.hold(fault.target, requests=False, answers=False)

    def reset(self, fault: Fault) -> tuple[tuple[str, ...], Undo | None]:
        self._cluster.reset(fault.target)
        return ALL, None

    # Disk and clock

    def full_disk(self, fault: Fault) -> tuple[tuple[str, ...], Undo | None]:
        if self._is_active("full-disk", "slow-disk"):
            raise SkippedError("the disk is full or slow already")
        self._disk.fill()
        return NONE, self._disk.free

    def slow_disk(self, fault: Fault) -> tuple[tuple[str, ...], Undo | None]:
        if self._is_active("full-disk", "slow-disk"):
            raise SkippedError("the disk is full or slow already")
        self._disk.freeze(fault.seconds)
        return NONE, lambda: time.sleep(0.2)

    def clock(self, fault: Fault) -> tuple[tuple[str, ...], Undo | None]:
        """From three hours back to three hours ahead."""
        path = self._folder / f"{fault.target}.clock"
        offset = round((fault.strength - 0.5) * 6 * 3600)
        set_clock(path, offset)
        return self._touched(fault.target), lambda: set_clock(path, 0)

    # Changes by operators

    def partition(self, fault: Fault) -> tuple[tuple[str, ...], Undo | None]:
        if self.partitions >= MAX_PARTITIONS:
            raise SkippedError(f"there are {MAX_PARTITIONS} partitions already")
        admin = self._cluster.admin()
        try:
            admin.create_partitions({f"{self._settings.stream}.documents": self.partitions + 1})
        finally:
            admin.close()
        self.partitions += 1
        self._more_partitions(self.partitions)
        return ALL, None

    def recreate(self, fault: Fault) -> tuple[tuple[str, ...], Undo | None]:
        self._recreate()
        return NONE, None

    def reshard(self, fault: Fault) -> tuple[tuple[str, ...], Undo | None]:
        """Another number of shards, from 1 to 3; 1 is a lane that a worker of its own has whole."""
        shards = 2 if self._settings.shards == 3 or fault.strength < 0.4 else 3
        if shards == self._settings.shards:
            shards = 1 if self._settings.shards == 2 else 2
        self.end_shards()
        self._settings.shards = shards
        self._settings.write()
        self.start_shards()
        return (configuration.SPLIT,), None

    def end_shards(self) -> None:
        """End the workers of the sharded lane."""
        self._workers.end(*SHARDS)

    def start_shards(self) -> None:
        """Start the workers of the sharded lane."""
        count = self._settings.shards
        for number, name in enumerate(SHARDS[:count]):
            shard = ["--shard", f"{number}/{count}"] if count > 1 else []
            where = ["learn", str(self._settings.split_file), "--lane", configuration.SPLIT]
            self._workers.start(
                name, *where, *shard,
                environment=environment_of(self._folder / f"{name}.clock"),
            )  # fmt: skip

    def lane(self, fault: Fault) -> tuple[tuple[str, ...], Undo | None]:
        self.toggle_guest()
        return ALL, None

    def toggle_guest(self) -> None:
        """Remove the lane that comes and goes, or bring it back; `run` is started again."""
        self.end_run()
        self._settings.guest = not self._settings.guest
        self._settings.write()
        self.start_run()
        if self._settings.guest:
            absence = {"kind": "absent", "touches": list(configuration.GUEST)}
            self._journal.write({**absence, "began": self._guest_left, "ended": time.time()})
        else:
            self._guest_left = time.time()

    def end_run(self) -> None:
        """End the supervisor and its workers."""
        self._workers.end("run")

    def start_run(self) -> None:
        """Start the supervisor of the tokenizers and of the learner."""
        self._workers.start(
            "run", "run", str(self._settings.whole_file), "--tokenizers", "2",
            environment=environment_of(self._folder / "run.clock"),
        )  # fmt: skip

    def restore(self) -> None:
        """End all faults, start what is down, and bring the lane back that was removed."""
        self.end_all()
        for broker in self._cluster.kafka.brokers:
            if not broker.running:
                broker.launch()
        if not self._settings.guest:
            self.toggle_guest()


def method_of(kind: str) -> str:
    """The name of the method that makes a fault of this kind."""
    return kind.replace("-", "_")


def void(_: object) -> None:
    """Forget a result."""
