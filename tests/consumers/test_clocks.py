"""Workers whose clocks are off by hours: the stream goes on, and they say so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kafka.admin import ConfigResource, ConfigResourceType

from consumers.kafka.clients import new_admin
from pipeline.corpora import open_source
from tests.support.kafka_stream import Streaming, eventually
from tests.support.scraping import scrape_url

LANE = "mmp:loss=1"
HOURS = 7200
NEEDS_AN_OPERATOR = 3
AHEAD, BEHIND = (("tests.support.shifted_clock", str(seconds)) for seconds in (HOURS, -HOURS))


def clock_ahead(streaming: Streaming, name: str) -> float:
    """What the metrics of a worker say about its clock."""
    return scrape_url(streaming.address(name)).samples[
        ("wirerank_clock_ahead_seconds", frozenset())
    ]


def test_the_stream_goes_on_with_clocks_that_are_off(broker: str, tmp_path: Path) -> None:
    events = list(open_source("synthetic:100,topics=12"))
    with Streaming(broker, tmp_path, [LANE]) as streaming:
        streaming.start("tokenize-0", program=AHEAD)
        streaming.start("learn", program=BEHIND)
        streaming.produce([*events, b"no event"])
        published = [message.value for message in streaming.rankings(len(events))]
        assert published == streaming.undisturbed()[1]
        assert len(streaming.read(streaming.stream.dead_letters, 1, 1)) == 1
        for name, shown in (("tokenize-0", "ahead of"), ("learn", "behind")):
            words = f"s {shown} the broker's"
            assert eventually(lambda: words in streaming.log(name), 60), streaming.log(name)  # noqa: B023
            assert streaming.log(name).count("the clock of this machine is 7") == 1
        assert abs(clock_ahead(streaming, "tokenize-0") - HOURS) < 300
        assert abs(clock_ahead(streaming, "learn") + HOURS) < 300
        for name in ("tokenize-0", "learn"):
            assert streaming.end(name) == 0, streaming.log(name)


def test_topics_of_others_and_a_clock_that_the_broker_refuses(broker: str, tmp_path: Path) -> None:
    """Their records keep the time of the sender; one whose clock is right can write them."""
    events = list(open_source("synthetic:60,topics=12"))
    with Streaming(broker, tmp_path, [LANE]) as streaming:
        stream = streaming.stream
        use_the_senders_time(streaming, [stream.blocks, stream.rankings, stream.dead_letters])
        streaming.produce(events)
        streaming.start("tokenize-0", program=AHEAD)
        assert streaming.code("tokenize-0") == NEEDS_AN_OPERATOR, streaming.log("tokenize-0")
        assert "the broker refuses records because of their time" in streaming.log("tokenize-0")
        del streaming.processes["tokenize-0"]
        streaming.start("tokenize-1")
        streaming.start("learn")
        published = [message.value for message in streaming.rankings(len(events))]
        assert published == streaming.undisturbed()[1]
        assert "has message.timestamp.type CreateTime" in streaming.log("learn")
        assert "the clock of this machine" not in streaming.log("tokenize-1")
        for name in ("tokenize-1", "learn"):
            assert streaming.end(name) == 0, streaming.log(name)


def use_the_senders_time(streaming: Streaming, topics: list[str]) -> None:
    """Give topics the setting that earlier releases left to the broker."""
    admin: Any = new_admin(streaming.config.kafka)
    setting = {"message.timestamp.type": "CreateTime"}
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, t, setting) for t in topics])
    admin.close()
