"""The drill: lose everything but the backup and the documents, and end as if nothing had been."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner

from consumers.cli import new_app
from consumers.config import read_config
from pipeline.models.backup import BackupPlace, place_of
from pipeline.models.model_file import read_whole
from pipeline.replay.progress import Progress
from pipeline.replay.replay import replay
from pipeline.replay.settings import ReplaySettings
from tests.support.disaster import kill_all, lose_groups, lose_snapshots, lose_topics
from tests.support.kafka_stream import Streaming, eventually, values_by_lane, without_scores
from tests.support.late_label_stream import late_label_events

pytestmark = pytest.mark.slow

DIVIDED = "perceptron"
STACKED = "svm-map:of=[a,b],name=s"
WHOLE = ("mmp:loss=1,name=a", "rocchio:name=b", STACKED, "prank:ranks=4")
LANES = (*WHOLE, DIVIDED)
NAMES = ("a", "b", "s", "prank:ranks=4", DIVIDED)
WORKERS = ("tokenize-0", "learn", f"learn@{DIVIDED}#0", f"learn@{DIVIDED}#1")


def wirerank(*arguments: object) -> str:
    """What a command prints; it must succeed."""
    done = CliRunner().invoke(new_app(), [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def refusal(*arguments: object) -> str:
    """What a command says that refuses."""
    done = CliRunner().invoke(new_app(), [str(argument) for argument in arguments])
    assert done.exit_code == 1, done.output
    return done.stderr


def is_document(event: bytes) -> bool:
    return bool(orjson.loads(event).keys() & {"text", "title", "features"})


def undisturbed(streaming: Streaming, events: list[bytes]) -> dict[str, list[bytes]]:
    """The rankings of one long replay, by lane."""
    source, rankings = streaming.folder / "all.jsonl", streaming.folder / "all.rankings"
    source.write_bytes(b"".join(event + b"\n" for event in events))
    settings = ReplaySettings(
        source=str(source),
        lanes=LANES,
        rankings=rankings,
        dead_letters=streaming.folder / "dead",
        engine=streaming.stream.engine_settings(),
    )
    replay(settings, Progress())
    return values_by_lane(rankings.read_bytes().splitlines())


def backed_up(streaming: Streaming, file: Path) -> BackupPlace:
    """Back up the stream while its workers run."""
    assert "lanes a, b, s, prank:ranks=4, perceptron" in wirerank("backup", streaming.path, file)
    return place_of(read_whole(file).content, str(file))


def start_all(streaming: Streaming) -> None:
    for name in WORKERS:
        streaming.start(name)


def wait_for_snapshots(streaming: Streaming) -> None:
    """Wait until the shards and the whole lanes have taken snapshots."""
    folder = streaming.config.snapshots.folder
    for place in ("*", "shards/*/0-of-2", "shards/*/1-of-2"):
        pattern = f"{streaming.name}/{place}/*.wirerank".replace("/*/*.w", "/*.w")
        assert eventually(lambda: any(folder.glob(pattern))), pattern  # noqa: B023


def test_lose_everything_but_the_backup_and_the_documents(broker: str, tmp_path: Path) -> None:
    events = late_label_events(500)
    first, second = len(events) // 3, 2 * len(events) // 3
    file = tmp_path / "news.backup"
    with Streaming(broker, tmp_path, LANES, shards={DIVIDED: 2}, every=0.3) as streaming:
        expected = undisturbed(streaming, events)
        start_all(streaming)
        for start in range(0, first, 40):  # snapshots of shards go by the time of the records
            streaming.produce(events[start : min(start + 40, first)])
            streaming.wait_logged()
        wait_for_snapshots(streaming)
        place = backed_up(streaming, file)
        streaming.produce(events[first:second])
        streaming.wait_learned()

        kill_all(streaming)
        lose_topics(streaming, *streaming.stream.written_topics)
        lose_groups(streaming)
        lose_snapshots(streaming)
        streaming.path.unlink()

        streaming.path.write_text(wirerank("restore", file, "--print-config"))
        streaming.config = read_config(streaming.path, {})
        streaming.stream = streaming.config.streams[0]
        assert "nothing was changed" in wirerank("restore", file, streaming.path, "--dry-run")
        wirerank("restore", file, streaming.path)
        wirerank("restore", file, streaming.path)  # once more does no harm
        start_all(streaming)
        streaming.wait_learned()
        streaming.kill("learn")
        streaming.start("learn")
        streaming.produce(events[second:])
        streaming.wait_learned()
        ((_, _, _, offset),) = place.coverage
        assert 0 < offset <= first
        before = sum(map(is_document, events[:offset]))
        later = sum(map(is_document, events[offset:]))
        published = streaming.rankings(len(LANES) * later)
        for name in WORKERS:
            assert streaming.end(name) == 0, streaming.log(name)
    ours = values_by_lane([message.value for message in published])
    assert ours.keys() == {*NAMES}
    for lane in NAMES:
        theirs = expected[lane][before:]
        if lane == DIVIDED:  # the last bits of scores depend on the number of shards
            assert [*map(without_scores, ours[lane])] == [*map(without_scores, theirs)]
        else:
            assert ours[lane] == theirs, lane
