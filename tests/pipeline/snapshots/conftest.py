"""A follower and its snapshot."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.follower import Follower
from pipeline.snapshots.folder import SnapshotFolder
from tests.pipeline.snapshots.followers import follower_of


@pytest.fixture(scope="module")
def follower() -> Follower:
    return follower_of()


@pytest.fixture
def path(follower: Follower, tmp_path: Path) -> Path:
    """The path of a snapshot as a worker writes it."""
    folder = SnapshotFolder(tmp_path / "snapshots" / "wire")
    return folder.write(follower.snapshot(log="the log", published=["champion"]))
