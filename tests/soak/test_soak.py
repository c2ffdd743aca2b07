"""The short form of the soak: fifty faults, then the checker."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import missing
from tests.soak.report import describe
from tests.soak.soak import Plan, Soak
from tests.support.kafka_fixture import need_kafka

FAULTS = 50


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_fifty_faults_lose_double_and_change_nothing(tmp_path: Path) -> None:
    """Faults come twice as fast as in `make soak`; other tests may slow the machine down."""
    need_kafka()
    if shutil.which("kcat") is None:
        missing("kcat", "try: apt install kcat")
    plan = Plan(seed=1, faults=FAULTS, seconds=240, every=1.5, rate=25, longest_stall=150)
    soak = Soak(plan, tmp_path / "soak", print)
    try:
        verdict = soak.run()
    finally:
        soak.close()
    print(describe(verdict))
    assert verdict.violations == []
    assert sum(verdict.faults.values()) >= FAULTS // 2  # a slow machine has time for fewer
