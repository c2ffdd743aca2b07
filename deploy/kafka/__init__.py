"""Apache Kafka on the loopback interface, for development and tests.

>>> from deploy.kafka import Cluster  # doctest: +SKIP
>>> with Cluster(folder) as kafka:  # doctest: +SKIP
...     print(kafka.bootstrap)
127.0.0.1:23817
"""

from deploy.kafka.broker import Broker
from deploy.kafka.cluster import Cluster
from deploy.kafka.errors import BrokerError, KafkaUnavailableError
from deploy.kafka.jars import fetch, run_tool
from deploy.kafka.settings import Options, ProxiedListener

__all__ = [
    "Broker",
    "BrokerError",
    "Cluster",
    "KafkaUnavailableError",
    "Options",
    "ProxiedListener",
    "fetch",
    "run_tool",
]
