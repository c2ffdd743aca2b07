"""One broker or three, started together below one folder."""

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
from deploy.kafka.settings import Address, Options, properties

_PORT_ATTEMPTS = 5


class Cluster:
    """One broker, or three that replicate, below one folder. Also a context manager.

    Each node is broker and controller at once. The folder may hold the data of an earlier
    cluster of as many nodes, which goes on where it was. Ports are free ones, the same for the
    life of this object; with `port` the brokers take that one and those after it.
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
            raise BrokerError(f"a cluster has 1 or 3 nodes, not {nodes}")
        self.folder = folder.absolute()
        self.options = options or Options()
        self.brokers = tuple(
            Broker(node, self.folder / f"node-{node}", self.options) for node in range(1, nodes + 1)
        )
        self._port = port
        self._leases: list[PortLease] = []
        self._settled = False  # it has run with these ports: clients may know them

    @property
    def bootstrap(self) -> str:
        """What a client needs to find it, `host:port[,host:port...]`."""
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
        """Start the brokers that do not run, and wait until all serve clients."""
        fetch()
        if self.options.record is None:
            _record_classes()
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
        """Shut every broker down in order; the data and the ports are kept for `start()`."""
        with ThreadPoolExecutor(len(self.brokers)) as pool:
            list(pool.map(Broker.stop, self.brokers))

    def kill(self) -> None:
        """End every broker at once (SIGKILL); the data and the ports are kept for `start()`."""
        _kill(self.brokers)

    def close(self) -> None:
        """Stop, and give the ports back."""
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
            broker.where = Address(broker.node, port, lease())
        everyone = [broker.where for broker in self.brokers]
        for broker in self.brokers:
            broker.folder.mkdir(parents=True, exist_ok=True)
            text = properties(broker.where, everyone, broker.folder / "data", self.options.settings)
            (broker.folder / "server.properties").write_text(text)

    def _format(self) -> None:
        cluster_id = self._identity()
        raw = [b for b in self.brokers if not (b.folder / "data" / "meta.properties").exists()]

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

        if raw:
            with ThreadPoolExecutor(len(raw)) as pool:
                list(pool.map(format_one, raw))

    def _identity(self) -> str:
        path = self.folder / "cluster.json"
        if not path.exists():
            made = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
            made = "A" + made[1:]  # a leading dash would look like an option
            scratch = path.with_suffix(".new")
            scratch.write_text(json.dumps({"id": made, "nodes": len(self.brokers)}) + "\n")
            scratch.rename(path)
        known = json.loads(path.read_text())
        if known["nodes"] != len(self.brokers):
            raise BrokerError(
                f"{self.folder} holds the data of a cluster with --nodes {known['nodes']}, not "
                f"{len(self.brokers)}: use that number, another folder, or remove this one"
            )
        return str(known["id"])


def _kill(brokers: Iterable[Broker]) -> None:
    for broker in brokers:
        broker.kill()


def _record_classes() -> None:
    """Let Java note once which classes a broker loads, which halves every later start.

    What cannot be noted is only slower: an empty file then says not to try again.
    """
    archive = class_archive()
    if archive.exists() or not os.access(archive.parent, os.W_OK):
        return
    with locked(archive.with_suffix(".lock"), "Another process prepares Kafka; waiting ..."):
        if archive.exists():
            return
        for abandoned in archive.parent.glob("recording-*"):  # we hold the lock: nobody is at it
            shutil.rmtree(abandoned, ignore_errors=True)
        say("Preparing Kafka for faster starts (once, some seconds) ...")
        with tempfile.TemporaryDirectory(dir=archive.parent, prefix="recording-") as scratch:
            made = Path(scratch) / "classes.jsa"
            try:
                with Cluster(Path(scratch) / "kafka", options=Options(record=made)):
                    pass
            except BrokerError as error:
                say(f"That failed, so starts stay slow: {error}")
            if not made.exists():
                made.touch()
            made.rename(archive)
