"""Backups of a stream with a lane that was added after its log had been trimmed."""

from __future__ import annotations

from pathlib import Path

import pytest

from consumers.backup.errors import BackupError
from consumers.backup.lane_choice import without_lanes
from consumers.sharding.snapshot_folders import stream_folder
from consumers.stream_settings import StreamSettings
from consumers.trimming.log_start import read_marks
from tests.consumers.backup.test_drill import refusal, wirerank
from tests.support.disaster import lose_groups, lose_snapshots, lose_topics
from tests.support.kafka_stream import Streaming
from tests.support.late_label_stream import late_label_events
from tests.support.scraping import scrape_url
from tests.support.trimmed_stream import expected_rankings, feed, log_of, published, trim

FIRST, LATE = "mmp:loss=1", "mmp:loss=2,name=late"


def stream_of(*specs: str) -> StreamSettings:
    return StreamSettings.model_validate(
        {"name": "news", "lanes": [{"spec": spec} for spec in specs]}
    )


@pytest.mark.parametrize(
    ("specs", "left_out", "message"),
    [
        (["mmp"], ["mmp"], "at least one lane"),
        (["mmp", "rocchio"], ["arow"], "no lane arow. It has mmp, rocchio"),
        (["mmp", "rocchio", "svm-map:of=[mmp]"], ["mmp"], "combines lane mmp: leave out both"),
    ],
)
def test_lanes_that_cannot_be_left_out(
    specs: list[str], left_out: list[str], message: str
) -> None:  # fmt: skip
    with pytest.raises(BackupError, match=message):
        without_lanes(stream_of(*specs), left_out)


@pytest.mark.slow
def test_each_beginning_has_its_backup(broker: str, tmp_path: Path) -> None:
    """All snapshots are lost, and the log is trimmed: two backups bring all lanes back."""
    events = late_label_events(300)
    old, new = tmp_path / "old.backup", tmp_path / "late.backup"
    with Streaming(broker, tmp_path, [FIRST], every=0.2) as streaming:
        for name in ("tokenize-0", "learn"):
            streaming.start(name)
        feed(streaming, events[:200], 4)
        assert streaming.end("learn") == 0
        assert trim(streaming, "--keep", "snapshots").exit_code == 0
        began = log_of(streaming).first
        assert began > 0
        marks = read_marks(
            stream_folder(streaming.config, streaming.stream), log_of(streaming), list[str]()
        )
        (reached,) = (entry[3] for entry in marks[0].coverage)
        streaming.configure([FIRST, LATE])
        streaming.start("learn")
        feed(streaming, events[200:250], 2)
        for name in ("learn", "tokenize-0"):
            assert streaming.end(name) == 0, streaming.log(name)
        assert "--without LANE" in refusal("backup", streaming.path, old)
        assert "lanes mmp:loss=1," in wirerank("backup", streaming.path, old, "--without", "late")
        wirerank("backup", streaming.path, new, "--without", FIRST)

        lose_snapshots(streaming)
        assert "another backup has it" in refusal("restore", old, streaming.path)
        wirerank("restore", old, streaming.path, "--without", "late")
        held = refusal("restore", old, streaming.path, "--without", "late")
        assert "holds snapshots" in held
        wirerank("restore", new, streaming.path, "--without", FIRST)
        for name in ("tokenize-0", "learn"):
            streaming.start(name)
        feed(streaming, events[250:], 1)
        first_offsets = scrape_url(streaming.address("learn"))
        assert first_offsets.value("wirerank_lane_first_offset", lane="late") == began
        assert first_offsets.value("wirerank_lane_first_offset", lane=FIRST) == 0
        expected = expected_rankings(streaming, events, [FIRST])
        expected |= expected_rankings(streaming, events[reached:], [LATE])
        rankings = published(streaming, sum(map(len, expected.values())))
        for name in ("learn", "tokenize-0"):
            assert streaming.end(name) == 0, streaming.log(name)
        assert rankings == expected

        lose_snapshots(streaming)
        lose_topics(streaming, *streaming.stream.written_topics)
        lose_groups(streaming)
        lost = refusal("restore", old, streaming.path, "--without", "late")
        assert "Take lane late out of the configuration" in lost
