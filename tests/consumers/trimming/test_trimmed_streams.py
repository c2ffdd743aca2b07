"""Logs that are trimmed, on a real broker: no lane loses anything, whoever is killed."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

from kafka import TopicPartition
from kafka.admin import KafkaAdminClient
from typer.testing import CliRunner

from consumers.kafka.clients import connection_options
from consumers.kafka.offsets import offsets_to_commit
from consumers.kafka.topics import ensure_topics
from consumers.kafka_names import tokenizer_consumer_group
from consumers.sharding.snapshot_folders import stream_folder
from consumers.supervisor import NEEDS_AN_OPERATOR
from consumers.trimming.log_start import LogMark, log_lock, read_marks
from pipeline.corpora import open_source
from pipeline.log.coverage import Coverage
from pipeline.log.record import decode_record
from tests.conftest import REPOSITORY
from tests.support.kafka_stream import Streaming, eventually, without_scores
from tests.support.late_label_stream import late_label_events
from tests.support.scraping import scrape_url
from tests.support.trimmed_stream import (
    APP,
    expected_rankings,
    feed,
    log_of,
    published,
    snapshot_positions,
    trim,
)

FIRST, SECOND, LATE = "mmp:loss=1", "perceptron:average=true,norm=l2", "mmp:loss=2,name=late"
# Kills itself where the mark is written and nothing is deleted yet.
TINY = "block = 5\nmax_terms = 3000"
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


def problems(streaming: Streaming, reason: str) -> float:
    """How many trims of a learner have failed, or were refused."""
    scraped = scrape_url(streaming.address("learn"))
    return scraped.value("wirerank_log_trim_problems_total", reason=reason)


def mark_of(streaming: Streaming) -> LogMark:
    """The mark of the log's first offset."""
    folder, damaged = stream_folder(streaming.config, streaming.stream), list[str]()
    marks = read_marks(folder, log_of(streaming), damaged)
    assert not damaged
    return marks[0]


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
        (reached,) = (entry[3] for entry in mark_of(streaming).coverage)
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
    everything = list(open_source("synthetic:290,topics=12"))
    events, more = everything[:270], everything[270:]
    settings = 'block = 10\nmax_terms = 3000\nlog.keep = "snapshots"'
    workers = ["learn", f"learn@{SECOND}#0", f"learn@{SECOND}#1"]
    with Streaming(
        broker, tmp_path, [FIRST, SECOND], settings=settings, every=0.3, shards={SECOND: 2}
    ) as streaming:
        start(streaming, "tokenize-0", *workers)
        firsts = [0]
        for number in range(3):
            feed(streaming, events[number * 90 : (number + 1) * 90], 4)
            assert eventually(lambda: log_of(streaming).first > firsts[-1]), streaming.log("learn")
            firsts.append(log_of(streaming).first)
            victim = workers[number % 3]
            streaming.kill(victim)
            streaming.start(victim)
        streaming.wait_learned()
        value = scrape_url(streaming.address("learn")).value
        kept = value("wirerank_log_records")
        assert kept <= log_of(streaming).end - firsts[-1]
        assert value("wirerank_log_bytes") > 0
        streaming.path.write_text("no configuration")  # a trim reads it, to know all lanes
        streaming.produce(more)
        rankings = published(streaming, 2 * len(events + more))
        failed = partial(problems, streaming, "failed")
        assert eventually(lambda: failed() > 0), streaming.log("learn")
        assert "the log was not trimmed: ConfigError" in streaming.log("learn")
        assert streaming.end("learn") == 0
        for name in list(streaming.processes):
            streaming.kill(name)
        expected = expected_rankings(streaming, everything, [FIRST, SECOND])
    assert firsts == sorted(set(firsts))
    assert rankings[FIRST] == expected[FIRST]
    assert [without_scores(value) for value in rankings[SECOND]] == [
        without_scores(value) for value in expected[SECOND]
    ]


