"""The settings of one node, suited to development and tests on a loopback."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deploy.kafka.ports import LOOPBACK


@dataclass(frozen=True)
class Options:
    """What a caller may change."""

    heap_mb: int = 384
    """The most that Java's heap may grow to; the process takes about 100 MB more."""
    quick: bool = True
    """Compile fast rather than well: half the start time, slower under a long load."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Further lines of the broker's configuration, or others in place of ours."""
    start_timeout: float = 90.0
    stop_timeout: float = 20.0
    detached: bool = False
    """Let the brokers live on when this process ends."""

    record: Path | None = None
    """Note here, when the broker stops, which classes it has loaded."""

    def java_options(self) -> list[str]:
        """What these options mean to Java."""
        options = ["-XX:TieredStopAtLevel=1"] if self.quick else []
        return [*options, f"-XX:ArchiveClassesAtExit={self.record}"] if self.record else options


@dataclass(frozen=True)
class Address:
    """Where one node listens: for clients and other brokers, and for the quorum."""

    node: int
    port: int
    controller_port: int


def properties(
    this: Address, everyone: Sequence[Address], data: Path, extra: Mapping[str, str]
) -> str:
    """The text of `server.properties`."""
    copies = min(3, len(everyone))
    in_sync = 2 if copies == 3 else 1
    voters = ",".join(f"{a.node}@{LOOPBACK}:{a.controller_port}" for a in everyone)
    settings: dict[str, object] = {
        "node.id": this.node,
        "process.roles": "broker,controller",
        "controller.quorum.voters": voters,
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://{LOOPBACK}:{this.port},"
        f"CONTROLLER://{LOOPBACK}:{this.controller_port}",
        "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{this.port}",
        "log.dirs": data,
        # A topic exists because somebody created it, never because somebody mistyped it.
        "auto.create.topics.enable": "false",
        "num.partitions": 1,
        "default.replication.factor": copies,
        "min.insync.replicas": in_sync,
        # The internal topics: as safe as this cluster can be, and small, since each of their
        # partitions costs time when a coordinator moves or comes back.
        "offsets.topic.replication.factor": copies,
        "offsets.topic.num.partitions": 4,
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": in_sync,
        "transaction.state.log.num.partitions": 4,
        "share.coordinator.state.topic.replication.factor": copies,
        "share.coordinator.state.topic.min.isr": in_sync,
        "share.coordinator.state.topic.num.partitions": 4,
        # Records carry the time of their documents, which may be decades ago: retention by
        # time would delete them at once. A topic that wants it says so itself.
        "log.retention.ms": -1,
        # Do not wait: for further members of a group, for the transactions of the dead, for
        # the previous life of a broker that was killed (until that session has timed out, the
        # controller refuses the new one, and by default that takes 9 s).
        "group.initial.rebalance.delay.ms": 0,
        "group.min.session.timeout.ms": 500,
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": 500,
        "broker.session.timeout.ms": 1500 if len(everyone) == 1 else 3000,
        "broker.heartbeat.interval.ms": 250,
        # Small: the log cleaner alone would take 128 MB.
        "log.cleaner.dedupe.buffer.size": 4 << 20,
        "num.network.threads": 2,
        "num.io.threads": 4,
        "background.threads": 2,
        "num.recovery.threads.per.data.dir": 2,
    }
    settings.update(extra)
    return "".join(f"{key}={value}\n" for key, value in settings.items())
