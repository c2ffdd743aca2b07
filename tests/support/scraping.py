"""A scrape as tests read it, and engines and blocks to be scraped."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from learners.sharding.exchange import ThreadExchange
from learners.sharding.shard import Shard
from learners.specs import LaneSpec, parse_spec
from pipeline.corpora import open_source
from pipeline.curves.lane_changes import Change
from pipeline.engine.engine import Engine
from pipeline.log.block_reader import BlockReader, SourceBlock
from pipeline.metrics.collectors import (
    LagMetrics,
    LearnedBlock,
    LearnerMetrics,
    Position,
    ProcessMetrics,
    TokenizerMetrics,
)
from pipeline.metrics.health import Health
from pipeline.metrics.log_metrics import LogMetrics, TrimmedLog
from pipeline.text.tokenizer import Tokenizer

LANES = ("mmp:loss=1", "perceptron")
# The same names; the second lane assigns topics.
DECIDING_LANES = (LANES[0], f"{LANES[1]}:assign=micro,risk=0.1,name={LANES[1]}")
WATCHED = 5  # topics with a loss of their own, where everything is shown


class Scrape:
    """The samples of one exposition, by name and labels."""

    def __init__(self, text: str) -> None:
        self.families = list(text_string_to_metric_families(text))
        self.samples = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in self.families
            for sample in family.samples
        }

    def get(self, name: str, **labels: str) -> float | None:
        """The one sample of this name whose labels include these, if there is one."""
        wanted = labels.items()
        actual = [v for (n, has), v in self.samples.items() if n == name and wanted <= set(has)]
        assert len(actual) <= 1, f"{name} {labels} is not one sample, but {len(actual)}"
        return actual[0] if actual else None

    def value(self, name: str, **labels: str) -> float:
        """The same, if it must be there."""
        actual = self.get(name, **labels)
        assert actual is not None, f"there is no {name} {labels}"
        return actual


def scrape(registry: CollectorRegistry) -> Scrape:
    """What Prometheus would be sent now."""
    return Scrape(generate_latest(registry).decode())


def scrape_url(url: str) -> Scrape:
    """What a server sends."""
    with urllib.request.urlopen(url, timeout=60) as answer:  # noqa: S310 - our own server
        return Scrape(answer.read().decode())


def new_engine(lanes: tuple[str, ...] = LANES) -> Engine:
    return Engine([parse_spec(lane) for lane in lanes])


def readings(source: str, block: int) -> Iterator[SourceBlock]:
    """Blocks as a replay reads them."""
    yield from BlockReader(open_source(source), Tokenizer(), block)


def learn(engine: Engine, reading: SourceBlock) -> None:
    for _ in engine.process(reading.block):
        pass


def one_shard(spec: LaneSpec) -> Shard:
    """The only shard of a lane."""
    return spec.new_shard(ThreadExchange(1).member(0), 10)


def everything(stream: str = "wire") -> CollectorRegistry:
    """A registry with every metric there is, each with samples."""
    registry = CollectorRegistry()
    learner = LearnerMetrics(registry, stream, topics=WATCHED)
    divided = f"{LANES[0]},shards=2,name={LANES[0].partition(':')[0]}"
    engine = new_engine((*DECIDING_LANES[1:], "feature-focus", divided))
    engine.lanes[0].curve.changes.kept.append(Change(1, 1, 0.1, 0.2))
    shard = Engine([parse_spec("arow")], build=one_shard)
    for reading in readings("synthetic:300", 100):
        learn(engine, reading)
        learn(shard, reading)
        learner.learned([engine, shard], [LearnedBlock(100, 0.1, 1.0)])
        learner.committed()
    learner.snapshot(1.0, 1, 1.0)
    learner.copied(1.0)
    learner.began({lane.name: 0 for lane in engine.lanes})
    LogMetrics(registry, stream).trimmed(TrimmedLog(5, 10, 1e6), 5, 5e5, (LANES[0],), blocked=True)
    TokenizerMetrics(registry, stream).written(300)
    LagMetrics(registry, stream).polled({"wire.documents-0": Position(1, 2, 1.0)})
    ProcessMetrics(registry, Health())
    return registry