def test_repeated_records_behind_a_trim(broker: str, tmp_path: Path) -> None:
    """The first record that is left repeats what was trimmed; shards of a new lane skip it."""
    events = list(open_source("synthetic:120,topics=12"))
    with Streaming(broker, tmp_path, [FIRST], every=3600, settings=TINY) as streaming:
        ends = []
        for part in (events[:60], [], events[60:80]):
            if not part:
                read_again(streaming)
            start(streaming, "tokenize-0", "learn")
            streaming.produce(part)
            streaming.wait_learned()
            end_all(streaming)  # the learner takes a snapshot
            ends.append(log_of(streaming).end)
        assert ends == sorted(set(ends))
        assert trim(streaming, "--keep", "snapshots").exit_code == 0
        first = log_of(streaming).first
        assert first == ends[0]
        assert [entry[3] for entry in mark_of(streaming).coverage] == [60]

        streaming.configure([FIRST, LATE], shards={LATE: 2})
        ensure_topics(streaming.config.kafka, streaming.stream)
        start(streaming, "tokenize-0", "learn", "learn@late#0")
        assert eventually(lambda: snapshot_positions(streaming, "late") == [first])
        start(streaming, "learn@late#1")
        streaming.produce(events[80:100])
        published(streaming, 100 + 40)
        streaming.kill("learn@late#1")  # without another snapshot than that of its beginning
        streaming.produce(events[100:])
        start(streaming, "learn@late#1")
        rankings = published(streaming, 120 + 60)
        for name in list(streaming.processes):
            streaming.kill(name)
        late = expected_rankings(streaming, events[60:], [LATE])["late"]
        assert rankings[FIRST] == expected_rankings(streaming, events, [FIRST])[FIRST]
        assert list(map(without_scores, rankings["late"])) == list(map(without_scores, late))


def test_a_trimmer_that_is_killed_and_trims_that_are_refused(broker: str, tmp_path: Path) -> None:
    events = list(open_source("synthetic:100,topics=12"))
    with Streaming(broker, tmp_path, [FIRST], every=0.2, settings=TINY) as streaming:
        assert trim(streaming).exit_code == 2  # log.keep is forever
        shown = trim(streaming, "--keep", "snapshots")
        assert shown.exit_code == NEEDS_AN_OPERATOR
        assert "it has 0 of 3 snapshots" in shown.stdout
        start(streaming, "tokenize-0", "learn")
        feed(streaming, events, 5)
        end_all(streaming)
        folder = stream_folder(streaming.config, streaming.stream)
        records = streaming.read(streaming.stream.blocks, 1)
        needed = min(snapshot_positions(streaming, FIRST))
        for keep in ("1w", "1TB"):
            shown = trim(streaming, "--keep", keep)
            assert shown.exit_code == 0
            assert "nothing to trim" in shown.stdout

        # Killed when the mark is written: nothing is deleted, and the next trim goes on.
        dies = [sys.executable, "-c", DIES_BEFORE_DELETING, str(streaming.path)]
        assert subprocess.run(dies, cwd=REPOSITORY, check=False).returncode == -signal.SIGKILL
        assert log_of(streaming).first == 0
        assert mark_of(streaming).position == needed

        # To an offset that no snapshot has: the records before it are read for its mark.
        sizes = [len(message.value or b"") for message in records]
        kilobytes = sum(sizes) // len(sizes) * (len(sizes) - needed + 2) // 1000
        assert trim(streaming, "--keep", f"{kilobytes}kB").exit_code == 0
        first = log_of(streaming).first
        assert 0 < first < needed
        coverage = Coverage()
        for message in records[:first]:
            coverage.admit(decode_record(message.value or b"", "a record"), "a record")
        assert mark_of(streaming).coverage == coverage.state()

        path = max(folder.glob("*.wirerank"))
        intact = path.read_bytes()
        path.write_bytes(intact[:-1] + bytes([intact[-1] ^ 1]))
        shown = trim(streaming, "--keep", "snapshots")
        assert shown.exit_code == NEEDS_AN_OPERATOR
        assert f"not trimmed: {path}" in shown.stdout
        assert log_of(streaming).first == first
        path.write_bytes(intact)
        with log_lock(folder):
            assert log_of(streaming).first == first
        shown = CliRunner().invoke(APP, ["trim", str(streaming.path), "--keep", "1s"])
        assert shown.exit_code == 2
        assert "add --yes" in shown.stderr
        assert trim(streaming, "--keep", "1s").exit_code == 0
        assert log_of(streaming).first == needed
        shown = CliRunner().invoke(APP, ["check", str(streaming.path)])
        assert shown.exit_code == 0
        assert f"{streaming.stream.blocks} keeps records for ever" in shown.stdout
        assert f"offsets {needed} to " in shown.stdout
        page = (REPOSITORY / "docs/guide/operate/storage.md").read_text()
        commands = re.findall(r"^    wirerank (.*)$", page, re.M)
        assert len(commands) == 3
        for command in commands:
            words = command.replace("wirerank.toml", str(streaming.path)).split()
            shown = CliRunner().invoke(APP, words)
            assert shown.exit_code == 0, shown.output


def read_again(streaming: Streaming) -> None:
    """Let the tokenizers read all documents once more, as after a crash."""
    admin = KafkaAdminClient(**connection_options(streaming.config.kafka))
    place = TopicPartition(streaming.documents, 0)
    group = tokenizer_consumer_group(streaming.name)
    (committed,) = admin.list_group_offsets([group])[group].values()
    note = committed.metadata
    admin.alter_group_offsets(group, offsets_to_commit({place: 0}, {place: note}))
    admin.close()
