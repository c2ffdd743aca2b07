"""The fixture `broker`: a real Apache Kafka, one for the session (with xdist: one a worker)."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from deploy.kafka import Cluster, KafkaUnavailableError, fetch


def need_kafka() -> None:
    """Skip, or fail where Kafka is required, if this machine cannot run a broker."""
    from tests.conftest import missing

    try:
        fetch()
    except KafkaUnavailableError as error:
        missing("kafka", f"{error}; or set WIRERANK_KAFKA=host:port of a running broker")


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a broker: `WIRERANK_KAFKA`, or that of one started for this run of the tests.

    Others use it too: a test makes topics, groups and transactional ids of its own.
    """
    if given := os.environ.get("WIRERANK_KAFKA"):
        yield given
        return
    need_kafka()
    with Cluster(tmp_path_factory.mktemp("kafka")) as kafka:
        yield kafka.bootstrap
