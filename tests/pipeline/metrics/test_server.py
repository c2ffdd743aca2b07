"""The HTTP server of a process: formats, health, limits, ports, and the replay that has one."""

from __future__ import annotations

import csv
import http.client
import logging
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.parser import text_string_to_metric_families as plain_families

from learners.measures import MEASURES
from pipeline.corpora import open_source
from pipeline.errors import UsageError
from pipeline.metrics.collectors import LearnerMetrics, ProcessMetrics, TokenizerMetrics
from pipeline.metrics.health import Health
from pipeline.metrics.server import MetricsServer
from tests.support.command_line import WIRERANK, wirerank
from tests.support.scraping import Scrape, learn, new_engine, readings, scrape_url

OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"


class Served:
    """A server with something to serve, and a clock of its own."""

    def __init__(self) -> None:
        self.now = 0.0
        self.health = Health(patience_s=60, clock=lambda: self.now)
        self.registry = CollectorRegistry()
        ProcessMetrics(self.registry, self.health)
        TokenizerMetrics(self.registry, "wire")
        engine = new_engine()
        for reading in readings("synthetic:100", 100):
            learn(engine, reading)
        metrics = LearnerMetrics(self.registry, "wire")
        metrics.learned([engine])
        metrics.committed()
        self.server = MetricsServer(self.registry, self.health)

    def ask(self, path: str, method: str = "GET", accept: str = "*/*") -> tuple[int, str, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        connection.request(method, path, headers={"Accept": accept})
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        return answer.status, answer.headers["Content-Type"], body


@pytest.fixture
def served() -> Iterator[Served]:
    served = Served()
    with served.server:
        yield served


def test_both_formats_by_what_the_client_accepts(served: Served) -> None:
    status, kind, body = served.ask("/metrics")
    assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
    plain = {family.name for family in plain_families(body)}
    status, kind, body = served.ask("/metrics?x=1", accept=OPENMETRICS)
    assert status == 200
    assert kind.startswith("application/openmetrics-text; version=1.0.0")
    families = {f.name: f for f in text_string_to_metric_families(body)}  # type: ignore[no-untyped-call]
    assert set(families) == plain
    assert families["wirerank_rounds"].samples[0].value == 100
    assert {"process_resident_memory_bytes", "process_start_time_seconds"} <= plain


@pytest.mark.parametrize("accept", ["", ";;,=", "application/openmetrics-text;version=x.y", "\t"])
def test_an_odd_wish_is_answered(served: Served, accept: str) -> None:
    status, _, body = served.ask("/metrics", accept=accept)
    assert status == 200
    assert "wirerank_rounds_total" in body


def test_health_is_a_loop_that_comes_round(served: Served) -> None:
    assert served.ask("/healthz")[0] == 200
    served.now = 61.0
    status, _, body = served.ask("/healthz")
    assert (status, body) == (
        503,
        "stuck: the main loop last turned 61.0 s ago, expected within 60 s\n",
    )
    served.health.moved()
    assert served.ask("/healthz")[0] == 200
    served.now = 91.0
    loop_age = scrape_url(f"{served.server.url}/metrics").value("wirerank_loop_age_seconds")
    assert loop_age == 30.0


def test_ready_is_recovered_and_alive(served: Served) -> None:
    assert served.ask("/readyz")[0] == 503
    served.health.ready = True
    assert served.ask("/readyz")[0] == 200
    assert scrape_url(f"{served.server.url}/metrics").value("wirerank_ready") == 1
    served.now = 61.0
    assert served.ask("/readyz")[0] == 503


def test_other_questions(served: Served) -> None:
    assert served.ask("/")[0] == 200
    status, _, body = served.ask("/etc/passwd")
    assert (status, body[:24]) == (404, "not found; there is /met")
    assert served.ask("/metrics", "HEAD")[::2] == (200, "")
    assert served.ask("/metrics", "POST")[0] == 501


def test_only_the_loopback_is_listened_on(served: Served) -> None:
    assert served.server.url == f"http://127.0.0.1:{served.server.port}"
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", served.server.port), timeout=5)


def until(done: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait for something that comes soon; refused connections count as not yet."""
    end = time.monotonic() + seconds
    while True:
        try:
            if done():
                return
        except (OSError, http.client.HTTPException):
            pass
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)


def test_a_failing_collector_is_reported_not_fatal(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken:
        def collect(self) -> list[object]:
            raise RuntimeError("broken collector")

    served.registry.register(Broken())  # type: ignore[arg-type]
    with caplog.at_level(logging.ERROR), pytest.raises(http.client.RemoteDisconnected):
        served.ask("/metrics")
    until(lambda: "broken collector" in caplog.text)
    assert served.ask("/healthz")[0] == 200


def test_a_taken_port_is_explained_and_a_closed_one_is_free(served: Served) -> None:
    port = served.server.port
    with pytest.raises(UsageError) as error:
        MetricsServer(CollectorRegistry(), Health(), port=port)
    assert f"port {port} of 127.0.0.1: it is in use" in str(error.value)
    served.server.close()
    MetricsServer(CollectorRegistry(), Health(), port=port).close()
    served.server = MetricsServer(served.registry, served.health)


def test_a_host_that_is_not_ours_is_explained() -> None:
    with pytest.raises(UsageError, match="must be an address of this machine"):
        MetricsServer(CollectorRegistry(), Health(), host="192.0.2.1")


def test_replay_refuses_a_taken_port(served: Served) -> None:
    result = wirerank("replay", "synthetic:10", "--metrics", str(served.server.port))
    assert result.exit_code == 2
    assert "it is in use" in result.stderr


def scrape_when(url: str, name: str, value: float) -> Scrape:
    """The first scrape that shows this."""
    end = time.monotonic() + 120
    while (scraped := scrape_url(url)).get(name) != value:
        assert time.monotonic() < end, f"{name} is {scraped.get(name)}, expected {value}"
        time.sleep(0.02)
    return scraped


def test_a_replay_shows_its_curves_while_it_runs(tmp_path: Path) -> None:
    """Each scrape of a pipe that is fed bit by bit equals the curves that the run leaves behind."""
    curves, letters = tmp_path / "curves.csv", tmp_path / "dead.jsonl"
    command = ["replay", "-", "--lane", "mmp:loss=1", "--lane", "perceptron", "--metrics", "0"]
    command += ["--curves", str(curves), "--dead-letters", str(letters)]
    events = [raw.rstrip() + b"\n" for raw in open_source("synthetic:300,topics=20") if raw]
    scrapes: list[Scrape] = []
    with subprocess.Popen(
        [*WIRERANK, *command], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stderr is not None
        announcement = next(line for line in process.stderr if line.startswith(b"metrics = "))
        url = announcement.split()[-1].decode()
        for start in range(0, 300, 60):
            process.stdin.writelines(events[start : start + 60])
            process.stdin.write(b"rubbish\n")
            process.stdin.flush()
            scrapes.append(
                scrape_when(url, "wirerank_events_read_total", start + 61 + len(scrapes))
            )
        assert scrape_url(url).value("wirerank_ready") == 1
        process.stdin.close()
        process.stderr.read()
        assert process.wait(30) == 0
    with pytest.raises(OSError, match="refused"):
        scrape_url(url)
    written = {
        (row["lane"], float(row["round"]), row["loss"]): float(row["value"])
        for row in csv.DictReader(curves.open())
    }
    for number, scraped in enumerate(scrapes):
        assert scraped.value("wirerank_dead_letters_total", reason="not_json") == number + 1
        shown = {
            (has["lane"], 60.0 * (number + 1), has["loss"]): value
            for (name, labels), value in scraped.samples.items()
            if name == "wirerank_round_averaged_loss" and (has := dict(labels))
        }
        assert len(shown) == 2 * len(MEASURES)
        assert shown.items() <= written.items()
    assert scrapes[-1].value("wirerank_event_to_ranking_seconds_count") == 300
    assert scrapes[-1].value("wirerank_rounds_total", lane="mmp:loss=1") == 300
