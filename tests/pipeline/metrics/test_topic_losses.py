"""The loss of single topics: as rankings and labels have it, capped, and only if asked for."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import orjson
import pytest
from prometheus_client import CollectorRegistry

from learners.slow.measures import slow_topic_losses
from pipeline.corpora import open_source
from pipeline.engine.engine import Engine
from pipeline.engine.ranked_segment import RankedSegment
from pipeline.events.event import Event
from pipeline.log.block import Block, make_block
from pipeline.metrics.collectors import LearnerMetrics
from pipeline.metrics.topic_losses import OTHERS
from pipeline.replay.progress import Progress
from pipeline.replay.replay import replay
from pipeline.replay.settings import ReplaySettings
from pipeline.text.tokenizer import Tokenizer
from tests.support.command_line import wirerank
from tests.support.scraping import LANES, Scrape, new_engine, scrape, scrape_url

SOURCE = "synthetic:400,topics=12"
Topics = dict[tuple[str, str], tuple[float, float]]  # by lane and topic: rounds, sum of the loss


def shown(scraped: Scrape) -> Topics:
    """What a scrape says of topics."""
    collected: Topics = {}
    for (name, labels), rounds in scraped.samples.items():
        if name == "wirerank_topic_rounds_total":
            of_lane = dict(labels)
            loss = scraped.value("wirerank_topic_loss_total", **of_lane)
            collected[of_lane["lane"], of_lane["topic"]] = (rounds, loss)
    return collected


def by_hand(rankings: Path, source: str) -> Topics:
    """The same from whole rankings and the labels of the corpus.

    A topic that a ranking lacks was found with its own labels, and joins with a score of 0.
    """
    labels = {(event := orjson.loads(raw))["id"]: event["topics"] for raw in open_source(source)}
    collected: Topics = defaultdict(lambda: (0.0, 0.0))
    for line in rankings.read_bytes().splitlines():
        event = orjson.loads(line)
        scores = {place["topic"]: place["score"] for place in event["ranking"]}
        scores |= {topic: 0.0 for topic in labels[event["id"]] if topic not in scores}
        names = list(scores)
        relevant = {names.index(topic) for topic in labels[event["id"]]}
        for number, loss in slow_topic_losses(list(scores.values()), relevant).items():
            rounds, so_far = collected[event["lane"], names[number]]
            collected[event["lane"], names[number]] = (rounds + 1, so_far + loss)
    return dict(collected)


class Scraping(Progress):
    """Scrapes a replay after each of its blocks."""

    def __init__(self) -> None:
        self.scraped: list[Scrape] = []

    def say(self, line: str) -> None:
        if line.startswith("metrics = "):
            self._url = line.removeprefix("metrics = ")

    def block_learned(self, block: Block, segments: Sequence[RankedSegment]) -> None:
        self.scraped.append(scrape_url(self._url))


def scraped_replay(folder: Path, topics: int, block: int = 64) -> list[Scrape]:
    watch = Scraping()
    settings = ReplaySettings(
        SOURCE, LANES, block=block, rankings=folder / "rankings.jsonl", top=0,
        dead_letters=folder / "dead.jsonl", metrics=0, metric_topics=topics,
    )  # fmt: skip
    replay(settings, watch)
    return watch.scraped


def test_a_replay_shows_what_its_rankings_and_labels_say(tmp_path: Path) -> None:
    scraped = scraped_replay(tmp_path, 100)
    expected = by_hand(tmp_path / "rankings.jsonl", SOURCE)
    assert len(expected) == 12 * len(LANES)
    assert any(loss > 1 for _, loss in expected.values())
    assert shown(scraped[-1]) == expected | {(lane, OTHERS): (0.0, 0.0) for lane in LANES}
    for earlier, later in pairwise(scraped):
        before, after = shown(earlier), shown(later)
        for key, (rounds, loss) in before.items():
            assert after[key][0] >= rounds
            assert after[key][1] >= loss


def test_no_more_topics_than_asked_for_and_the_others_together(tmp_path: Path) -> None:
    """However the stream is cut into blocks."""
    *_, last = scraped_replay(tmp_path, 3)
    everything = by_hand(tmp_path / "rankings.jsonl", SOURCE)
    some = shown(last)
    for lane in LANES:
        of_lane = {topic: value for (own, topic), value in some.items() if own == lane}
        assert len(of_lane) == 3 + 1
        rest = [v for (own, topic), v in everything.items() if own == lane and topic not in of_lane]
        assert len(rest) == 12 - 3
        assert of_lane.pop(OTHERS) == tuple(map(math.fsum, zip(*rest, strict=True)))
        assert {
            (lane, topic): value for topic, value in of_lane.items()
        }.items() <= everything.items()
    assert shown(scraped_replay(tmp_path, 3, block=1000)[-1]) == some


def test_no_topic_is_shown_unless_asked_for(tmp_path: Path) -> None:
    *_, last = scraped_replay(tmp_path, 0)
    assert last.value("wirerank_topics") == 12
    assert not any("topic" in dict(labels) for _, labels in last.samples)
    assert ReplaySettings(SOURCE).metric_topics == 0


def of_one_document(engine: Engine, topics: tuple[str, ...], watched: int) -> Topics:
    registry = CollectorRegistry()
    metrics = LearnerMetrics(registry, "wire", topics=watched)
    for _ in engine.process(make_block([Event("1", "wheat", topics, None, None)], Tokenizer())):
        pass
    metrics.learned([engine])
    metrics.committed()
    return shown(scrape(registry))


def test_names_of_topics_may_be_anything() -> None:
    odd = 'a "b"\\\nc \u2603'
    assert of_one_document(new_engine(("perceptron",)), (odd,), 5) == {
        ("perceptron", odd): (1, 0),
        ("perceptron", OTHERS): (0, 0),
    }


def test_a_topic_that_is_called_like_the_others_is_one_of_them() -> None:
    topics = ("grain", OTHERS, "oil", "ship")
    assert of_one_document(new_engine(("perceptron",)), topics, 3) == {
        ("perceptron", "grain"): (1, 0),
        ("perceptron", "oil"): (1, 0),
        ("perceptron", OTHERS): (2, 0),
    }


def test_declared_topics_begin_at_zero() -> None:
    registry = CollectorRegistry()
    metrics = LearnerMetrics(registry, "wire", topics=5)
    metrics.learned([Engine([lane.spec for lane in new_engine().lanes], ["grain", "oil"])])
    metrics.committed()
    names = ("grain", "oil", OTHERS)
    assert shown(scrape(registry)) == {(lane, name): (0, 0) for lane in LANES for name in names}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--metric-topics", "5"], "--metric-topics needs --metrics PORT"),
        (["--metrics", "0", "--metric-topics", "1001"], "less than or equal to 1000"),
    ],
)
def test_what_has_no_meaning_or_no_end_is_refused(arguments: list[str], message: str) -> None:
    result = wirerank("replay", SOURCE, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
