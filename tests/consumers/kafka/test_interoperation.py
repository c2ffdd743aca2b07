"""Other programs: kcat, the tools of Apache Kafka, and a ninjs feed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from deploy.kafka import run_tool
from pipeline.corpora import open_source
from tests.conftest import REPOSITORY, missing
from tests.support.kafka_stream import Streaming
from tests.support.newsml_g2 import WAYS, item

LANES = ("mmp:loss=1", "perceptron")

NINJS = {
    "uri": "urn:newsml:example.org:20260315:{0}",
    "type": "text",
    "version": "2",
    "versioncreated": "2026-03-15T10:{0:02d}:00Z",
    "language": "en",
    "urgency": 3,
    "headline": "{1} number {0}",
    "body_text": "The {1} market moved again on day {0}, traders of {1} said.",
    "subject": [{"code": "medtop:{1}", "name": "{1}", "rel": "about"}],
    "renditions": {"thumb": {"href": "https://example.org/{0}.jpg"}},
}


def kcat(*arguments: str, given: bytes = b"") -> bytes:
    """Run kcat, a client written in C with a library of its own (librdkafka)."""
    program = shutil.which("kcat") or ""
    if not program:
        missing("kcat", "kcat is not installed: apt-get install kcat")
    done = subprocess.run(
        [program, *arguments], input=given, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def test_kcat_writes_documents_and_reads_rankings(broker: str, tmp_path: Path) -> None:
    events = list(open_source("synthetic:120,topics=12"))
    lines = b"\n".join([*events[:60], b"not json", *events[60:]])
    with Streaming(broker, tmp_path, LANES, partitions=3) as streaming:
        streaming.start("tokenize-0")
        streaming.start("learn")
        kcat("-P", "-b", broker, "-t", streaming.documents, "-z", "lz4", given=lines)
        assert len(streaming.rankings(240)) == 240
        read = ["-C", "-b", broker, "-o", "beginning", "-e", "-q"]
        committed = [*read, "-X", "isolation.level=read_committed"]
        output = kcat(*committed, "-t", streaming.stream.rankings, "-f", "%k %s\n")
        headers = kcat(*read, "-t", streaming.stream.dead_letters, "-f", "%h %k %s\n").decode()
        for name in ("tokenize-0", "learn"):
            assert streaming.end(name) == 0, streaming.log(name)
    rankings = [line.split(b" ", 1) for line in output.splitlines()]
    actual = [(key.decode(), json.loads(value)) for key, value in rankings]
    assert len(actual) == 240
    assert {key for key, _ in actual} == {json.loads(event)["id"] for event in events}
    for key, event in actual:
        assert event["id"] == key
        assert set(event) == {"id", "lane", "round", "ranking", "time"}
    assert "reason=not_json" in headers
    assert headers.strip().endswith("not json")


def console(tool: str, *arguments: str) -> str:
    done = run_tool(f"org.apache.kafka.tools.{tool}", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def lags(output: str) -> dict[tuple[str, str, int], tuple[str, str, str]]:
    """Committed offset, end offset and lag by group, topic and partition, as the tool has them."""
    rows = [line.split() for line in output.splitlines() if line.startswith("wirerank.")]
    return {(row[0], row[1], int(row[2])): (row[3], row[4], row[5]) for row in rows}


def test_the_brokers_own_tools_show_groups_and_lag(broker: str, tmp_path: Path) -> None:
    with Streaming(broker, tmp_path, LANES, partitions=2) as streaming:
        stream = streaming.stream
        groups = [f"wirerank.{stream.name}.learn.{lane}" for lane in LANES]
        tokenizers = f"wirerank.{stream.name}.tokenize"
        streaming.start("tokenize-0")
        streaming.start("learn")
        streaming.produce(open_source("synthetic:100,topics=12"))
        assert len(streaming.rankings(200)) == 200
        assert streaming.end("learn") == 0
        streaming.produce(open_source("synthetic:60,topics=12,seed=2"))
        blocks = len(streaming.read(stream.blocks, 1, seconds=10))

        def described() -> dict[tuple[str, str, int], tuple[str, str, str]]:
            where = ["--bootstrap-server", broker, "--describe"]
            names = [part for group in (tokenizers, *groups) for part in ("--group", group)]
            return lags(console("consumer.group.ConsumerGroupCommand", *where, *names))

        listed = console(
            "consumer.group.ConsumerGroupCommand", "--bootstrap-server", broker, "--list"
        )
        assert {tokenizers, *groups} <= set(listed.split())
        actual = described()
        for partition in (0, 1):
            assert actual[tokenizers, stream.documents[0], partition] == ("80", "80", "0")
        for group in groups:
            reached, end, lag = actual[group, stream.blocks, 0]
            assert int(end) == blocks
            assert int(lag) == blocks - int(reached) > 0
        streaming.start("learn")
        assert len(streaming.rankings(320)) == 320
        assert streaming.end("learn") == 0
        actual = described()
        for group in groups:
            assert actual[group, stream.blocks, 0] == (str(blocks), str(blocks), "0")


def test_ninjs_from_somebody_elses_producer(broker: str, tmp_path: Path) -> None:
    """News items of agencies, sent by kcat with keys and headers that Wirerank ignores."""
    items = []
    for number in range(40):
        subject = ("wheat", "oil")[number % 2]
        text = json.dumps(NINJS)
        for mark, value in (("{0:02d}", f"{number:02d}"), ("{0}", str(number)), ("{1}", subject)):
            text = text.replace(mark, value)
        items.append(text)
    settings = 'block = 5\nmax_terms = 3000\nformat = "ninjs"'
    with Streaming(broker, tmp_path, LANES[:1], 2, settings=settings) as streaming:
        streaming.start("tokenize-0")
        streaming.start("learn")
        lines = "\n".join(f"{number % 7}|{item}" for number, item in enumerate(items)).encode()
        extra = ["-H", "agency=example", "-H", "priority=3", "-K", "|"]
        kcat("-P", "-b", broker, "-t", streaming.documents, *extra, given=lines)
        events = [json.loads(message.value or b"") for message in streaming.rankings(40)]
        for name in ("tokenize-0", "learn"):
            assert streaming.end(name) == 0, streaming.log(name)
    assert {event["id"] for event in events} == {json.loads(item)["uri"] for item in items}
    events.sort(key=lambda event: event["round"])
    code = {json.loads(item)["uri"]: json.loads(item)["subject"][0]["code"] for item in items}
    right = [event["ranking"][0]["topic"] == code[event["id"]] for event in events[-10:]]
    assert sum(right) >= 9  # it learned which words go with which subject


def test_newsml_g2_from_somebody_elses_producer(broker: str, tmp_path: Path) -> None:
    """Items of agencies in XML, written in every way, with persons among their subjects."""
    subjects = {str(number): f"medtop:{number % 2}" for number in range(40)}
    items = []
    for number, subject in subjects.items():
        word = ("wheat", "oil")[int(number) % 2]
        event = {"id": number, "title": f"{word} {number}", "text": f"The {word} market moved."}
        topics = [subject, f"person:{number}"]
        items.append(item({**event, "topics": topics}, WAYS[int(number) % len(WAYS)]))
    items.append("<newsItem>")
    settings = 'block = 5\nmax_terms = 3000\nformat = "newsml-g2:schemes=medtop"'
    with Streaming(broker, tmp_path, LANES[:1], 2, settings=settings) as streaming:
        streaming.start("tokenize-0")
        streaming.start("learn")
        lines = "\n".join(items).encode()
        kcat("-P", "-b", broker, "-t", streaming.stream.documents[0], given=lines)
        events = [json.loads(message.value or b"") for message in streaming.rankings(40)]
        (letter,) = streaming.read(streaming.stream.dead_letters, 1, seconds=20)
        for name in ("tokenize-0", "learn"):
            assert streaming.end(name) == 0, streaming.log(name)
    assert letter.value == b"<newsItem>"
    assert dict(letter.headers)["reason"] == b"not_xml"
    assert {event["id"] for event in events} == set(subjects)
    events.sort(key=lambda event: event["round"])
    for event in events[-10:]:
        assert {entry["topic"] for entry in event["ranking"]} == {"medtop:0", "medtop:1"}
    right = [event["ranking"][0]["topic"] == subjects[event["id"]] for event in events[-10:]]
    assert sum(right) >= 9


def test_two_streams_in_one_configuration(broker: str, tmp_path: Path) -> None:
    """`wirerank run` with two streams: each has its own documents, log, rankings and models."""
    with (
        Streaming(broker, tmp_path, LANES[:1]) as first,
        Streaming(broker, tmp_path, LANES[1:]) as second,
    ):
        both = tmp_path / "both.toml"
        text = first.text + second.text[second.text.index("[[streams]]") :]
        both.write_text(text)
        events = [list(open_source(f"synthetic:80,topics=12,seed={seed}")) for seed in (1, 2)]
        with (tmp_path / "run.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "consumers", "run", str(both), "--tokenizers", "2"],
                cwd=REPOSITORY,
                stderr=log,
            )
            try:
                for streaming, documents in zip((first, second), events, strict=True):
                    streaming.produce(documents)
                published = [
                    [message.value for message in streaming.rankings(80)]
                    for streaming in (first, second)
                ]
            finally:
                process.terminate()
                code = process.wait(60)
        assert code == 0, (tmp_path / "run.log").read_text()
        for streaming, rankings in zip((first, second), published, strict=True):
            assert rankings == streaming.undisturbed()[1]
            assert len(rankings) == 80
        assert (tmp_path / "snapshots" / first.name).is_dir()
        assert (tmp_path / "snapshots" / second.name).is_dir()
