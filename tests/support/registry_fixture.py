"""The fixture `registry`: a real Schema Registry, one per session (with xdist: one per worker)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deploy.kafka import KafkaUnavailableError
from tests.support.registry_server import Registry, fetch


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    """A registry that is started for this test session. A test uses subjects of its own."""
    from tests.conftest import missing

    try:
        fetch()
    except KafkaUnavailableError as error:
        missing("registry", str(error))
    started = Registry(tmp_path_factory.mktemp("registry"))
    started.start()
    yield started
    started.close()
