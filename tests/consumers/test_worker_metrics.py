"""The metrics of real workers: no counter goes backwards, whatever is killed."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from pipeline.corpora import open_source
from pipeline.curves.topic_curve import TopicCurve
from tests.support.kafka_stream import Streaming, eventually
from tests.support.scraping import scrape_url

LANES = ("mmp:loss=1", "perceptron:average=true")
WATCHED = "mmp:loss=2"

LEARNING = (
    "wirerank_rounds_total",
    "wirerank_loss_total",
    "wirerank_topic_rounds_total",
    "wirerank_topic_loss_total",
)

Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


class Watcher(threading.Thread):
    """Scrapes a worker again and again, and notes counters that went backwards."""

    def __init__(self, streaming: Streaming, name: str) -> None:
        super().__init__(daemon=True)
        self._streaming, self._name = streaming, name
        self.stopped = threading.Event()
        self.last: Series = {}
        self.scrapes = 0
        self.backwards: list[str] = []

    def run(self) -> None:
        while not self.stopped.wait(0.1):
            try:
                samples = scrape_url(self._streaming.address(self._name)).samples
            except (OSError, ValueError):
                continue  # it was killed, and is not back yet
            learning = {key: value for key, value in samples.items() if key[0] in LEARNING}
            self.scrapes += bool(learning)
            for key, value in learning.items():
                if value < self.last.get(key, 0.0):
                    self.backwards.append(f"{key}: {self.last[key]} -> {value}")
            self.last.update(learning)


def test_curves_without_a_tooth(broker: str, tmp_path: Path) -> None:
    events = list(open_source("synthetic:1500,topics=12"))
    events.insert(700, b"rubbish")
    with Streaming(broker, tmp_path, LANES, watched=[WATCHED], every=0.5) as streaming:
        for name in ("tokenize-0", "learn"):
            streaming.start(name)
        assert eventually(lambda: bool(streaming.address("learn")), 60)
        watcher = Watcher(streaming, "learn")
        watcher.start()
        for start in range(0, len(events), 100):
            streaming.produce(events[start : start + 100])
            time.sleep(0.3)
            if start in (500, 1000):
                streaming.kill("learn")
                streaming.start("learn")
        assert len(streaming.rankings(3000)) == 3000
        engine, _ = streaming.undisturbed()
        where = {"stream": streaming.name, "shard": "0"}

        def shown(lane: str) -> float:
            key = ("wirerank_rounds_total", frozenset({**where, "lane": lane}.items()))
            return scrape_url(streaming.address("learn")).samples.get(key, 0.0)

        assert eventually(lambda: all(shown(lane.name) == engine.rounds for lane in engine.lanes))
        watcher.stopped.set()
        final = scrape_url(streaming.address("learn")).samples
        tokenizer = scrape_url(streaming.address("tokenize-0")).samples
        for name in ("tokenize-0", "learn"):
            assert streaming.end(name) == 0, streaming.log(name)
    assert watcher.backwards == []
    assert watcher.scrapes > 20
    for lane in engine.lanes:
        for loss, value in lane.curve.last().values.items():
            labels = {**where, "lane": lane.name, "loss": loss}
            assert final["wirerank_round_averaged_loss", frozenset(labels.items())] == value
        assert isinstance(lane.curve, TopicCurve)
        rounds, losses = lane.curve.topic_losses()
        for number, topic in enumerate(engine.topics.names[:8]):
            labels_of_topic = frozenset({**where, "lane": lane.name, "topic": topic}.items())
            assert final["wirerank_topic_rounds_total", labels_of_topic] == rounds[number] > 0
            assert final["wirerank_topic_loss_total", labels_of_topic] == losses[number]
        others = frozenset({**where, "lane": lane.name, "topic": "(others)"}.items())
        assert final["wirerank_topic_rounds_total", others] == sum(rounds[8:]) > 0
    letters = {"stream": streaming.name, "reason": "not_json"}
    assert tokenizer["wirerank_dead_letters_total", frozenset(letters.items())] == 1
    lag = {"stream": streaming.name, "partition": f"{streaming.documents}-0"}
    assert tokenizer["wirerank_lag_records", frozenset(lag.items())] == 0
