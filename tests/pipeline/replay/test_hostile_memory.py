"""The peak memory of hostile streams, measured in processes of their own, against the ceiling.

Without limits in bytes these streams took gigabytes. Each has settings with 16 MiB for what waits.
What comes on top are blocks on their way, and the allocator's own needs.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.support.hostile_replay import MAX_PENDING_BYTES, MIB

# Four blocks of 4 MiB of events, tokenized, and a vocabulary of 2^18 terms.
ROOM = 256 * MIB


def measure(kind: str, count: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.support.hostile_replay", kind, str(count)]
    result = subprocess.run(command, capture_output=True, check=True)
    measured: dict[str, Any] = json.loads(result.stdout)
    assert measured["grown"] < ROOM + 2 * MAX_PENDING_BYTES, measured
    assert measured["use"] <= measured["ceiling"]
    assert measured["grown"] <= measured["ceiling"]
    assert max(measured["pending_bytes"]) <= MAX_PENDING_BYTES
    return measured


@pytest.mark.slow
def test_waiting_documents_of_two_megabytes() -> None:
    measured = measure("large-documents", 200)  # 500 MB of vectors
    assert measured["documents"] + measured["dropped"] == 200


@pytest.mark.slow
def test_events_that_become_many_objects() -> None:
    """An exception that is kept holds the parsed event: 22 MB for each of these."""
    assert measure("bad-events", 40)["dead_letters"] == 40


def test_ids_of_a_megabyte() -> None:
    assert measure("long-ids", 50)["dead_letters"] == 50


@pytest.mark.slow
def test_labels_for_documents_that_never_come() -> None:
    measured = measure("labels-without-documents", 300_000)
    assert measured["labels"] + measured["dropped"] == 300_000
    assert measured["labels"] > 30_000


def test_labels_of_a_megabyte() -> None:
    measured = measure("large-labels", 100)
    assert measured["labels"] + measured["dropped"] == 100
    assert measured["dead_letters"] == 0


def test_new_topics_with_every_document() -> None:
    measured = measure("many-topics", 500)
    assert measured["topics_refused"] == 500 * 100 - 511  # one topic was there before
