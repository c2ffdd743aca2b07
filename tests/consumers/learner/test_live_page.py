"""The live page of real learners on a real broker shows what they learned."""

from __future__ import annotations

import re
import socket
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
import typer
from playwright.sync_api import Browser, expect

from consumers.commands.learn import live_page
from consumers.commands.run import page_ports
from consumers.config import read_config
from consumers.supervisor import children
from learners.measures import MEASURES
from pipeline.commands import live_page as page_checks
from pipeline.corpora import open_source
from pipeline.engine.engine import Engine
from pipeline.page.feed import PageFeed
from pipeline.page.samples import ReadProgress
from pipeline.page.updates import update_since
from tests.support.kafka_stream import Streaming, eventually, values_by_lane
from tests.support.page_texts import drawn, figure
from tests.support.ports import free_port, neighbouring_ports

LANES = ("mmp:loss=1", "perceptron:average=true,norm=l2")
WATCHED = "mmp:loss=2"


def page_update(address: str) -> dict[str, Any]:
    """The first messages to a new viewer; nothing if no page is served."""
    try:
        with urllib.request.urlopen(f"{address}updates", timeout=60) as answer:  # noqa: S310
            update: dict[str, Any] = orjson.loads(answer.read())
    except OSError:
        return {"status": {"documents": 0}, "lanes": []}
    return update


def shows(address: str, documents: int, lanes: int) -> Callable[[], bool]:
    def check() -> bool:
        update = page_update(address)
        return update["status"]["documents"] == documents and len(update["lanes"]) == lanes

    return check


def of_engine(engine: Engine) -> dict[str, Any]:
    """The messages of a page whose engine followed the log without faults."""
    feed = PageFeed("alone")
    feed.begin(engine, ReadProgress(0, None))
    update: dict[str, Any] = orjson.loads(orjson.dumps(update_since(feed.sample, 0), default=tuple))
    return update


def learned(update: dict[str, Any]) -> list[Any]:
    """The curve and measures of each lane, without the times."""
    return [
        [lane["name"], lane["rounds"], lane["last"]]
        + [lane["curve"][column] for column in ("round", *MEASURES)]
        for lane in update["lanes"]
    ]


def test_the_page_of_a_learner_that_is_killed_and_comes_back(
    broker: str, tmp_path: Path, browser: Browser
) -> None:
    events = list(open_source("synthetic:900,topics=12"))
    port = free_port()
    address = f"http://127.0.0.1:{port}/"
    with Streaming(broker, tmp_path, LANES, watched=[WATCHED], every=0.5) as streaming:
        streaming.start("tokenize-0")
        streaming.start("learn", "--page", "--page-port", str(port))
        streaming.produce(events[:400])
        assert eventually(shows(address, 400, 3), 90), streaming.log("learn")
        assert f"live page: {address}" in streaming.log("learn")
        page = browser.new_page()
        page.goto(address)
        expect(figure(page, "Documents ranked")).to_have_text("400")
        expect(page.locator("#through-label")).to_have_text("Log records read")
        streaming.kill("learn")
        expect(page.locator("#state")).to_have_text("connection lost")
        streaming.produce(events[400:600])
        streaming.start("learn", "--page", "--page-port", str(port))
        for start in range(600, 900, 10):
            streaming.produce(events[start : start + 10])
        published = [message.value for message in streaming.rankings(1800)]
        assert eventually(shows(address, 900, 3)), streaming.log("learn")
        expect(figure(page, "Documents ranked")).to_have_text("900")
        engine, rankings = streaming.undisturbed()
        records = len(streaming.read(streaming.stream.blocks, 1))
        assert eventually(lambda: page_update(address)["status"]["total"] == records)
        update, expected = page_update(address), of_engine(engine)
        for trace, lane in zip(drawn(page), engine.lanes, strict=True):
            points = list(lane.curve.all_points())
            assert trace["x"] == [point.round for point in points]
            assert trace["y"] == [100 * (point.values["loss1"] or 0.0) for point in points]
        page.close()
        for name in ("tokenize-0", "learn"):
            assert streaming.end(name) == 0, streaming.log(name)
    watched = f'"lane":"{WATCHED}"'.encode()
    expected_rankings = [ranking for ranking in rankings if watched not in ranking]
    assert values_by_lane(published) == values_by_lane(expected_rankings)
    assert learned(update) == learned(expected)
    assert update["table"] == expected["table"]
    assert update["against"] == expected["against"]
    assert update["status"]["state"] == "running"
    assert update["status"]["read"] == records
    assert update["documents"], "documents are shown"
    assert all(len(document["rankings"]) == 3 for document in update["documents"])


