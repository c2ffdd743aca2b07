"""Trimming beside other things: models, rights, retention, backups, lanes that come and go."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka.admin import ConfigResource, ConfigResourceType
from typer.testing import CliRunner, Result

from consumers.backup import lane_states, making
from consumers.kafka.clients import new_admin
from consumers.kafka.log_reader import LogError
from consumers.kafka.log_storage import delete_before
from consumers.kafka.topics import topic_settings
from consumers.sharding.snapshot_folders import stream_folder
from consumers.supervisor import NEEDS_AN_OPERATOR
from consumers.trimming.log_start import read_marks
from consumers.trimming.survey import survey_snapshots
from pipeline.corpora import open_source
from pipeline.models.backup import place_of
from pipeline.models.model_file import read_whole
from pipeline.replay.progress import Progress
from pipeline.replay.replay import replay
from pipeline.replay.settings import ReplaySettings
from pipeline.snapshots.folder import VerifiedFiles
from tests.support.kafka_fixture import need_kafka
from tests.support.kafka_stream import Streaming, eventually
from tests.support.scraping import scrape_url
from tests.support.secured_broker import PASSWORD, USER, Secured, secured_broker
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
TINY = "block = 5\nmax_terms = 3000"
HISTORY = 100


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    need_kafka()
    with secured_broker(tmp_path_factory.mktemp("secured")) as broker:
        yield broker


def check(streaming: Streaming) -> str:
    """What `wirerank check` prints about the stream's storage."""
    shown = CliRunner().invoke(APP, ["check", str(streaming.path)])
    assert shown.exit_code == 0, shown.output
    return shown.stdout


def documents_before(streaming: Streaming, offset: int) -> int:
    """How many documents came before an offset of the log, by the mark or snapshot there."""
    folder, described = stream_folder(streaming.config, streaming.stream), log_of(streaming)
    marks = read_marks(folder, described, [])
    marks += [one.mark() for one in survey_snapshots(folder, VerifiedFiles()).of_log(described)]
    (covered, *_) = (mark.coverage for mark in marks if mark.position == offset)
    return sum(int(entry[3]) for entry in covered)


def test_a_late_lane_begins_with_the_initial_model(broker: str, tmp_path: Path) -> None:
    everything = list(open_source(f"synthetic:{HISTORY + 160},topics=12"))
    history, events = everything[:HISTORY], everything[HISTORY:]
    source, model = tmp_path / "history.jsonl", tmp_path / "news.model"
    source.write_bytes(b"".join(event + b"\n" for event in history))
    with Streaming(broker, tmp_path, [FIRST], every=0.2, settings=TINY) as streaming:
        replay(
            ReplaySettings(
                source=str(source), lanes=(FIRST, LATE), save=model,
                dead_letters=tmp_path / "dead", engine=streaming.stream.engine_settings(),
            ),
            Progress(),
        )  # fmt: skip
        streaming.settings = f'{TINY}\ninitial = "{model}"'
        streaming.configure([FIRST])
        for name in ("tokenize-0", "learn"):
            streaming.start(name)
        feed(streaming, events[:100], 5)
        assert streaming.end("learn") == 0
        assert trim(streaming, "--keep", "snapshots").exit_code == 0
        first = log_of(streaming).first
        assert first > 0
        before = documents_before(streaming, first)
        streaming.configure([FIRST, LATE])
        assert f"lane late may begin at offset {first}, without" in check(streaming)
        streaming.start("learn")
        assert eventually(lambda: bool(snapshot_positions(streaming, "late")))
        streaming.kill("learn")
        streaming.start("learn")
        feed(streaming, events[100:], 1)
        rankings = published(streaming, 2 * len(events) - before)
        assert streaming.end("learn") == 0
        expected = expected_rankings(streaming, everything, [FIRST])
        expected |= expected_rankings(streaming, history + events[before:], [LATE])
        log = streaming.log("learn")
    assert (
        f"late: added after records of the log were trimmed, so it begins at offset {first} and "
        "with the model `initial`" in log
    )
    assert rankings == {lane: values[HISTORY:] for lane, values in expected.items()}


