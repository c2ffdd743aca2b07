"""Three brokers that replicate, with a proxy between each of them and the workers.

The workers reach the brokers by proxies, which faults disturb. The load and the checker use the
direct addresses, so that they see what the brokers have.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError

from deploy.kafka import Broker, Cluster, Options, ProxiedListener
from deploy.kafka.ports import LOOPBACK, PortLease
from tests.soak.proxy import Proxy, ProxyThread

NODES = (1, 2, 3)
HEAP_MB = 320


class SoakCluster:
    """The brokers and their proxies."""

    def __init__(self, folder: Path) -> None:
        self._leases = {node: (PortLease(), PortLease()) for node in NODES}
        listeners = {
            node: ProxiedListener(behind.port, front.port)
            for node, (behind, front) in self._leases.items()
        }
        options = Options(
            heap_mb=HEAP_MB,
            proxied=listeners,
            settings={"auto.leader.rebalance.enable": "false", "delete.topic.enable": "true"},
        )
        self.kafka = Cluster(folder, nodes=3, options=options)
        self._proxies = ProxyThread(
            {listener.advertised_port: listener.port for listener in listeners.values()}
        )
        self.bootstrap = ",".join(f"{LOOPBACK}:{proxy.port}" for proxy in self._proxies.proxies)

    def start(self) -> None:
        """Start the brokers, and wait until they serve."""
        self.kafka.start()

    @property
    def direct(self) -> str:
        """The addresses that lead past the proxies."""
        return self.kafka.bootstrap

    def broker(self, name: str) -> Broker:
        """The broker called `broker-1` and so on."""
        return self.kafka.brokers[int(name.rpartition("-")[2]) - 1]

    def proxy(self, name: str) -> Proxy:
        """The proxy in front of a broker."""
        return self._proxies.proxies[int(name.rpartition("-")[2]) - 1]

    def hold(self, name: str, requests: bool, answers: bool) -> None:
        """Hold back what goes to a broker, or comes from it."""
        self._proxies.do(lambda: self.proxy(name).hold(requests, answers))

    def delay(self, name: str, seconds: float) -> None:
        """Delay everything between the workers and a broker."""
        self.proxy(name).delay_s = seconds

    def reset(self, name: str) -> None:
        """Close the connections of the workers to a broker."""
        self._proxies.do(self.proxy(name).reset)

    def admin(self) -> Any:  # noqa: ANN401 - kafka-python has no types
        """A new administration client; the brokers may be away."""
        return KafkaAdminClient(
            bootstrap_servers=self.direct.split(","),
            request_timeout_ms=10_000,
            bootstrap_timeout_ms=10_000,
            reconnect_backoff_max_ms=500,
        )

    def in_sync(self) -> bool:
        """Whether all brokers run, and each partition has three replicas in sync."""
        if not all(broker.running for broker in self.kafka.brokers):
            return False
        try:
            admin = self.admin()
        except KafkaError:
            return False
        try:
            topics = admin.describe_topics()
        except KafkaError:
            return False
        finally:
            admin.close()
        return all(len(p["isr_nodes"]) == 3 for topic in topics for p in topic["partitions"])

    def close(self) -> None:
        """Stop everything."""
        self._proxies.close()
        for broker in self.kafka.brokers:
            broker.kill()  # the data is not needed any more
        self.kafka.close()
        for pair in self._leases.values():
            for lease in pair:
                lease.release()
