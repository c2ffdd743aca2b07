"""Metrics: one consistent picture a scrape, equal to the curves, never backwards, bounded."""

from __future__ import annotations

import itertools
import re
import threading
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from learners.measures import MEASURES
from pipeline.curves.decision_curve import MEASURES as DECISION_MEASURES
from pipeline.engine.engine import Engine
from pipeline.events.event import REASONS, Event
from pipeline.log.block import make_block
from pipeline.metrics import families
from pipeline.metrics.collectors import (
    LagMetrics,
    LearnedBlock,
    LearnerMetrics,
    Position,
    TokenizerMetrics,
)
from pipeline.metrics.families import EDGES, Durations
from pipeline.metrics.log_metrics import LogMetrics, TrimmedLog
from pipeline.snapshots.folder import SnapshotFolder
from pipeline.snapshots.restoring import restore_engine
from pipeline.snapshots.snapshot import take_snapshot
from pipeline.text.tokenizer import Tokenizer
from tests.conftest import REPOSITORY
from tests.support.scraping import (
    LANES,
    WATCHED,
    Scrape,
    everything,
    learn,
    new_engine,
    readings,
    scrape,
)

ALL = (
    *families.LEARNER, *families.LOG, *families.TOKENIZER, *families.LAG, *families.PROCESS,
)  # fmt: skip


