"""The shards of a test, with a scores topic of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from consumers.kafka.topics import ensure_scores_topic
from tests.support.exchanging_shards import Shards


@pytest.fixture
def shards(broker: str) -> Iterator[Shards]:
    made = Shards(broker)
    ensure_scores_topic(made.settings, made.topic)
    yield made
    made.close()
