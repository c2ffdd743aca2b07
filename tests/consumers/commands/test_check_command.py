"""`wirerank check` and `wirerank init`: what they say, and that they leave no trace."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import orjson
import pytest
from kafka.admin import KafkaAdminClient, NewTopic
from typer.testing import CliRunner, Result

from consumers.cli import new_app
from consumers.commands.init import propose
from consumers.config import read_config
from consumers.kafka.clients import connection_options, new_producer
from consumers.registry_settings import RegistrySettings
from consumers.settings import KafkaSettings
from pipeline.checking.findings import describe
from pipeline.checking.sample import Sample
from pipeline.corpora import open_source
from pipeline.events.event import Event
from pipeline.events.record import Record
from tests.conftest import REPOSITORY

SAMPLES = REPOSITORY / "docs" / "samples"


def run(*arguments: object) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(new_app(), [str(a) for a in arguments])


def test_events_that_need_a_mapping() -> None:
    result = run("check", SAMPLES / "articles.jsonl")
    assert result.exit_code == 1
    assert "4 events: 0 documents" in result.stdout
    assert "bad_id 4, first at 1: `id` is missing" in result.stdout
    assert "keys that no field is read from: articleId (4), headline (3)" in result.stdout
    assert "--fields id=articleId --fields title=headline" in result.stdout


def test_the_proposed_options_read_the_events() -> None:
    advice = run("check", SAMPLES / "articles.jsonl").stdout.splitlines()[-1]
    options = re.findall(r"--fields (?:'([^']*)'|(\S+))", advice)
    chosen = [part for quoted, plain in options for part in ("--fields", quoted or plain)]
    result = run("check", SAMPLES / "articles.jsonl", *chosen)
    assert result.exit_code == 0, result.output
    assert "3 documents (2 labelled), 1 late labels, 0 dead letters" in result.stdout
    assert '1: document 7, topics [grain], time 1987-02-26T15:01:01Z, "Wheat up' in result.stdout
    assert "4: label 9, topics [grain, ship]" in result.stdout
    assert "topics: 3 different; most frequent: grain (2)" in result.stdout


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"id,headline\n1,Wheat\n2,Oil\n", "CSV"),
        (b"<newsItem/>\n", "--format newsml-g2"),
        (b'{"id": 1, "text": "\\u001b[2J"}\n', "document 1"),
    ],
)
def test_other_inputs_are_named(content: bytes, told: str, tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_bytes(content)
    result = run("check", path)
    assert told in result.stdout
    assert "\x1b" not in result.stdout


def test_sample_and_examples_are_limited() -> None:
    result = run("check", "synthetic:5000", "--events", 70, "--show", 3)
    assert result.exit_code == 0
    assert "70 events: 70 documents" in result.stdout
    assert len(re.findall(r"^\d+: document", result.stdout, re.MULTILINE)) == 3


def test_one_bad_event_of_many_does_not_question_the_settings(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    good = list(open_source("synthetic:30,topics=5"))
    path.write_bytes(b"\n".join([*good, b"a line of text"]))
    few = run("check", path)
    assert "not_json 1, first at" in few.stdout
    assert "advice:" not in few.stdout
    path.write_bytes(b"\n".join([*good[:5], b"a line of text"]))
    assert "advice:" in run("check", path).stdout


def test_mistakes_are_explained(tmp_path: Path) -> None:
    assert "does not exist" in run("check", tmp_path / "missing.jsonl").output
    assert "did you mean 'title'" in run("check", "synthetic:9", "--fields", "titel=x").output
    assert run("check", tmp_path / "missing.toml").exit_code == 2


def test_options_that_would_be_ignored_are_refused() -> None:
    for option in (("--fields", "text=body"), ("--format", "ninjs")):
        refused = run("check", "wirerank.toml", *option)
        assert (refused.exit_code, "wirerank.toml has its own" in refused.output) == (2, True)
    assert "--stream needs" in run("check", "synthetic:9", "--stream", "newswire").output


def test_keys_inside_an_envelope_are_told(tmp_path: Path) -> None:
    """The keys of the envelope were listed, as if nothing was read from the object inside."""
    path = tmp_path / "changes.jsonl"
    row = {"id": 7, "body": "Wheat", "editor": "x"}
    changes = [{"payload": {"op": "c", "after": row}}, {"payload": {"op": "d", "after": None}}]
    path.write_bytes(b"\n".join(map(orjson.dumps, changes)))
    result = run("check", path, "--fields", "unwrap=payload.after", "--fields", "text=body")
    assert "keys that no field is read from: editor (1)\n" in result.stdout


@pytest.mark.parametrize(
    ("milliseconds", "rate"),
    [
        (1, "200,000 events per second"),
        (150, "1,333 events per second"),
        (9000, "22.2 events per second"),
        (9_000_000, "0.0222 events per second"),
        (10**8, "173 events per day"),
        (10**11, "0.173 events per day"),
    ],
)
def test_a_rate_is_written_without_an_exponent(milliseconds: int, rate: str) -> None:
    sample = Sample(frozenset(), 0)
    for number in range(201):
        event = Event(str(number), "Wheat", None, None, None)
        record = Record(b"{}", timestamp=number * milliseconds // 200)
        sample.add(record, lambda event=event: event)  # type: ignore[misc]
    assert f"rate: {rate} while" in "\n".join(describe(sample, "news", kafka=True))


def written(broker: str, events: list[Any]) -> str:
    """A new topic with these events."""
    topic = f"check-{time.time_ns()}"
    admin = KafkaAdminClient(**connection_options(KafkaSettings(bootstrap=broker)))
    admin.create_topics([NewTopic(topic, 3, 1)])
    admin.wait_for_topics([topic])
    admin.close()
    producer = new_producer(KafkaSettings(bootstrap=broker))
    for number, event in enumerate(events):
        producer.send(topic, event, key=b"k", partition=number % 3)
    producer.flush(60)
    producer.close(timeout=5)
    return topic


def names(broker: str) -> tuple[set[str], set[str]]:
    """All topics and consumer groups of a broker."""
    admin = KafkaAdminClient(**connection_options(KafkaSettings(bootstrap=broker)))
    topics = {topic["name"] for topic in admin.describe_topics()}
    groups = {group["group_id"] for group in admin.list_groups()}
    admin.close()
    return topics, groups


def test_init_proposes_an_id_only_if_no_event_has_one() -> None:
    without, label = b'{"nr": 1, "body": "Wheat up"}', b'{"id": 1, "topics": ["grain"]}'
    registry = RegistrySettings()
    assert propose([without], registry).fields == {"id": "@origin", "text": "body"}
    assert propose([without, label], registry).fields == {"text": "body"}


def test_a_topic_of_others_from_init_to_check(broker: str, tmp_path: Path) -> None:
    """The shape that once disappeared: headline, body and topics. Nothing is left on the broker."""
    events = []
    for raw in open_source("synthetic:60,topics=12"):
        event = orjson.loads(raw)
        events.append(
            orjson.dumps(
                {
                    "id": event["id"], "headline": event["title"], "body": event["text"],
                    "topics": event["topics"],
                }
            )
        )  # fmt: skip
    topic = written(broker, [*events, b"no JSON", None])
    before = names(broker)
    path = tmp_path / "wirerank.toml"
    result = run("init", topic, "--kafka", broker, "--name", "wire", "--output", path)
    assert result.exit_code == 0, result.output
    assert "Fields that are mapped: title, text." in result.stdout
    config = read_config(path, {})
    assert config.streams[0].documents == (topic,)
    assert config.streams[0].fields == {"title": "headline", "text": "body"}
    again = run("init", topic, "--kafka", broker, "--output", path)
    assert "exists; name another file" in again.output
    checked = run("check", path, "--show", 2)
    assert checked.exit_code == 0, checked.output
    assert "62 events: 60 documents (60 labelled)" in checked.stdout
    assert f"{topic}-0-0: document 'synthetic-1', topics [" in checked.stdout
    assert "tombstone 1, first at" in checked.stdout
    assert "memory: at most" in checked.stdout
    assert names(broker) == before


def test_a_topic_that_does_not_exist(broker: str, tmp_path: Path) -> None:
    path = tmp_path / "wirerank.toml"
    result = run("init", "never.made", "--kafka", broker, "--output", path)
    assert result.exit_code != 0
    assert "there is no Kafka topic never.made" in result.output
    assert not path.exists()
    assert "never.made" not in names(broker)[0]
    path.write_text(f"""kafka.bootstrap = "{broker}"
[[streams]]
name = "never"
documents = "never.made"
lanes = [{{spec = "mmp"}}]
""")
    checked = run("check", path)
    assert checked.exit_code == 2
    assert "There is nothing to check yet. Workers create missing topics." in checked.output
