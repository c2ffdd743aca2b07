"""The fixture `monitoring`: one Prometheus and its runs for the tests of rules and dashboards."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.monitoring import Monitored, monitored


@pytest.fixture(scope="session")
def monitoring(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitored]:
    """What a real Prometheus saw of a worker that was killed and of a replay."""
    with monitored(tmp_path_factory.mktemp("prometheus")) as seen:
        yield seen
