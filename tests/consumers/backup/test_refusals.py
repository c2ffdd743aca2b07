"""A restore overwrites nothing, and a backup that is damaged is never used."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from kafka import TopicPartition

from consumers.kafka.offsets import committed_offsets
from consumers.kafka.topics import ensure_topics
from consumers.kafka_names import tokenizer_consumer_group
from pipeline.models.backup import place_of
from pipeline.models.model_file import read_whole
from tests.consumers.backup.test_drill import refusal, wirerank
from tests.support.disaster import kill_all, lose_groups, lose_snapshots, lose_topics
from tests.support.kafka_stream import SMALL, Streaming
from tests.support.late_label_stream import late_label_events

pytestmark = pytest.mark.slow

LANES = ("mmp:loss=1", "prank:ranks=4")
START = 'start = "latest"'


def with_initial(streaming: Streaming, file: Path) -> None:
    streaming.settings = f'{SMALL}\ninitial = "{file}"'
    streaming.configure(LANES)


def learned(streaming: Streaming) -> None:
    """Let the workers learn all documents, and stop them."""
    for name in ("tokenize-0", "learn"):
        streaming.start(name)
    streaming.wait_learned()
    for name in ("tokenize-0", "learn"):
        assert streaming.end(name) == 0, streaming.log(name)


def test_lost_snapshots_are_restored_and_nothing_else_is_touched(
    broker: str, tmp_path: Path
) -> None:
    """The log is there: a restored stream is as exact as one whose worker was killed."""
    events = late_label_events(200)
    file = tmp_path / "news.backup"
    with Streaming(broker, tmp_path, LANES, partitions=2) as streaming:
        assert "nothing was learned yet" in refusal("backup", streaming.path, file)
        streaming.produce(events[:150])
        learned(streaming)
        wirerank("backup", streaming.path, file)
        shown = wirerank("inspect", file)
        assert f"stream {streaming.name}, made by Wirerank" in shown
        assert orjson.loads(wirerank("inspect", "--json", file))["backup"]["position"] > 0
        wirerank("backup", streaming.path, file)  # an older backup is replaced
        assert "holds snapshots of the stream" in refusal("restore", file, streaming.path)
        lose_snapshots(streaming)
        before = committed_offsets(streaming.config.kafka, tokenizer_consumer_group(streaming.name))
        assert "write a snapshot at offset" in wirerank("restore", file, streaming.path)
        after = committed_offsets(streaming.config.kafka, tokenizer_consumer_group(streaming.name))
        assert before == after
        streaming.produce(events[150:])
        learned(streaming)
        position = place_of(read_whole(file).content, str(file)).position
        assert f"resuming at offset {position}" in streaming.log("learn")
        _, expected = streaming.undisturbed()
        values = [message.value or b"" for message in streaming.rankings(len(expected))]
        assert sorted(values) == sorted(expected)


def test_what_exists_is_not_overwritten(broker: str, tmp_path: Path) -> None:
    events = late_label_events(150)
    file = tmp_path / "news.backup"
    with Streaming(broker, tmp_path, LANES) as streaming:
        streaming.produce(events)
        learned(streaming)
        wirerank("backup", streaming.path, file)
        place = place_of(read_whole(file).content, str(file))
        # Files that are no backup of this stream stay.
        (tmp_path / "other").write_text("mine")
        assert "exists and is no backup" in refusal("backup", streaming.path, tmp_path / "other")
        assert (tmp_path / "other").read_text() == "mine"
        damaged = tmp_path / "damaged.backup"
        data = bytearray(file.read_bytes())
        for place_of_byte in (5, 7, 9, 40, len(data) // 2, len(data) - 1):
            changed = bytearray(data)
            changed[place_of_byte] ^= 0x10
            damaged.write_bytes(changed)
            assert "Nothing was restored" in refusal("restore", damaged, streaming.path)
        damaged.write_bytes(data[:-3])
        assert "damaged" in refusal("restore", damaged, streaming.path)
        # The log is lost, and everything else is there.
        lose_snapshots(streaming)
        lose_topics(streaming, streaming.stream.blocks)
        assert f'initial = "{file}"' in refusal("restore", file, streaming.path)
        with_initial(streaming, file)
        assert "is what stream" in refusal("backup", streaming.path, file)
        said = refusal("restore", file, streaming.path)
        assert "has committed offsets" in said or "records" in said
        assert "--rank-again" in said
        # A running tokenizer, and a log that has begun again.
        ensure_topics(streaming.config.kafka, streaming.stream)
        lose_groups(streaming)
        streaming.start("tokenize-0")
        streaming.wait_logged()
        assert "tokenizers of the stream run" in refusal("restore", file, streaming.path)
        assert streaming.end("tokenize-0") == 0
        assert "is another log than that" in refusal("restore", file, streaming.path)
        lose_topics(streaming, streaming.stream.blocks)
        wirerank("restore", file, streaming.path, "--rank-again")
        offsets = committed_offsets(
            streaming.config.kafka, tokenizer_consumer_group(streaming.name)
        )
        ((topic, _, partition, offset),) = place.coverage
        assert offsets[TopicPartition(topic, partition)].offset == offset
        # A lane that the backup does not have; documents that were replaced.
        streaming.configure([*LANES, "rocchio"])
        assert "has no lane rocchio" in refusal("restore", file, streaming.path)
        streaming.configure(LANES)
        lose_topics(streaming, streaming.documents)
        assert "is missing, so the offsets" in refusal("restore", file, streaming.path)
        ensure_topics(streaming.config.kafka, streaming.stream)
        assert "deleted and created again" in refusal("restore", file, streaming.path)


def test_untouched_partitions_begin_where_the_stream_began(broker: str, tmp_path: Path) -> None:
    """A stream that began with the newest documents must not read the older ones later."""
    events = late_label_events(120)
    file = tmp_path / "news.backup"
    settings = f"{SMALL}\n{START}"
    with Streaming(broker, tmp_path, LANES, partitions=3, settings=settings) as streaming:
        streaming.produce(events[:30])  # before the stream: never read
        streaming.start("tokenize-0")
        streaming.wait_logged()  # its beginning is committed
        streaming.start("learn")
        streaming.produce(events[30:60], partitions=[0])
        streaming.wait_learned()
        wirerank_when_ready(streaming, file)
        kill_all(streaming)
        lose_topics(streaming, *streaming.stream.written_topics)
        lose_groups(streaming)
        lose_snapshots(streaming)
        streaming.produce(events[60:])
        streaming.settings = f'{settings}\ninitial = "{file}"'
        streaming.configure(LANES)
        wirerank("restore", file, streaming.path)
        learned(streaming)
        ids = {orjson.loads(message.value or b"")["id"] for message in streaming.rankings(1)}
    place = place_of(read_whole(file).content, str(file))
    assert {(entry[2], entry[3]) for entry in place.starts} == {(0, 40), (1, 10), (2, 10)}
    assert ids == {
        e["id"] for e in map(orjson.loads, events[60:]) if "text" in e or "features" in e
    }


def wirerank_when_ready(streaming: Streaming, file: Path) -> None:
    """Stop the learner, which takes its last snapshot, and back up beside the tokenizer."""
    assert streaming.end("learn") == 0, streaming.log("learn")
    wirerank("backup", streaming.path, file)
