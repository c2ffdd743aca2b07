"""The settings of one node, for development and tests on the loopback interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deploy.kafka.ports import LOOPBACK


@dataclass(frozen=True)
class ProxiedListener:
    """A second listener of a node, whose clients are told the port of a proxy in front of it."""

    port: int
    advertised_port: int


@dataclass(frozen=True)
class Options:
    """The settings of a cluster that a caller can choose."""

    heap_mb: int = 384
    """Maximum size of Java's heap; the process takes about 100 MB more."""
    quick: bool = True
    """Let Java optimize less: brokers start in half the time, but are slower under long load."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings of `server.properties` that are added, or that replace those of this module."""
    start_timeout: float = 90.0
    stop_timeout: float = 20.0
    detached: bool = False
    """Let the brokers continue to run when this process ends."""

    proxied: Mapping[int, ProxiedListener] = field(default_factory=dict)
    """Nodes with a second listener, CLIENTS, behind a proxy. Brokers do not use it."""
    record: Path | None = None
    """File for the archive of loaded classes, which Java writes when the broker stops."""

    def java_options(self) -> list[str]:
        """Return the options as arguments of Java."""
        options = ["-XX:TieredStopAtLevel=1"] if self.quick else []
        return [*options, f"-XX:ArchiveClassesAtExit={self.record}"] if self.record else options


@dataclass(frozen=True)
class NodePorts:
    """The ports of one node: for clients and other brokers, and for the controller quorum."""

    node: int
    port: int
    controller_port: int


def server_properties(
    this: NodePorts, everyone: Sequence[NodePorts], data: Path, options: Options
) -> str:
    """Return the text of `server.properties`."""
    replicas = min(3, len(everyone))
    in_sync = 2 if replicas == 3 else 1
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
        # Without this, a mistyped name would create a topic.
        "auto.create.topics.enable": "false",
        "num.partitions": 1,
        "default.replication.factor": replicas,
        "min.insync.replicas": in_sync,
        # Internal topics are replicated as often as possible. They have few partitions, because
        # each partition costs time when a coordinator moves or restarts.
        "offsets.topic.replication.factor": replicas,
        "offsets.topic.num.partitions": 4,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": in_sync,
        "transaction.state.log.num.partitions": 4,
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": in_sync,
        "share.coordinator.state.topic.num.partitions": 4,
        # Records carry the times of their documents, which may be decades ago, so retention by
        # time would delete them at once. A topic can have a retention time of its own.
        "log.retention.ms": -1,
        # Short waits: for more members of a group, for transactions of clients that died, and
        # for the session of a broker that was killed. Until that session has timed out, the
        # controller refuses the restarted broker; by default that takes 9 s.
        "group.initial.rebalance.delay.ms": 0,
        "group.min.session.timeout.ms": 500,
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": 500,
        "broker.session.timeout.ms": 1500 if len(everyone) == 1 else 3000,
        "broker.heartbeat.interval.ms": 250,
        # Save memory: by default the log cleaner alone takes 128 MB.
        "log.cleaner.dedupe.buffer.size": 4 << 20,
        "num.network.threads": 2,
        "num.io.threads": 4,
        "background.threads": 2,
        "num.recovery.threads.per.data.dir": 2,
    }
    if this.node in options.proxied:
        settings.update(_second_listener(settings, options.proxied[this.node]))
    settings.update(options.settings)
    return "".join(f"{key}={value}\n" for key, value in settings.items())


def _second_listener(settings: Mapping[str, object], listener: ProxiedListener) -> dict[str, str]:
    def added(name: str, port: int) -> str:
        return f"{settings[name]},CLIENTS://{LOOPBACK}:{port}"

    names = ("PLAINTEXT", "CONTROLLER", "CLIENTS")
    return {
        "listeners": added("listeners", listener.port),
        "advertised.listeners": added("advertised.listeners", listener.advertised_port),
        "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in names),
        "inter.broker.listener.name": "PLAINTEXT",
    }
