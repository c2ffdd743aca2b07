"""Logs that are trimmed, on a real broker: no lane loses anything, whoever is killed."""

from __future__ import annotations

from pathlib import Path

from consumers.sharding.snapshot_folders import stream_folder
from consumers.supervisor import NEEDS_AN_OPERATOR
from consumers.trimming.log_start import read_marks
from pipeline.corpora import open_source
from tests.support.kafka_stream import Streaming, eventually, without_scores
from tests.support.late_label_stream import late_label_events
from tests.support.scraping import scrape_url
from tests.support.trimmed_stream import (
    expected_rankings,
    feed,
    log_of,
    published,
    snapshot_positions,
    trim,
)

FIRST, SECOND, LATE = "mmp:loss=1", "perceptron:average=true,norm=l2", "mmp:loss=2,name=late"
# Kills itself where the mark is written and nothing is deleted yet.
DIES_BEFORE_DELETING = """
import os, signal, sys
from consumers.trimming import trimmer
trimmer.delete_before = lambda *unused: os.kill(os.getpid(), signal.SIGKILL)
from consumers.cli import new_app
new_app()(["trim", sys.argv[1], "--yes", "--keep", "snapshots"])
"""


def start(streaming: Streaming, *names: str) -> None:
    for name in names:
        streaming.start(name)


def end_all(streaming: Streaming) -> None:
    for name in list(streaming.processes):
        assert streaming.end(name) == 0, streaming.log(name)[-3000:]


def documents(events: list[bytes]) -> int:
    return sum(b'"text"' in event or b'"features"' in event for event in events)


def test_lanes_before_and_after_a_trim(broker: str, tmp_path: Path) -> None:
    """Late labels, kill -9, and a lane that is added when the first records are gone."""
    events = late_label_events(500)
    parts = [events[:300], events[300:400], events[400:500], events[500:]]
    with Streaming(broker, tmp_path, [FIRST, SECOND], every=0.2) as streaming:
        start(streaming, "tokenize-0", "learn")
        feed(streaming, parts[0], 5)
        needed = min(snapshot_positions(streaming, FIRST))
        shown = trim(streaming, "--keep", "snapshots", "--dry-run")
        assert shown.exit_code == 0, shown.output
        assert f"needed from offset {needed} on by lane {FIRST} and lane {SECOND}" in shown.stdout
        assert log_of(streaming).first == 0
        streaming.kill("learn")
        done = trim(streaming, "--keep", "snapshots")
        assert done.exit_code == 0, done.output
        assert f"trimmed: {needed} records before offset {needed}" in done.stdout
        assert log_of(streaming).first == needed
        again = trim(streaming, "--keep", "snapshots")
        assert again.exit_code == 0
        assert "nothing to trim" in again.stdout

        start(streaming, "learn")
        feed(streaming, parts[1], 2)
        assert streaming.end("learn") == 0
        streaming.configure([FIRST, SECOND, LATE])
        refused = trim(streaming, "--keep", "snapshots")
        assert refused.exit_code == NEEDS_AN_OPERATOR
        assert "not trimmed: lane late: it has 0 of 3 snapshots" in refused.stdout
        (mark,) = read_marks(
            stream_folder(streaming.config, streaming.stream), log_of(streaming), []
        )
        (reached,) = (entry[3] for entry in mark.coverage)
        start(streaming, "learn")
        assert eventually(lambda: needed in snapshot_positions(streaming, "late"))
        streaming.kill("learn")  # perhaps before it has published anything
        start(streaming, "learn")
        feed(streaming, parts[2], 4)
        streaming.kill("learn")
        assert trim(streaming, "--keep", "snapshots").exit_code == 0
        assert log_of(streaming).first > needed
        start(streaming, "learn")
        feed(streaming, parts[3], 1)
        scraped = scrape_url(streaming.address("learn"))
        assert scraped.value("wirerank_lane_first_offset", lane="late") == needed
        assert scraped.value("wirerank_lane_first_offset", lane=FIRST) == 0
        wanted = 2 * documents(events) + documents(events[reached:])
        rankings = published(streaming, wanted)
        end_all(streaming)
        expected = expected_rankings(streaming, events, [FIRST, SECOND])
        expected |= expected_rankings(streaming, events[reached:], [LATE])
        log = streaming.log("learn")
    assert (
        f"late: added after records of the log were trimmed, so it begins at offset {needed}" in log
    )
    assert rankings == expected
    assert 0 < reached < 300


def test_the_log_stays_bounded_by_itself(broker: str, tmp_path: Path) -> None:
    """A learner trims after its snapshots, and is killed again and again; a lane has shards."""
    events = list(open_source("synthetic:270,topics=12"))
    settings = 'block = 10\nmax_terms = 3000\nlog.keep = "snapshots"'
    workers = ["learn", f"learn@{SECOND}#0", f"learn@{SECOND}#1"]
    with Streaming(
        broker, tmp_path, [FIRST, SECOND], settings=settings, every=0.3, shards={SECOND: 2}
    ) as streaming:
        start(streaming, "tokenize-0", *workers)
        firsts = [0]
        for number in range(3):
            feed(streaming, events[number * 90 : (number + 1) * 90], 3)
            assert eventually(lambda: log_of(streaming).first > firsts[-1]), streaming.log("learn")
            firsts.append(log_of(streaming).first)
            victim = workers[number % 3]
            streaming.kill(victim)
            streaming.start(victim)
        streaming.wait_learned()
        rankings = published(streaming, 540)
        value = scrape_url(streaming.address("learn")).value
        kept = value("wirerank_log_records")
        assert kept <= log_of(streaming).end - firsts[-1]
        assert value("wirerank_log_bytes") > 0
        assert streaming.end("learn") == 0
        for name in list(streaming.processes):
            streaming.kill(name)
        expected = expected_rankings(streaming, events, [FIRST, SECOND])
    assert firsts == sorted(set(firsts))
    assert rankings[FIRST] == expected[FIRST]
    assert [without_scores(value) for value in rankings[SECOND]] == [
        without_scores(value) for value in expected[SECOND]
    ]
