"""What a learner that trims the log counts and logs, without Kafka."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from consumers.config import read_config
from consumers.kafka.log_reader import LogDescription, LogError
from consumers.learner.auto_trim import AutoTrim
from consumers.trimming.needs import Need
from consumers.trimming.trimmer import Trimmer, TrimPlan
from pipeline.metrics.log_metrics import LogMetrics
from tests.support.scraping import scrape

CONFIG = '[[streams]]\nname = "wire"\nlog.keep = "snapshots"\nlanes = [{spec = "mmp"}]'
OWN, GONE = Need("mmp", "lane mmp", 50), Need("old", "lane old", 20, is_configured=False)


def plan(*needs: Need, keep_from: int | None = None) -> TrimPlan:
    """A plan for a log of offsets 10 to 100."""
    bound = min((need.position for need in needs if need.position is not None), default=10)
    target = bound if keep_from is None else keep_from
    log = LogDescription("wire.blocks", "id", 10, 100)
    return TrimPlan(log, needs, (), "snapshots", bound, target, 1000.0)


@pytest.mark.parametrize(
    ("outcome", "counts", "waited_for", "logged"),
    [
        (plan(OWN), [1, 0, 0], None, "trimmed the log: 40 records"),
        (plan(OWN, GONE), [0, 1, 0], "old", "kept from offset 20 on for old, which is not in"),
        (plan(OWN, GONE, keep_from=15), [1, 0, 0], None, "trimmed the log: 5 records"),
        (plan(OWN, GONE._replace(position=70)), [1, 0, 0], None, "trimmed the log: 40 records"),
        (plan(OWN._replace(position=None, reason="why")), [0, 1, 0], "mmp", "lane mmp: why"),
        (LogError("no right"), [0, 0, 1], None, "the log was not trimmed: no right"),
    ],
)
def test_outcomes_of_trims(
    outcome: TrimPlan | LogError,
    counts: list[float],
    waited_for: str | None,
    logged: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    (tmp_path / "wirerank.toml").write_text(CONFIG)
    config = read_config(tmp_path / "wirerank.toml", {})

    def trim(*unused: object) -> TrimPlan:
        if isinstance(outcome, LogError):
            raise outcome
        return outcome

    monkeypatch.setattr(Trimmer, "trim", trim)
    registry = CollectorRegistry()
    auto_trim = AutoTrim(lambda: config, config.streams[0], LogMetrics(registry, "wire"))
    with caplog.at_level(logging.INFO):
        auto_trim.begin()
        auto_trim.finish()
    shown = scrape(registry)
    assert [
        shown.value("wirerank_log_trims_total"),
        *(
            shown.value("wirerank_log_trim_problems_total", reason=reason)
            for reason in ("blocked", "failed")
        ),
    ] == counts
    assert shown.get("wirerank_log_trim_blocked") == (None if waited_for is None else 1)
    if waited_for is not None:
        assert shown.value("wirerank_log_trim_blocked", lane=waited_for) == 1
    assert logged in caplog.text
