"""The decisions of lanes that assign topics: as ranking events and labels have them."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import orjson
import pytest
from prometheus_client import CollectorRegistry

from pipeline.corpora import open_source
from pipeline.curves.decision_curve import MEASURES
from pipeline.metrics.collectors import LearnerMetrics
from pipeline.metrics.topic_losses import OTHERS
from pipeline.replay.replay import replay
from pipeline.replay.settings import ReplaySettings
from pipeline.snapshots.restoring import restore_engine
from pipeline.snapshots.snapshot import take_snapshot
from tests.pipeline.metrics.test_topic_losses import Scraping
from tests.support.scraping import Scrape, learn, new_engine, readings, scrape

SOURCE = "synthetic:600,topics=12"
DECIDES = "soft-arow:assign=micro,risk=0.3,name=decides"
LANES = (DECIDES, "perceptron")
COUNTS = (
    "assigned_topics", "right_topics", "relevant_topics", "review_rounds", "decided_documents",
    "review_documents",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("decisions")


@pytest.fixture(scope="module")
def scraped(folder: Path) -> list[Scrape]:
    """A replay, scraped after each of its blocks."""
    watch = Scraping()
    settings = ReplaySettings(
        SOURCE, LANES, block=64, rankings=folder / "rankings.jsonl", top=0,
        dead_letters=folder / "dead.jsonl", metrics=0, metric_topics=5,
    )  # fmt: skip
    replay(settings, watch)
    return watch.scraped


def by_hand(rankings: Path) -> tuple[dict[str, float], dict[str, Counter[str]]]:
    """The counts over all rounds, and per topic, from ranking events and labels."""
    labels = {(event := orjson.loads(raw))["id"]: event["topics"] for raw in open_source(SOURCE)}
    counts: dict[str, float] = defaultdict(float)
    topics = {"assigned": Counter[str](), "right": Counter[str]()}
    for line in rankings.read_bytes().splitlines():
        event = orjson.loads(line)
        if event["lane"] != "decides":
            continue
        assigned, relevant = set(event["assigned"]), set(labels[event["id"]])
        right = assigned & relevant
        sizes = len(assigned) + len(relevant)
        counts["assigned_topics"] += len(assigned)
        counts["right_topics"] += len(right)
        counts["relevant_topics"] += len(relevant)
        counts["review_rounds"] += event["review"]
        counts["review_documents"] += event["review"]
        counts["decided_documents"] += 1
        counts["exact"] += assigned == relevant
        counts["f1"] += 2 * len(right) / sizes if sizes else 1.0
        topics["assigned"].update(assigned)
        topics["right"].update(right)
    return counts, topics


def test_counters_are_what_ranking_events_and_labels_say(
    scraped: list[Scrape], folder: Path
) -> None:
    counts, _ = by_hand(folder / "rankings.jsonl")
    last = scraped[-1]
    for name in COUNTS:
        assert counts[name] > 0
        assert last.value(f"wirerank_{name}_total", lane="decides") == counts[name]
    sums = {
        measure: last.value("wirerank_decision_total", lane="decides", measure=measure)
        for measure in ("sample_f1", "subset_accuracy")
    }
    assert sums["subset_accuracy"] == counts["exact"]
    assert sums["sample_f1"] == pytest.approx(counts["f1"])
    rounds = last.value("wirerank_rounds_total", lane="decides")
    average = last.value("wirerank_round_averaged_decision", lane="decides", measure="sample_f1")
    assert sums["sample_f1"] / rounds == average


def test_topics_are_what_ranking_events_and_labels_say(scraped: list[Scrape], folder: Path) -> None:
    """With those of the losses, they give precision, recall and F1 of each topic."""
    _, topics = by_hand(folder / "rankings.jsonl")
    names = {
        dict(labels)["topic"] for (_, labels) in scraped[-1].samples if "topic" in dict(labels)
    }
    assert len(names) == 5 + 1
    for kind, counts in topics.items():
        shown = {
            name: scraped[-1].value(f"wirerank_topic_{kind}_total", lane="decides", topic=name)
            for name in names
        }
        others = shown.pop(OTHERS)
        assert shown == {name: counts[name] for name in shown}
        assert others == sum(counts.values()) - sum(shown.values())
        assert others > 0
    relevant = sum(
        scraped[-1].value("wirerank_topic_rounds_total", lane="decides", topic=name)
        for name in names
    )
    assert relevant == scraped[-1].value("wirerank_relevant_topics_total", lane="decides")


def test_counters_never_decrease(scraped: list[Scrape]) -> None:
    counters = [f"wirerank_{name}_total" for name in (*COUNTS, "topic_assigned", "topic_right")]
    for earlier, later in pairwise(scraped):
        for (name, labels), value in earlier.samples.items():
            if name in counters:
                assert later.samples[name, labels] >= value


def test_lanes_that_assign_nothing_have_none_of_these(scraped: list[Scrape]) -> None:
    lanes = {
        dict(labels)["lane"]
        for name, labels in scraped[-1].samples
        if "measure" in dict(labels) or name in {f"wirerank_{name}_total" for name in COUNTS}
    }
    assert lanes == {"decides"}


def test_lanes_without_a_risk_have_no_metrics_of_marks() -> None:
    engine, registry = new_engine(("soft-arow:assign=micro",)), CollectorRegistry()
    metrics = LearnerMetrics(registry, "wire")
    for reading in readings("synthetic:100,topics=20", 64):
        learn(engine, reading)
    metrics.learned([engine])
    metrics.committed()
    samples = scrape(registry).samples
    measures = {dict(labels).get("measure") for _, labels in samples}
    assert {name for name, _ in samples if "review" in name} == set()
    assert measures & {*MEASURES} == {*MEASURES} - {"review_share", "trusted_f1"}
    assert "wirerank_decided_documents_total" in {name for name, _ in samples}


def test_averages_are_those_of_the_curve_also_after_a_restart() -> None:
    engine = new_engine(LANES)
    for number, reading in enumerate(readings("synthetic:300,topics=20", 64)):
        registry = CollectorRegistry()
        metrics = LearnerMetrics(registry, "wire")
        learn(engine, reading)
        if number == 2:
            restored = new_engine(LANES)
            restore_engine(restored, take_snapshot(engine, number))
            engine = restored
        metrics.learned([engine])
        metrics.committed()
        curve = engine.lanes[0].decision_curve
        assert curve is not None
        shown = {
            measure: scrape(registry).get("wirerank_round_averaged_decision", measure=measure)
            for measure in MEASURES
        }
        assert shown == curve.last().values


def test_before_the_first_round_there_are_counters_and_no_averages() -> None:
    registry = CollectorRegistry()
    metrics = LearnerMetrics(registry, "wire", topics=3)
    metrics.learned([new_engine(LANES)])
    metrics.committed()
    first = scrape(registry)
    assert [first.value(f"wirerank_{name}_total") for name in COUNTS] == [0] * len(COUNTS)
    assert not any(name == "wirerank_round_averaged_decision" for name, _ in first.samples)
    assert first.value("wirerank_topic_assigned_total", topic=OTHERS) == 0
