"""What the project itself logged during a test."""

from __future__ import annotations

import pytest


def own_messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The messages of the pipeline. Clients of Kafka that other tests left behind log, too."""
    return [one.getMessage() for one in caplog.records if one.name.startswith("pipeline.")]
