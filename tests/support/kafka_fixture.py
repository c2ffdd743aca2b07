"""The fixture `broker`: a real Apache Kafka, one per session (with xdist: one per worker)."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from deploy.kafka import Cluster, KafkaUnavailableError, fetch


def need_kafka() -> None:
    """Skip the test if this machine cannot run a broker; fail where Kafka is required."""
    from tests.conftest import missing

    try:
        fetch()
    except KafkaUnavailableError as error:
        missing("kafka", f"{error}; or set WIRERANK_KAFKA=host:port of a running broker")


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a broker: `WIRERANK_KAFKA`, or one that is started for this test session.

    Others use it too: a test makes topics, groups and transactional ids of its own.
    """
    if given := os.environ.get("WIRERANK_KAFKA"):
        yield given
        return
    need_kafka()
    with Cluster(tmp_path_factory.mktemp("kafka")) as kafka:
        yield kafka.bootstrap