class Clock:
    """A clock that tests wind."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def show(metrics: LearnerMetrics, engine: Engine, *blocks: LearnedBlock) -> None:
    """Learned and committed."""
    metrics.learned([engine], blocks)
    metrics.committed()


def shown_curves(scraped: Scrape, lane: str) -> dict[str, float | None]:
    return {
        measure: scraped.get("wirerank_round_averaged_loss", lane=lane, loss=measure)
        for measure in MEASURES
    }


def test_a_scrape_shows_the_curves_bit_for_bit() -> None:
    engine, registry = new_engine(), CollectorRegistry()
    metrics = LearnerMetrics(registry, "wire")
    for reading in readings("synthetic:700,topics=20", 64):
        learn(engine, reading)
        show(metrics, engine)
        scraped = scrape(registry)
        for lane in engine.lanes:
            last = lane.curve.last()
            assert shown_curves(scraped, lane.name) == last.values
            assert scraped.value("wirerank_rounds_total", lane=lane.name) == last.round
    assert scraped.value("wirerank_documents_total") == 700
    assert scraped.value("wirerank_topics") == len(engine.topics)
    assert scraped.value("wirerank_vocabulary_terms") == len(engine.vocabulary)
    assert scraped.value("wirerank_vocabulary_terms_ceiling") == 131_072
    labels = {"stream": "wire", "shard": "0", "lane": "perceptron", "loss": "loss2"}
    assert ("wirerank_loss_total", frozenset(labels.items())) in scraped.samples


def test_what_does_not_exist_yet_has_no_sample_but_counters_begin_at_zero() -> None:
    engine, registry = new_engine(), CollectorRegistry()
    metrics = LearnerMetrics(registry, "wire")
    assert scrape(registry).get("wirerank_rounds_total", lane=LANES[0]) is None
    show(metrics, engine)
    scraped = scrape(registry)
    assert scraped.value("wirerank_rounds_total", lane=LANES[0]) == 0
    assert scraped.value("wirerank_loss_total", lane=LANES[0], loss="loss1") == 0
    assert set(shown_curves(scraped, LANES[0]).values()) == {None}
    assert scraped.get("wirerank_snapshot_age_seconds") is None


def test_no_scrape_sees_half_a_block() -> None:
    """Scrapes while another thread learns: rounds, losses and averages always belong together."""
    engine, registry = new_engine(), CollectorRegistry()
    metrics = LearnerMetrics(registry, "wire")
    show(metrics, engine)
    done = threading.Event()

    def work() -> None:
        for reading in readings("synthetic:4000,topics=20", 50):
            learn(engine, reading)
            show(metrics, engine)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    seen: set[float] = set()
    while not done.is_set() or not seen:
        scraped = scrape(registry)
        rounds = {scraped.value("wirerank_rounds_total", lane=lane) for lane in LANES}
        assert len(rounds) == 1, "the lanes are of different blocks"
        (now,) = rounds
        assert now % 50 == 0
        assert scraped.value("wirerank_documents_total") == now
        for lane, loss in itertools.product(LANES if now else (), ("loss1", "loss2", "loss3")):
            total = scraped.value("wirerank_loss_total", lane=lane, loss=loss)
            assert shown_curves(scraped, lane)[loss] == total / now
        seen.add(now)
    thread.join()
    assert len(seen) > 3


def test_counters_come_back_from_a_snapshot_and_never_go_backwards(tmp_path: Path) -> None:
    """A crash after a snapshot: the next process shows nothing until it is where the last was."""
    blocks = list(readings("synthetic:600,topics=20", 40))
    folder = SnapshotFolder(tmp_path)
    engine, registry = new_engine(), CollectorRegistry()
    metrics = LearnerMetrics(registry, "wire", topics=8)
    for number, reading in enumerate(blocks[:10]):
        learn(engine, reading)
        show(metrics, engine)
        if number == 6:
            folder.write(take_snapshot(engine, number + 1))
    before = scrape(registry)

    snapshot = folder.newest([])
    assert snapshot is not None
    engine, registry = new_engine(), CollectorRegistry()
    metrics = LearnerMetrics(registry, "wire", topics=8)
    restore_engine(engine, snapshot)
    for reading in blocks[snapshot.position : 10]:  # recovering, silently
        learn(engine, reading)
        assert scrape(registry).get("wirerank_documents_total") is None
    show(metrics, engine)
    after = scrape(registry)
    learning = {key for key in before.samples if "seconds" not in key[0]}
    assert len(learning) > 30
    assert len([name for name, _ in learning if "_topic_" in name]) == len(LANES) * 2 * (8 + 1)
    assert {key: after.samples[key] for key in learning} == {
        key: before.samples[key] for key in learning
    }


def test_only_what_is_committed_is_shown() -> None:
    engine, registry = new_engine(), CollectorRegistry()
    metrics = LearnerMetrics(registry, "wire")
    rounds = []
    for number, reading in enumerate(readings("synthetic:240,topics=20", 40)):
        metrics.committed()  # of the block before, while this one is being learned
        learn(engine, reading)
        metrics.learned([engine], [LearnedBlock(40, 0.1, None)])
        if number == 3:
            metrics.begin()  # a crash of the worker, not of its process: this block comes again
        rounds.append(scrape(registry).get("wirerank_documents_total"))
    assert rounds == [None, 40, 80, 120, 120, 200]
    assert scrape(registry).value("wirerank_block_seconds_count") == 4


def test_lanes_at_several_places_are_shown_each_where_it_is() -> None:
    """A lane that joined later has an engine of its own until it meets the others."""
    behind, foremost, registry = new_engine(("frequency",)), new_engine(), CollectorRegistry()
    metrics = LearnerMetrics(registry, "wire")
    for number, reading in enumerate(readings("synthetic:120,topics=20", 40)):
        learn(foremost, reading)
        if number < 1:
            learn(behind, reading)
    metrics.learned([behind, foremost])
    metrics.committed()
    scraped = scrape(registry)
    assert scraped.value("wirerank_rounds_total", lane="frequency") == 40
    assert scraped.value("wirerank_rounds_total", lane=LANES[0]) == 120
    assert scraped.value("wirerank_documents_total") == 120


def test_late_labels_are_counted_by_what_became_of_them() -> None:
    engine, registry = new_engine(("perceptron",)), CollectorRegistry()
    metrics = LearnerMetrics(registry, "wire")
    engine.pending.expired_documents, engine.pending.superseded = 1, 2
    engine.pending.unmatched_labels, engine.pending.ignored_labels = 3, 4
    engine.topics.refused = 5
    show(metrics, engine)
    scraped = scrape(registry)
    assert scraped.value("wirerank_documents_given_up_total", reason="expired") == 1
    assert scraped.value("wirerank_documents_given_up_total", reason="superseded") == 2
    assert scraped.value("wirerank_unmatched_labels_total", reason="no_document") == 3
    assert scraped.value("wirerank_unmatched_labels_total", reason="rank_only") == 4
    assert scraped.value("wirerank_topics_refused_total") == 5


def test_labels_of_both_kinds_are_counted() -> None:
    engine, registry = new_engine(("perceptron", "prank:ranks=5")), CollectorRegistry()
    metrics = LearnerMetrics(registry, "wire")
    events = [
        Event("1", "oil", None, None, None),
        Event("2", "oil", ("crude",), None, None),
        Event("3", "oil", None, 4, None),
        Event("9", None, ("crude",), 1, None),
        Event("1", None, None, 2, None),
    ]
    list(engine.process(make_block(events, Tokenizer())))
    show(metrics, engine)
    scraped = scrape(registry)
    assert scraped.value("wirerank_pending_documents") == 2 + 1  # 1 and 3; 2
    assert scraped.value("wirerank_pending_labels") == 2
    assert scraped.value("wirerank_pending_ceiling") == 2 * engine.settings.max_pending
    limit = engine.settings.max_pending_bytes
    assert 3 * 1024 < scraped.value("wirerank_pending_bytes") < 20 * 1024
    assert scraped.value("wirerank_pending_bytes_ceiling") == 2 * 2 * limit
    use, ceiling = (scraped.value(f"wirerank_memory_bytes{end}") for end in ("", "_ceiling"))
    assert scraped.value("wirerank_pending_bytes") < use < ceiling
    assert scraped.value("wirerank_unmatched_labels_total", reason="rank_only") == 0
    assert scraped.value("wirerank_rounds_total", lane="perceptron") == 1
    assert scraped.value("wirerank_rounds_with_topics_total", lane="prank:ranks=5") == 2
    curve = engine.lanes[1].curve
    for loss in ("ranking_loss", "hit_rate"):
        average = scraped.value("wirerank_round_averaged_loss", lane="prank:ranks=5", loss=loss)
        assert average == curve.last().values[loss]
        total = scraped.value("wirerank_loss_total", lane="prank:ranks=5", loss=loss)
        assert total == 2 * average
    assert scraped.get("wirerank_loss_total", lane="prank:ranks=5", loss="tau_b") is None
    assert scraped.get("wirerank_loss_total", lane="prank:ranks=5", loss="loss1") is None


def test_late_topics_that_no_lane_learns_are_counted() -> None:
    engine, registry = new_engine(("prank:ranks=5",)), CollectorRegistry()
    metrics = LearnerMetrics(registry, "wire")
    list(engine.process(make_block([Event("1", None, ("crude",), None, None)], Tokenizer())))
    show(metrics, engine)
    scraped = scrape(registry)
    assert scraped.value("wirerank_unmatched_labels_total", reason="topics_only") == 1
    assert scraped.value("wirerank_pending_ceiling") == engine.settings.max_pending


def test_durations_fall_into_the_bucket_that_ends_at_them() -> None:
    durations = Durations().plus(0.005).plus(0.0051, 3).plus(1e9)
    counts = dict(zip((*EDGES, None), durations.counts, strict=True))
    assert (counts[0.005], counts[0.01], counts[None]) == (1, 3, 1)
    assert sum(durations.counts) == 5
    assert durations.total == pytest.approx(0.005 + 3 * 0.0051 + 1e9)


def test_latency_is_counted_for_each_document_when_its_rankings_are_out() -> None:
    clock, registry = Clock(), CollectorRegistry()
    metrics = LearnerMetrics(registry, "wire", clock=clock)
    blocks = [LearnedBlock(3, 0.02, 999.0), LearnedBlock(2, 0.2, 960.0), LearnedBlock(5, 0.2, None)]
    show(metrics, new_engine(("frequency",)), *blocks)
    scraped = scrape(registry)
    assert scraped.value("wirerank_block_seconds_count") == 3
    assert scraped.value("wirerank_block_seconds_sum") == pytest.approx(0.42)
    assert scraped.value("wirerank_event_to_ranking_seconds_bucket", le="1.0") == 3
    assert scraped.value("wirerank_event_to_ranking_seconds_bucket", le="30.0") == 3
    assert scraped.value("wirerank_event_to_ranking_seconds_bucket", le="60.0") == 5
    assert scraped.value("wirerank_event_to_ranking_seconds_count") == 5
    assert scraped.value("wirerank_event_to_ranking_seconds_sum") == 3 * 1.0 + 2 * 40.0


def test_a_snapshot_ages() -> None:
    clock, registry = Clock(), CollectorRegistry()
    metrics = LearnerMetrics(registry, "wire", clock=clock)
    metrics.snapshot(written=900.0, size_bytes=10)  # the one it went on from
    scraped = scrape(registry)
    assert scraped.value("wirerank_snapshot_age_seconds") == 100
    assert scraped.value("wirerank_snapshots_total") == 0
    assert scraped.get("wirerank_snapshot_seconds") is None
    metrics.snapshot(written=1000.0, size_bytes=20, seconds=0.5)
    clock.now = 1007.0
    scraped = scrape(registry)
    assert scraped.value("wirerank_snapshot_age_seconds") == 7
    assert scraped.value("wirerank_snapshot_bytes") == 20
    assert scraped.value("wirerank_snapshot_seconds") == 0.5
    assert scraped.value("wirerank_snapshots_total") == 1


def test_lag_is_that_of_now_and_of_the_partitions_one_has() -> None:
    clock, registry = Clock(), CollectorRegistry()
    lag = LagMetrics(registry, "wire", clock)
    lag.polled({"d-0": Position(90, 100, 970.0), "d-1": Position(5, 5, 100.0)})
    scraped = scrape(registry)
    assert scraped.value("wirerank_lag_records", partition="d-0") == 10
    assert scraped.value("wirerank_lag_seconds", partition="d-0") == 30
    assert scraped.value("wirerank_lag_records", partition="d-1") == 0
    assert scraped.value("wirerank_lag_seconds", partition="d-1") == 0
    clock.now = 1100.0  # nobody polls: who was behind falls further behind
    assert scrape(registry).value("wirerank_lag_seconds", partition="d-0") == 130
    lag.polled({"d-1": Position(5, 9, None)})
    scraped = scrape(registry)
    assert scraped.get("wirerank_lag_records", partition="d-0") is None
    assert scraped.value("wirerank_lag_records", partition="d-1") == 4
    assert scraped.get("wirerank_lag_seconds", partition="d-1") is None


def test_dead_letters_are_counted_by_reason_from_zero() -> None:
    registry = CollectorRegistry()
    metrics = TokenizerMetrics(registry, "wire")
    scraped = scrape(registry)
    for reason in REASONS:
        assert scraped.value("wirerank_dead_letters_total", reason=reason) == 0
    metrics.written(10, ["not_json", "bad_id", "not_json"])
    metrics.written(5)
    scraped = scrape(registry)
    assert scraped.value("wirerank_events_read_total") == 15
    assert scraped.value("wirerank_blocks_written_total") == 2
    assert scraped.value("wirerank_dead_letters_total", reason="not_json") == 2
    assert scraped.value("wirerank_dead_letters_total", reason="bad_id") == 1


def test_the_table_of_the_documents_is_what_is_shown() -> None:
    """Names, kinds, labels and meanings: of the declarations, of a scrape, and of the table."""
    text = (REPOSITORY / "docs" / "reference" / "metrics.md").read_text()
    row = r"^\| `(wirerank_\w+)` \| (\w+) \| (.*?) \| (.*) \|$"
    table = {
        name: (kind, frozenset(re.findall(r"`(\w+)`", labels)), meaning)
        for name, kind, labels, meaning in re.findall(row, text, re.M)
    }
    declared = {f.name: (f.kind, frozenset(f.labels), f.meaning) for f in ALL}
    assert table == declared
    shown = {}
    for family in scrape(everything()).families:
        labels = {label for sample in family.samples for label in sample.labels} - {"le"}
        name = f"{family.name}_total" if family.type == "counter" else family.name
        shown[name] = (family.type, frozenset(labels), family.documentation)
    assert {n: s for n, s in shown.items() if n.startswith("wirerank_")} == declared
    assert {"process_resident_memory_bytes", "process_start_time_seconds"} <= set(shown)


def test_trims_are_counted_from_zero_on() -> None:
    """A counter that appears only with its first problem would show no increase."""
    registry = CollectorRegistry()
    metrics = LogMetrics(registry, "wire")
    names = ("wirerank_log_trims_total", "wirerank_log_trim_problems_total")

    def shown() -> list[float]:
        value = scrape(registry).value
        return [value(names[0]), *(value(names[1], reason=r) for r in ("blocked", "failed"))]

    assert shown() == [0, 0, 0]
    metrics.trimmed(TrimmedLog(0, 10, 1e6), 0, 0.0, (), blocked=False)
    metrics.trimmed(TrimmedLog(0, 10, 1e6), 0, 0.0, ("lane",), blocked=True)
    metrics.failed()
    metrics.failed()
    assert shown() == [1, 1, 2]


def test_labels_are_few_and_bounded() -> None:
    """A hundred topics and thousands of terms add no series but those that were asked for."""
    allowed = {"stream", "lane", "shard", "loss", "measure", "topic", "partition", "reason"}
    assert {label for f in ALL if f is not families.BUILD for label in f.labels} == allowed
    samples = scrape(everything()).samples
    lanes = (len(LANES) + 2) * (2 * len(MEASURES) + 8 + 2 * (WATCHED + 1))
    decisions = 2 * len(DECISION_MEASURES) + 4 + 2 * (WATCHED + 1)
    assert len(samples) < lanes + decisions + len(REASONS) + 95


def test_metrics_are_built_once_on_a_registry() -> None:
    registry = everything()
    for again in (LearnerMetrics, TokenizerMetrics, LagMetrics):
        with pytest.raises(ValueError, match="Duplicated timeseries"):
            again(registry, "wire")
    everything()


def test_names_of_streams_may_be_anything() -> None:
    odd = 'a "b"\\\nc \u2603'
    assert scrape(everything(odd)).value("wirerank_documents_total", stream=odd) == 300
