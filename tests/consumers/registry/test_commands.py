"""`wirerank init` and `wirerank check` for topics with schemas, and for plain text."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import orjson
import pytest
from kafka.admin import KafkaAdminClient, NewTopic
from typer.testing import CliRunner, Result

from consumers.cli import new_app
from consumers.config import read_config
from consumers.kafka.clients import connection_options
from consumers.settings import KafkaSettings
from pipeline.corpora import open_source
from tests.support.registered_events import NATIVE_JSON, avro_serializer, json_serializer, send
from tests.support.registry_server import Registry

ARTICLE: dict[str, Any] = {
    "type": "record", "name": "Article", "fields": [
        {"name": "articleId", "type": "long"},
        {"name": "headline", "type": "string"},
        {"name": "body", "type": "string"},
        {"name": "tags", "type": {"type": "array", "items": {
            "type": "record", "name": "Tag", "fields": [{"name": "slug", "type": "string"}]}}},
        {"name": "published", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "editor", "type": ["null", "string"]},
    ],
}  # fmt: skip


def run(*arguments: object) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(new_app(), [str(a) for a in arguments])


def new_topic(broker: str) -> str:
    topic = f"registered-{time.time_ns()}"
    admin = KafkaAdminClient(**connection_options(KafkaSettings(bootstrap=broker)))
    admin.create_topics([NewTopic(topic, 1, 1)])
    admin.wait_for_topics([topic])
    admin.close()
    return topic


def articles(count: int) -> list[dict[str, Any]]:
    events = [orjson.loads(raw) for raw in open_source(f"synthetic:{count},topics=12")]
    return [
        {
            "articleId": number, "headline": event["title"], "body": event["text"],
            "tags": [{"slug": topic} for topic in event["topics"]],
            "published": 541_350_061_000 + number, "editor": None,
        }
        for number, event in enumerate(events)
    ]  # fmt: skip


@pytest.mark.parametrize("format_", ["avro", "json-schema"])
def test_from_init_to_check(broker: str, registry: Registry, tmp_path: Path, format_: str) -> None:
    topic = new_topic(broker)
    if format_ == "avro":
        serialize = avro_serializer(registry.url, topic, ARTICLE)
    else:
        schema = {**NATIVE_JSON, "properties": {}, "required": []}
        serialize = json_serializer(registry.url, topic, schema)
    send(broker, topic, [*map(serialize, articles(40)), b"\0\0\x98\x96\x7f\x02a"])
    path = tmp_path / "wirerank.toml"
    plain = ("init", topic, "--kafka", broker, "--output", path)
    result = run(*plain)
    assert result.exit_code == 2
    assert "Name the Schema Registry that has the schemas" in result.output
    assert "expected an address of HTTP" in run(*plain, "--registry", "registry:8081").output
    assert "does not answer" in run(*plain, "--registry", "http://127.0.0.1:1").output
    result = run(*plain, "--registry", registry.url.removesuffix("/apis/ccompat/v7"))
    assert "Apicurio" in result.output
    assert not path.exists()
    result = run(*plain, "--registry", registry.url)
    assert result.exit_code == 0, result.output
    assert f"Format: {format_}. Fields that are mapped: id, title, text, topics" in result.output
    config = read_config(path, {})
    assert config.registry.url == registry.url
    assert config.streams[0].format == format_
    if format_ == "json-schema":
        text = path.read_text().replace('time = "published"', "")
        path.write_text(text)
    result = run("check", path)
    assert result.exit_code == 0, result.output
    assert "41 events: 40 documents (40 labelled), 0 late labels, 1 dead letters" in result.output
    assert "unknown_schema 1" in result.output
    assert "editor (40)" in result.output
    assert "advice" not in result.output
    if format_ == "avro":
        assert "time 1987-02-26T15:01:01" in result.output


def test_check_says_what_is_wrong_with_the_registry(
    broker: str, registry: Registry, tmp_path: Path
) -> None:
    topic = new_topic(broker)
    send(broker, topic, [avro_serializer(registry.url, topic, ARTICLE)(articles(1)[0])])
    path = tmp_path / "wirerank.toml"
    for url, message in (
        ("http://127.0.0.1:1", "the Schema Registry at http://127.0.0.1:1 does not answer: Conn"),
        (registry.url.removesuffix("/apis/ccompat/v7"), "there is no Schema Registry at http"),
    ):
        path.write_text(
            f'[kafka]\nbootstrap = "{broker}"\n[registry]\nurl = "{url}"\n[[streams]]\n'
            f'name = "wire"\ndocuments = "{topic}"\nformat = "avro"\nlanes = [{{spec = "mmp"}}]\n'
        )
        result = run("check", path)
        assert result.exit_code == 2
        assert message in result.output


def test_plain_text_from_init_to_check(broker: str, tmp_path: Path) -> None:
    topic = new_topic(broker)
    send(broker, topic, [b"Wheat prices rose", "Zürich gewinnt".encode(), b"\xff"])
    path = tmp_path / "wirerank.toml"
    result = run("init", topic, "--kafka", broker, "--output", path)
    assert result.exit_code == 0, result.output
    result = run("check", path)
    assert "3 events: 2 documents (0 labelled), 0 late labels, 1 dead letters" in result.output
    assert f"document '{topic}-0-0', \"Wheat prices rose\"" in result.output
    lines = tmp_path / "lines.txt"
    lines.write_bytes(b"[Wheat] prices\nrose\n")
    result = run("check", lines, "--format", "text")
    assert "2 events: 2 documents" in result.output
    assert "1: document '1', \"[Wheat] prices\"" in result.output