def test_a_broker_that_refuses_to_delete(secured: Secured, tmp_path: Path) -> None:
    """Without the right, nothing is trimmed; rankings go on, and it is counted and logged."""
    events = list(open_source("synthetic:100,topics=12"))
    with Streaming(
        secured.plaintext, tmp_path, [FIRST], every=0.2, settings=f'{TINY}\nlog.keep = "snapshots"'
    ) as streaming:
        secured.grant(USER, streaming.name)
        streaming.bootstrap = secured.listeners["SASL_PLAINTEXT"]
        streaming.kafka = (
            'security_protocol = "SASL_PLAINTEXT"\nsasl_mechanism = "PLAIN"\n'
            f'sasl_username = "{USER}"\nsasl_password = "{PASSWORD}"'
        )
        streaming.configure([FIRST])
        for name in ("tokenize-0", "learn"):
            streaming.start(name)
        feed(streaming, events[:80], 5)

        def failed() -> float:
            scraped = scrape_url(streaming.address("learn"))
            return scraped.value("wirerank_log_trim_problems_total", reason="failed")

        assert eventually(lambda: failed() > 0), streaming.log("learn")
        by_hand = trim(streaming)
        assert by_hand.exit_code == NEEDS_AN_OPERATOR, by_hand.output
        lacking = f"lacks the right to delete records of {streaming.stream.blocks}"
        assert lacking in by_hand.stderr
        assert f"the log was not trimmed: the user of Kafka {lacking}" in streaming.log("learn")
        feed(streaming, events[80:], 1)
        rankings = published(streaming, len(events))
        for name in ("tokenize-0", "learn"):
            assert streaming.end(name) == 0
        assert log_of(streaming).first == 0
        expected = expected_rankings(streaming, events, [FIRST])
    assert rankings == expected


def test_retention_of_new_topics_and_what_check_warns_of(broker: str, tmp_path: Path) -> None:
    retention = 'retention.rankings = "36h"\nretention.dead_letters = "2w"\nretention.scores = "3d"'
    hour = 3_600_000
    with Streaming(
        broker, tmp_path, [FIRST, SECOND], settings=f"{TINY}\n{retention}", shards={SECOND: 2}
    ) as streaming:
        stream = streaming.stream
        admin: Any = new_admin(streaming.config.kafka)

        def limits(topic: str) -> tuple[int, int]:
            found = topic_settings(admin, topic)
            assert found is not None
            return tuple(int(found[name]["value"]) for name in ("retention.ms", "retention.bytes"))  # type: ignore[return-value]

        def change(topic: str, **settings: str) -> None:
            named = {name.replace("_", "."): value for name, value in settings.items()}
            admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, named)])

        try:
            assert limits(stream.rankings)[0] == 36 * hour
            assert limits(stream.dead_letters)[0] == 14 * 24 * hour
            assert limits(stream.scores)[0] == 3 * 24 * hour
            assert limits(stream.blocks) == (-1, -1)
            streaming.produce(open_source("synthetic:5"))  # `check` reads some
            shown = check(streaming)
            assert f"{stream.rankings} keeps records for 1.5 days" in shown
            assert f"{stream.blocks} keeps records for ever" in shown
            assert "warning" not in shown
            change(stream.blocks, retention_ms=str(24 * hour))
            change(stream.rankings, retention_ms=str(hour))
            assert eventually(lambda: limits(stream.rankings)[0] == hour)
            assert eventually(lambda: limits(stream.blocks)[0] == 24 * hour)
            shown = check(streaming)
            change(stream.blocks, cleanup_policy="compact")
            compacted = "cleanup.policy is compact, which deletes records between others"
            assert eventually(lambda: compacted in check(streaming))
            with pytest.raises(LogError, match=r"the broker refuses to delete records of .*Policy"):
                delete_before(streaming.config.kafka, log_of(streaming), 0)
        finally:
            admin.close()
    warnings = [line for line in shown.splitlines() if "warning: " in line]
    assert len(warnings) == 2
    assert "retention.ms may delete records of the log that lanes still need" in warnings[0]
    assert f"retention.ms is {hour}, but the configuration says {36 * hour}" in warnings[1]


