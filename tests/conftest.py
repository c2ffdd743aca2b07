"""Fixtures and the rule for what a machine may lack.

A test that needs something from outside skips with a reason that says how to get it. Where
`WIRERANK_REQUIRE` names that thing (`WIRERANK_REQUIRE=corpora,...`), it fails instead.
"""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

pytest_plugins = [
    "tests.support.browser_fixture",
    "tests.support.kafka_fixture",
    "tests.support.registry_fixture",
    "tests.support.s3.server",
]

REPOSITORY = Path(__file__).resolve().parent.parent
ARCHIVES = {
    "reuters21578": "reuters21578/reuters21578.tar.xz",
    "newsgroups": "20newsgroups/20news-bydate-train.tar.xz",
    "movielens": "movielens-100k/ml-100k.tar.xz",
    "letor": "letor-mq2008/MQ2008.tar.xz",
    "jane-austen": "jane-austen/jane-austen.tar.xz",
}


# What makes a test slow: real servers and corpora. Others that take seconds are marked one by one.
SLOW_FIXTURES = {"broker", "browser", "monitoring", "registry", "shared_corpus"}
SLOW_PATHS = [
    REPOSITORY / "tests" / path
    for path in (
        "consumers", "deploy", "pipeline/commands/test_processes.py", "pipeline/experiments",
        "pipeline/page", "reference",
    )
]  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slow tests, so that `make check` can leave them out."""
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if fixtures & SLOW_FIXTURES or any(item.path.is_relative_to(path) for path in SLOW_PATHS):
            item.add_marker(pytest.mark.slow)


def missing(thing: str, how_to_get_it: str) -> None:
    """Skip the test, or fail it where `WIRERANK_REQUIRE` names the `thing`."""
    required = os.environ.get("WIRERANK_REQUIRE", "").split(",")
    if thing in required:
        pytest.fail(f"{thing} is required here (WIRERANK_REQUIRE) but missing: {how_to_get_it}")
    pytest.skip(f"no {thing}: {how_to_get_it}")


@pytest.fixture(scope="session")
def shared_corpus(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Unpack a real corpus once a session; the data stays outside the repository."""
    data = Path(os.environ.get("WIRERANK_DATA", REPOSITORY.parent / "shared" / "data"))
    unpacked: dict[str, Path] = {}

    def unpack(name: str) -> Path:
        archive = data / ARCHIVES[name]
        if not archive.exists():
            missing("corpora", f"put {ARCHIVES[name]} below {data}, or set WIRERANK_DATA")
        if name not in unpacked:
            into = tmp_path_factory.mktemp(name)
            with tarfile.open(archive) as tar:
                tar.extractall(into, filter="data")
            unpacked[name] = next(into.iterdir())
        return unpacked[name]

    return unpack
