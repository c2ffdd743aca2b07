"""`wirerank dead-letters` on a real broker: refused, listed, corrected, sent back, ranked."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner

from consumers.cli import new_app
from consumers.dead_letters.corrections import Correction
from consumers.dead_letters.sending import DEAD_LETTER, SendBack
from consumers.dead_letters.still_malformed import Acceptance
from consumers.dead_letters.topic import LetterTopic
from consumers.kafka.client_types import Message
from consumers.kafka.clients import new_producer
from consumers.kafka.errors import RefusedError
from consumers.kafka.workarounds import discard_producer
from consumers.tokenizer.dead_letter import DeadLetter
from tests.conftest import REPOSITORY, missing
from tests.support.kafka_stream import SMALL, Streaming, assert_exact

LANE = "mmp:loss=1"
HOSTILE = "\x1b[2J\x1b]0;owned\x07 \u202eevil\r\n"


@pytest.fixture
def streaming(broker: str, tmp_path: Path) -> Iterator[Streaming]:
    with Streaming(broker, tmp_path, [LANE], partitions=2) as made:
        yield made


class Shown:
    """What a command wrote."""

    def __init__(self, streaming: Streaming, *arguments: str, given: bytes | None = None) -> None:
        command, *rest = arguments
        result = CliRunner().invoke(
            new_app(), ["dead-letters", command, str(streaming.path), *rest], given
        )
        assert result.exception is None or isinstance(result.exception, SystemExit), result.output
        self.code = result.exit_code
        self.out, self.err = result.stdout, result.stderr

    @property
    def objects(self) -> list[dict[str, Any]]:
        assert self.code == 0, self.err
        return [json.loads(line) for line in self.out.splitlines()]


def send(streaming: Streaming, *records: tuple[bytes | None, bytes | None, int]) -> None:
    """Write events with keys and headers to partitions."""
    producer = new_producer(streaming.config.kafka)
    for value, key, partition in records:
        headers = [("trace", b"t-%d" % partition)]
        producer.send(streaming.documents, value, key, headers, partition).get(60)
    producer.close(timeout=5)


def refuse(
    streaming: Streaming, *values: bytes, reason: str = "bad_topics", size: int | None = None
) -> None:
    """Write dead letters as tokenizers do, without a tokenizer."""
    producer = new_producer(streaming.config.kafka)
    for offset, value in enumerate(values):
        letter = DeadLetter(streaming.documents, 0, offset, value, reason, "why", size)
        producer.send(streaming.stream.dead_letters, letter.value, letter.key, letter.headers).get(
            60
        )
    producer.close(timeout=5)


def documents_of(streaming: Streaming, wanted: int) -> list[Message]:
    return streaming.read(streaming.documents, streaming.partitions, wanted)


def corrected(line: dict[str, Any]) -> dict[str, Any]:
    """As a person would: the topics become a list."""
    event = json.loads(line["event"])
    event["topics"] = event["topics"].split(";")
    return {**line, "event": event}


def test_a_refused_event_is_listed_corrected_sent_back_and_ranked(
    streaming: Streaming, tmp_path: Path
) -> None:
    audit = tmp_path / "audit.jsonl"
    streaming.path.write_text(f'[audit]\nfile = "{audit}"\n' + streaming.text)
    wheat = orjson.dumps({"id": "wheat", "text": "wheat prices", "topics": "grain;wheat"})
    hostile = orjson.dumps({"id": HOSTILE, "text": "x", "topics": HOSTILE})
    streaming.start("tokenize-0")
    streaming.start("learn")
    ships = [orjson.dumps({"id": n, "text": "ships sail", "topics": ["ship"]}) for n in range(6)]
    streaming.produce(ships)
    send(streaming, (wheat, b"key-1", 1), (b"{" + HOSTILE.encode(), b"\xff", 0), (None, b"gone", 0))
    send(streaming, (hostile, None, 1))
    streaming.read(streaming.stream.dead_letters, 1, 4)

    counted = Shown(streaming, "count")
    assert counted.code == 0
    assert [line.split()[:2] for line in counted.out.splitlines()] == [
        ["2", "bad_topics"], ["1", "not_json"], ["1", "tombstone"], ["4", "in"],
    ]  # fmt: skip
    listed = Shown(streaming, "list")
    assert len(listed.out.splitlines()) == 4
    assert len(Shown(streaming, "list", "--limit", "1").out.splitlines()) == 1
    assert Shown(streaming, "list", "--since", "2100-01-01T00:00:00Z").out == ""
    assert len(Shown(streaming, "list", "--since", "1h", "--limit", "0").out.splitlines()) == 4
    lines = Shown(streaming, "list", "--reason", "bad_topics", "--json").objects
    assert [json.loads(line["event"])["id"] for line in lines] == ["wheat", HOSTILE]
    first = lines[0]
    assert (first["topic"], first["partition"], first["key"]) == (streaming.documents, 1, "key-1")
    for line in Shown(streaming, "list", "--json").objects:
        shown = Shown(streaming, "show", line["letter"])
        assert shown.code == 0
        assert line["reason"] in shown.out
        for text in (shown.out, listed.out, counted.out):
            assert text.replace("\n", "").isprintable()
    assert '{"id":"wheat","text":"wheat prices"' in Shown(streaming, "show", first["letter"]).out

    path = tmp_path / "corrections.jsonl"
    path.write_bytes(b"\n".join(orjson.dumps(corrected(line)) for line in lines[:1]))
    assert "would be sent back: 1\n" in Shown(streaming, "send-back", str(path), "--dry-run").out
    sent = Shown(streaming, "send-back", str(path))
    assert (sent.code, sent.out) == (0, "sent back: 1\nsent back already: 0\nrefused: 0\n")
    again = Shown(streaming, "send-back", "-", given=path.read_bytes())
    assert (again.code, again.out) == (0, "sent back: 0\nsent back already: 1\nrefused: 0\n")

    streaming.wait_learned()
    rankings = streaming.rankings(7)
    assert sum(json.loads(m.value or b"{}")["id"] == "wheat" for m in rankings) == 1
    assert streaming.end("learn") == 0, streaming.log("learn")
    assert_exact(streaming, rankings, [*ships, wheat])
    (message,) = [m for m in documents_of(streaming, 11) if m.value and b'["grain"' in m.value]
    assert (message.partition, message.key) == (1, b"key-1")
    assert list(message.headers) == [("trace", b"t-1"), (DEAD_LETTER, first["letter"].encode())]

    assert Shown(streaming, "count", "--json").objects[0] == {
        "reason": "bad_topics", "waiting": 1, "sent_back": 1,
    }  # fmt: skip
    listed_now = Shown(streaming, "list", "--json").objects
    assert len(listed_now) == 3
    assert first["letter"] not in [line["letter"] for line in listed_now]
    marked = [
        line["letter"]
        for line in Shown(streaming, "list", "--all", "--json").objects
        if line["sent_back"]
    ]
    assert marked == [first["letter"]]
    outcomes = [json.loads(line) for line in audit.read_text().splitlines()]
    assert [entry["outcome"] for entry in outcomes] == ["begun", "done"] * 3
    assert outcomes[3]["result"] == {"sent": 1, "already": 0, "refused": 0}
    assert outcomes[3]["what"]["file"] == str(path)


def test_originals_are_sent_back_after_the_settings_were_corrected(streaming: Streaming) -> None:
    """Only those that are no dead letters now."""
    event = orjson.dumps({"id": "a", "headline": "Wheat", "topics": ["grain"]})
    other = orjson.dumps({"id": "b", "body": "Ships", "topics": ["ship"]})
    refuse(streaming, event, other, reason="unknown_fields")
    refused = Shown(streaming, "send-back", "--reason", "unknown_fields")
    assert refused.code == 1
    assert refused.out == "sent back: 0\nsent back already: 0\nrefused: 2\n"
    assert "0:0 would be a dead letter again: unknown_fields" in refused.err
    streaming.settings = SMALL + '\nfields = {id = "id", title = "headline", topics = "topics"}'
    streaming.configure([LANE])
    mapped = Shown(streaming, "send-back", "--reason", "unknown_fields")
    assert (mapped.code, mapped.out) == (1, "sent back: 1\nsent back already: 0\nrefused: 1\n")
    assert Shown(streaming, "send-back", "--reason", "not_json").out.startswith("sent back: 0\n")
    assert [m.value for m in documents_of(streaming, 1)] == [event]


def test_a_cut_event_needs_a_correction(streaming: Streaming) -> None:
    refuse(streaming, b'{"id": "a"', reason="too_large", size=10_000)
    refused = Shown(streaming, "send-back", "--reason", "too_large")
    assert refused.code == 1
    assert "0:0 is cut: only the first 10 of 10,000 bytes were kept" in refused.err
    (line,) = Shown(streaming, "list", "--json").objects
    assert (line["cut"], line["size"]) == (True, 10_000)
    refused = Shown(streaming, "send-back", "-", given=orjson.dumps(line))
    assert "is cut" in refused.err
    line["event"] = {"id": "a", "text": "short"}
    sent = Shown(streaming, "send-back", "-", given=orjson.dumps(line))
    assert (sent.code, sent.out) == (0, "sent back: 1\nsent back already: 0\nrefused: 0\n")
    assert [m.value for m in documents_of(streaming, 1)] == [b'{"id":"a","text":"short"}']


def test_copies_of_a_letter_are_sent_once(streaming: Streaming) -> None:
    """A tokenizer that crashes before its commit writes its dead letters again."""
    event = orjson.dumps({"id": "a", "text": "x"})
    refuse(streaming, event)
    refuse(streaming, event)
    assert Shown(streaming, "count", "--json").objects[0]["waiting"] == 1
    sent = Shown(streaming, "send-back", "--reason", "bad_topics")
    assert (sent.code, sent.out) == (0, "sent back: 1\nsent back already: 1\nrefused: 0\n")
    refuse(streaming, event)
    again = Shown(streaming, "send-back", "--reason", "bad_topics")
    assert again.out.startswith("sent back: 0\nsent back already: 3\n")
    assert len(documents_of(streaming, 1)) == 1


def test_what_never_goes_back(streaming: Streaming) -> None:
    """A topic that the stream does not read, a batch, a letter without its key."""
    event = orjson.dumps({"id": "a", "text": "x"})
    producer = new_producer(streaming.config.kafka)
    target = streaming.stream.dead_letters
    foreign = DeadLetter(streaming.stream.blocks, 0, 0, event, "bad_id", "")
    batch = DeadLetter(streaming.documents, 0, 1, event, "undecodable_batch", "")
    bare = DeadLetter(streaming.documents, 0, 2, event, "bad_id", "", original_key=b"k" * 5000)
    for letter in (foreign, batch, bare):
        producer.send(target, letter.value, letter.key, letter.headers).get(60)
    producer.send(target, event, b"no headers at all").get(60)
    producer.close(timeout=5)
    reasons = [f"--reason={reason}" for reason in ("bad_id", "undecodable_batch", "unknown")]
    refused = Shown(streaming, "send-back", *reasons)
    assert (refused.code, refused.out.splitlines()[-1]) == (1, "refused: 4")
    for message in (
        f"0:0 came from {streaming.stream.blocks}, which stream {streaming.name} does not read.",
        "0:1 is a batch that could not be decoded",
        "0:2 was kept without its key and headers",
        "0:3 does not say where its event came from",
    ):
        assert message in refused.err
    line = orjson.dumps({"letter": "0:2", "event": event.decode(), "key": "new"})
    missing = orjson.dumps({"letter": "0:99", "event": {}})
    sent = Shown(streaming, "send-back", "-", given=line + b"\n" + missing)
    assert (sent.code, sent.out.splitlines()[0]) == (1, "sent back: 1")
    assert "0:99 is not there, or was deleted." in sent.err
    assert [m.key for m in documents_of(streaming, 1)] == [b"new"]


def test_runs_that_are_killed_or_fenced_send_nothing_twice(streaming: Streaming) -> None:
    events = [orjson.dumps({"id": str(n), "text": "x"}) for n in range(3)]
    refuse(streaming, *events)

    def new_run() -> tuple[Any, LetterTopic]:
        topic = LetterTopic(streaming.config.kafka, streaming.stream.dead_letters)
        accept = Acceptance(streaming.config, streaming.stream)
        run = SendBack(streaming.config, streaming.stream, topic, accept.problem)
        run.begin()
        return run, topic

    killed, topic = new_run()
    letters = list(topic.letters())
    killed._producer.begin_transaction()  # killed after its records arrived, before the commit
    killed._producer.send(streaming.documents, events[0], partition=0).get(60)
    discard_producer(killed._producer)

    first, topic = new_run()
    second, other = new_run()
    first.add(letters[0], None)
    with pytest.raises(RefusedError, match="another `dead-letters send-back`"):
        first.commit()
    first.close()
    assert first.count() == 0
    second.add(letters[0], None)
    second.add(letters[1], Correction(b'{"id": "corrected", "text": "y"}', False, None))
    second.commit()
    second.add(letters[2], None)
    second.commit()
    assert second.count() == 3
    second.close()
    for opened in (topic, other):
        opened.close()
    assert Shown(streaming, "send-back", "--reason", "bad_topics").out.startswith("sent back: 0\n")
    values = [m.value for m in documents_of(streaming, 3)]
    assert values == [events[0], b'{"id": "corrected", "text": "y"}', events[2]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("send-back",), "expected either a file of corrections or --reason"),
        (("send-back", "x", "--reason", "y"), "expected either a file of corrections or --reason"),
        (("send-back", "x", "--since", "2h"), "--since goes with --reason"),
        (("send-back", "no/such/file"), "no/such/file cannot be read: No such file"),
        (("send-back", "-"), "standard input, line 1 is not JSON"),
        (("show", "17"), "such as 0:17. Got '17'"),
        (("list", "--since", "yesterday"), "expected a duration such as 2h, or a time with zone"),
    ],
    ids=["nothing", "both", "since", "no file", "no json", "no place", "no time"],
)
def test_wrong_usage(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    """Found before the broker is asked."""
    path = tmp_path / "wirerank.toml"
    path.write_text('[[streams]]\nname = "a"\nlanes = [{spec = "mmp"}]\n')
    command, *rest = arguments
    result = CliRunner().invoke(new_app(), ["dead-letters", command, str(path), *rest], input="{")
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_letter_or_topic_that_does_not_exist(streaming: Streaming) -> None:
    for place in ("0:0", "7:0"):
        shown = Shown(streaming, "show", place)
        assert shown.code == 1
        assert f"there is no dead letter {place}" in shown.err
    assert Shown(streaming, "count").out.split() == ["0", "in", "all"]
    streaming.path.write_text(streaming.text.replace(streaming.name, f"{streaming.name}-other"))
    missing = Shown(streaming, "list")
    assert missing.code == 1
    assert "there is no Kafka topic" in missing.err


def test_the_commands_of_the_guide(
    streaming: Streaming, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("jq") is None:
        missing("jq", "apt install jq")
    refuse(streaming, orjson.dumps({"id": "a", "text": "x", "topics": "grain;wheat"}))
    refuse(streaming, orjson.dumps({"id": "b", "text": "y"}), reason="unknown_fields")
    text = (REPOSITORY / "docs/guide/operate/dead-letters.md").read_text()
    commands = re.findall(r"^    ((?:wirerank|jq) .*)$", text, re.M)
    assert len(commands) == 9
    monkeypatch.chdir(tmp_path)
    results = []
    for command in commands:
        line, _, target = command.partition(" > ")
        if line.startswith("jq"):
            done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, check=False)
            assert done.returncode == 0, done.stderr
            continue
        result = CliRunner().invoke(new_app(), shlex.split(line)[1:])
        assert result.exit_code == 0, result.output
        results += re.findall(r"^.*sent back: \d", result.stdout, re.M)
        if target:
            Path(target).write_text(result.stdout)
    assert results == ["would be sent back: 1", "sent back: 1", "sent back: 1"]
    values = [orjson.loads(m.value or b"") for m in documents_of(streaming, 2)]
    assert sorted(value.get("topics", []) for value in values) == [[], ["grain", "wheat"]]