def test_a_backup_that_is_overtaken_by_a_trim(
    broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It begins again with newer snapshots. If that happens too often, it says what to do."""
    events = iter(open_source("synthetic:1000,topics=12"))
    file, behind = tmp_path / "news.backup", f"learn@{SECOND}"
    follow_to = lane_states.follow_to
    with Streaming(broker, tmp_path, [FIRST, SECOND], every=0.2, settings=TINY) as streaming:

        def some(number: int) -> list[bytes]:
            return [next(events) for _ in range(number)]

        def overtaken(*arguments: Any) -> None:  # noqa: ANN401
            """The lane that is behind goes on meanwhile, and the log is trimmed."""
            if behind not in streaming.processes:
                streaming.start(behind)
                feed(streaming, some(60), 4)
                assert trim(streaming, "--keep", "snapshots").exit_code == 0
            follow_to(*arguments)

        def back_up() -> Result:
            """Back up when one lane has no new snapshot."""
            assert streaming.end(behind) == 0
            streaming.produce(some(20))
            streaming.wait_logged()
            end = log_of(streaming).end
            assert eventually(lambda: end in snapshot_positions(streaming, FIRST))
            return CliRunner().invoke(APP, ["backup", str(streaming.path), str(file)])

        for name in ("tokenize-0", f"learn@{FIRST}", behind):
            streaming.start(name)
        feed(streaming, some(60), 4)
        monkeypatch.setattr(lane_states, "follow_to", overtaken)
        shown = back_up()
        assert shown.exit_code == 0, shown.output
        first = log_of(streaming).first
        assert place_of(read_whole(file).content, str(file)).position >= first > 0
        before = file.read_bytes()
        monkeypatch.setattr(making, "ATTEMPTS", 1)
        shown = back_up()
        assert shown.exit_code == 1
        assert "the log was trimmed 1 times before the backup had read" in shown.stderr
        assert file.read_bytes() == before


def test_lanes_that_are_watched_published_and_forgotten(broker: str, tmp_path: Path) -> None:
    events = list(open_source("synthetic:220,topics=12"))
    with Streaming(
        broker, tmp_path, [FIRST], watched=[SECOND, LATE], every=0.2, settings=TINY
    ) as streaming:
        workers = ("tokenize-0", f"learn@{FIRST}", f"learn@{SECOND}", "learn@late")
        for name in workers:
            streaming.start(name)
        feed(streaming, events[:80], 4)
        for name in workers:
            assert streaming.end(name) == 0
        assert trim(streaming, "--keep", "snapshots").exit_code == 0
        first = log_of(streaming).first
        assert first > 0
        oldest = min(snapshot_positions(streaming, SECOND))
        before = documents_before(streaming, oldest)

        # A watched lane is published now. Another one is no longer in the configuration.
        held = min(snapshot_positions(streaming, "late"))
        streaming.configure([FIRST, SECOND])
        for name in workers[:3]:
            streaming.start(name)
        feed(streaming, events[80:160], 4)
        shown = trim(streaming, "--keep", "snapshots")
        assert shown.exit_code == 0
        assert f"needed from offset {held} on by lane late, which is not in" in shown.stdout
        assert log_of(streaming).first == held
        refused = trim(streaming, "--keep", "snapshots", "--forget", SECOND)
        assert refused.exit_code == 2
        assert "the lane is in the configuration; take it out first" in refused.stderr
        shown = trim(streaming, "--keep", "snapshots", "--forget", "late")
        assert shown.exit_code == 0, shown.output
        assert log_of(streaming).first > held
        assert snapshot_positions(streaming, "late") == []
        feed(streaming, events[160:], 1)
        rankings = published(streaming, 2 * len(events) - before)
        for name in workers[:3]:
            assert streaming.end(name) == 0
        expected = expected_rankings(streaming, events, [FIRST, SECOND])
        log = streaming.log(f"learn@{SECOND}")

        # The forgotten lane comes back as a new one.
        streaming.configure([FIRST, SECOND, LATE])
        shown = trim(streaming, "--keep", "snapshots")
        assert shown.exit_code == NEEDS_AN_OPERATOR
        assert "lane late: it has 0 of 3 snapshots" in shown.stdout
    assert f"published from offset {oldest} of the log on" in log
    assert rankings[FIRST] == expected[FIRST]
    assert rankings[SECOND] == expected[SECOND][before:]