def test_a_lane_that_is_added_joins_the_page(broker: str, tmp_path: Path) -> None:
    events = list(open_source("synthetic:700,topics=12"))
    with Streaming(broker, tmp_path, LANES[:1]) as streaming:
        streaming.start("tokenize-0")
        streaming.start("learn")
        streaming.produce(events[:400])
        streaming.rankings(400)
        assert streaming.end("learn") == 0
        streaming.configure([LANES[1], LANES[0]])
        streaming.start("learn", "--page")
        for start in range(400, 700, 20):
            streaming.produce(events[start : start + 20])
            time.sleep(0.05)
        rankings = sorted(message.value or b"" for message in streaming.rankings(1400))
        (address,) = re.findall(r"live page: (http://\S+)", streaming.log("learn"))
        assert eventually(shows(address, 700, 2)), streaming.log("learn")
        update = page_update(address)
        engine, expected = streaming.undisturbed()
        for name in ("tokenize-0", "learn"):
            assert streaming.end(name) == 0, streaming.log(name)
        assert "caught up with the others at offset" in streaming.log("learn")
        assert "live page failed" not in streaming.log("learn")
    assert rankings == sorted(expected)
    assert learned(update) == learned(of_engine(engine))
    assert update["status"]["behind"] == []


def test_the_page_waits_with_the_worker_for_a_broker(broker: str, tmp_path: Path) -> None:
    """The worker is restarted again and again; the page stays, and says that it is starting."""
    port = free_port()
    address = f"http://127.0.0.1:{port}/"
    with Streaming(broker, tmp_path, LANES) as streaming:
        nobody = f"127.0.0.1:{free_port()}"
        streaming.path.write_text(streaming.text.replace(broker, nobody))
        streaming.start("learn", "--page", "--page-port", str(port))
        assert eventually(lambda: page_update(address)["status"].get("state") == "starting", 60)
        assert eventually(lambda: streaming.log("learn").count("trying again") > 1, 60)
        assert page_update(address)["status"]["state"] == "starting"
        assert streaming.end("learn") == 0
        with socket.create_server(("127.0.0.1", port)):
            streaming.start("learn", "--page", "--page-port", str(port))
            assert streaming.code("learn") == 2
            message = f"cannot be served at port {port}: Address already in use."
            assert message in streaming.log("learn")


CONFIG = """
[kafka]
bootstrap = "127.0.0.1:{port}"
[metrics]
port = 0
[snapshots]
folder = "{folder}/snapshots"
[[streams]]
name = "one"
lanes = [{{spec = "mmp:loss=1"}}]
[[streams]]
name = "two"
lanes = [{{spec = "mmp:loss=1"}}]
"""


def test_each_learner_has_a_page_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "wirerank.toml"
    path.write_text(CONFIG.format(folder=tmp_path, port=1))
    config = read_config(path, {})

    def pages(first: int) -> list[list[str]]:
        workers = children(config, path, 1, page_ports(2, True, first))
        return [worker.arguments[4:] for worker in workers if worker.arguments[0] == "learn"]

    first = neighbouring_ports()
    expected = [["--page", "--page-port", str(port)] for port in (first, first + 1)]
    assert pages(first) == expected
    assert pages(0) == [["--page", "--page-port", "0"]] * 2
    alone = children(config, path, 1, page_ports(2, False, 0))
    assert not any("--page" in worker.arguments for worker in alone)


def test_pages_that_cannot_be_end_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(first: int, asked: bool = True) -> str:
        with pytest.raises(typer.Exit) as end:
            page_ports(2, asked, first)
        assert end.value.exit_code == 2
        return capsys.readouterr().err

    assert "--page-port needs --page" in refused(8000, asked=False)
    assert "leaves no port for each of 2 streams" in refused(65_535)
    first = neighbouring_ports()
    with socket.create_server(("127.0.0.1", first + 1)):
        assert f"port {first + 1}: Address already in use" in refused(first)
    monkeypatch.setattr(page_checks, "find_spec", lambda name: None if name == "uvicorn" else name)
    missing = "--page needs uvicorn. Install it with: pip install 'wirerank[page]'"
    assert missing in refused(0)
    with pytest.raises(typer.Exit) as end, live_page("one", True, 0):
        pass
    assert end.value.exit_code == 2
    assert missing in capsys.readouterr().err
