"""A cluster of one broker or three, with all data in one folder."""

from __future__ import annotations

import base64
import json
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from deploy.kafka.broker import Broker, PortTakenError, wait_until_ready
from deploy.kafka.errors import BrokerError
from deploy.kafka.jars import class_archive, fetch, locked, run_tool, say
from deploy.kafka.ports import LOOPBACK, PortLease, is_free
from deploy.kafka.settings import NodePorts, Options, server_properties

_PORT_ATTEMPTS = 5


class Cluster:
    """One broker, or three that replicate. Also a context manager.

    Each node is both broker and controller. If the folder holds the data of an earlier cluster
    with the same number of nodes, that cluster continues. The ports are free ones and stay the
    same for the life of this object. With `port`, the brokers use that port and the next ones.
    """

    def __init__(
        self,
        folder: Path,
        *,
        nodes: int = 1,
        port: int | None = None,
        options: Options | None = None,
    ) -> None:
        if nodes not in {1, 3}:
            raise BrokerError(f"a cluster must have 1 or 3 nodes, got {nodes}")
        self.folder = folder.absolute()
        self.options = options or Options()
        self.brokers = tuple(
            Broker(node, self.folder / f"node-{node}", self.options) for node in range(1, nodes + 1)
        )
        self._port = port
        self._leases: list[PortLease] = []
        self._settled = False  # True: it has run with these ports, so clients may know them

    @property
    def bootstrap(self) -> str:
        """The bootstrap addresses for clients, `host:port[,host:port...]`."""
        return ",".join(broker.address for broker in self.brokers)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def start(self) -> None:
        """Start the brokers that do not run, and wait until all of them serve clients."""
        fetch()
        if self.options.record is None:
            _archive_classes()
        for attempt in range(1, _PORT_ATTEMPTS + 1):
            if not self._settled:
                self._choose_ports()
            idle = [broker for broker in self.brokers if not broker.running]
            try:
                self._format()
                for broker in idle:
                    broker.launch()
                everyone = {broker.node for broker in self.brokers}
                wait_until_ready(self.brokers, everyone, self.options.start_timeout)
            except PortTakenError:
                _kill(idle)
                if self._settled or attempt == _PORT_ATTEMPTS:
                    raise
            except BaseException:
                _kill(idle)
                raise
            else:
                self._settled = True
                return

    def stop(self) -> None:
        """Shut down every broker cleanly; `start()` uses the same data and ports again."""
        with ThreadPoolExecutor(len(self.brokers)) as pool:
            list(pool.map(Broker.stop, self.brokers))

    def kill(self) -> None:
        """Kill every broker (SIGKILL); `start()` uses the same data and ports again."""
        _kill(self.brokers)

    def close(self) -> None:
        """Stop the brokers and release the ports."""
        self.stop()
        self._release()

    def _release(self) -> None:
        for lease in self._leases:
            lease.release()
        self._leases.clear()
        self._settled = False

    def _choose_ports(self) -> None:
        self._release()

        def lease() -> int:
            self._leases.append(PortLease())
            return self._leases[-1].port

        for broker in self.brokers:
            port = lease() if self._port is None else self._port + broker.node - 1
            if self._port is not None and not is_free(port):
                raise BrokerError(
                    f"another program listens on {LOOPBACK}:{port}; choose another port, e.g. "
                    f'make kafka KAFKA="--port {self._port + 100}"'
                )
            broker.ports = NodePorts(broker.node, port, lease())
        everyone = [broker.ports for broker in self.brokers]
        for broker in self.brokers:
            broker.folder.mkdir(0o700, parents=True, exist_ok=True)  # it holds documents
            text = server_properties(broker.ports, everyone, broker.folder / "data", self.options)
            (broker.folder / "server.properties").write_text(text)

    def _format(self) -> None:
        cluster_id = self._cluster_id()
        unformatted = [
            b for b in self.brokers if not (b.folder / "data" / "meta.properties").exists()
        ]

        def format_one(broker: Broker) -> None:
            done = run_tool(
                "kafka.tools.StorageTool", "format", "--cluster-id", cluster_id,
                "--config", str(broker.folder / "server.properties"),
                log=broker.folder / "format.log",
            )  # fmt: skip
            if done.returncode != 0:
                raise BrokerError(
                    f"cannot format {broker.folder}:\n{done.stdout.strip()}\n{done.stderr.strip()}"
                )

        if unformatted:
            with ThreadPoolExecutor(len(unformatted)) as pool:
                list(pool.map(format_one, unformatted))

    def _cluster_id(self) -> str:
        path = self.folder / "cluster.json"
        if not path.exists():
            new_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
            new_id = "A" + new_id[1:]  # a leading dash would look like an option
            scratch = path.with_suffix(".new")
            scratch.write_text(json.dumps({"id": new_id, "nodes": len(self.brokers)}) + "\n")
            scratch.rename(path)
        known = json.loads(path.read_text())
        if known["nodes"] != len(self.brokers):
            raise BrokerError(
                f"{self.folder} holds the data of a cluster with --nodes {known['nodes']}, not "
                f"{len(self.brokers)}: use that number or another folder, or delete this folder"
            )
        return str(known["id"])


def _kill(brokers: Iterable[Broker]) -> None:
    for broker in brokers:
        broker.kill()


def _archive_classes() -> None:
    """Let Java archive the classes that a broker loads, once, which halves later start times.

    If that fails, starts are only slower. An empty file then marks that it was tried.
    """
    archive = class_archive()
    if archive.exists() or not os.access(archive.parent, os.W_OK):
        return
    with locked(archive.with_suffix(".lock"), "Another process prepares Kafka; waiting ..."):
        if archive.exists():
            return
        # This process holds the lock, so these folders were left by processes that died.
        for abandoned in archive.parent.glob("recording-*"):
            shutil.rmtree(abandoned, ignore_errors=True)
        say("Preparing Kafka for faster starts (once, takes some seconds) ...")
        with tempfile.TemporaryDirectory(dir=archive.parent, prefix="recording-") as scratch:
            archived = Path(scratch) / "classes.jsa"
            try:
                with Cluster(Path(scratch) / "kafka", options=Options(record=archived)):
                    pass
            except BrokerError as error:
                say(f"The preparation failed, so Kafka will start more slowly: {error}")
            if not archived.exists():
                archived.touch()
            archived.rename(archive)
