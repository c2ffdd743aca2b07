"""The judgement of runs of bounded storage, and a short run on a real broker."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bounded.plan import Plan
from tests.bounded.run import BoundedRun
from tests.bounded.sizes import Sample, table
from tests.bounded.verdict import LateLane, late_violations, ranking_violations, size_violations
from tests.support.kafka_fixture import need_kafka

PLAN = Plan("snapshots", 60.0)
GOOD = Sample(30.0, 3000, 10**6, 5, 100, 10**6, 10**6, 10**6, 9, 2, 0)


def test_sizes_have_ceilings() -> None:
    assert size_violations(PLAN, [GOOD]) == []
    assert size_violations(PLAN, [replace(GOOD, log_first=0)]) == ["the log was never trimmed"]
    large = [
        replace(GOOD, log_disk=PLAN.log_ceiling + 1),
        replace(GOOD, rankings_disk=PLAN.rankings_ceiling(2) + 1),
        replace(GOOD, snapshot_files=PLAN.snapshot_ceiling(0) + 1),
    ]
    assert len(size_violations(PLAN, large)) == 3
    # Before the first trim, the log may be of any size.
    before = replace(GOOD, log_first=0, log_disk=PLAN.log_ceiling + 1)
    assert size_violations(PLAN, [before, GOOD]) == []
    assert Plan("8MB", 60.0).log_ceiling == PLAN.log_ceiling + 8_000_000


def test_a_table_has_the_largest_size_of_each_minute() -> None:
    later = replace(GOOD, seconds=40.0, log_disk=3_000_000)
    rows = table([GOOD, later, replace(GOOD, seconds=50.0), replace(GOOD, seconds=70.0)])
    assert [row.split("|")[6].strip() for row in rows.splitlines()[2:]] == ["3.0", "1.0"]


def test_late_lanes_say_where_they_begin() -> None:
    good = LateLane("late", 5, 5, 5)
    assert late_violations([good]) == []
    wrong = [
        replace(good, logged=None),
        replace(good, shown=7),
        replace(good, shown=None),
        replace(good, logged=4, shown=4),
    ]
    assert len(late_violations(wrong)) == len(wrong)


def test_rankings_that_are_missing_twice_or_different() -> None:
    wanted = {"lane": [("a", b"1"), ("b", b"2"), ("c", b"3")]}
    a, b, c = wanted["lane"]
    assert ranking_violations(wanted, wanted) == []
    for wrong in ([a, c], [a, b, b, c], [a, c, b], [a, b, ("c", b"4")], [a, b, c, ("d", b"5")]):
        assert len(ranking_violations({"lane": wrong}, wanted)) == 1
    assert len(ranking_violations({}, wanted)) == 1
    assert ranking_violations({**wanted, "other": [a]}, wanted) == ["other is no lane of the run"]


@pytest.mark.slow
@pytest.mark.skipif(
    "BOUNDED" not in os.environ, reason="a timed run: set BOUNDED=1, or make bounded"
)
def test_a_short_run(tmp_path: Path) -> None:
    """Two lanes are added, and learners are killed; nothing is lost, and the log stays small."""
    need_kafka()
    plan = Plan("snapshots", 45.0, rate=60.0, snapshot_seconds=1.0, kill_seconds=8.0)
    run = BoundedRun(plan, tmp_path, lambda text: None)
    assert run.run() == []
    assert run.samples[-1].log_first > 0
    assert run.kills > 0
