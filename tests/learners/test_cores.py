"""The number of cores that a process may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from learners.cores import core_limit, usable_cores


def test_at_least_one_core() -> None:
    assert 1 <= usable_cores() <= (os.cpu_count() or 1)


@pytest.mark.parametrize(
    ("files", "group", "limit"),
    [
        ({}, "", 65536),
        ({"cpu.max": "max 100000\n"}, "0::/\n", 65536),
        ({"cpu.max": "150000 100000\n"}, "0::/\n", 1.5),
        ({"system.slice/a.service/cpu.max": "50000 100000"}, "0::/system.slice/a.service\n", 0.5),
        ({"cpu.max": "nonsense"}, "1:cpu:/\n", 65536),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, "", 65536),
        ({"cpu/cpu.cfs_quota_us": "400000\n", "cpu/cpu.cfs_period_us": "100000\n"}, "", 4),
    ],
)
def test_limits_of_containers(
    tmp_path: Path, files: dict[str, str], group: str, limit: float
) -> None:
    for name, text in files.items():
        path = tmp_path / "groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    own = tmp_path / "own"
    own.write_text(group)
    assert core_limit(tmp_path / "groups", own) == limit
