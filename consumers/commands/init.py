"""`wirerank init`: write a configuration for a Kafka topic, with a mapping that fits its events."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from threading import Event
from typing import Annotated, Any, NamedTuple

import typer
from pydantic import ValidationError

from consumers.config import explain, kafka_settings
from consumers.registry_settings import EXAMPLE, RegistrySettings
from consumers.settings import ConfigError
from pipeline.checking.sample import parsed
from pipeline.commands.failure import fail
from pipeline.events.event import MAX_EVENT_BYTES, MalformedEvent
from pipeline.events.formats import NATIVE, REGISTRY_FORMATS, TEXT
from pipeline.events.schema_ids import (
    AVRO,
    FORMAT_OF_TYPE,
    JSON_SCHEMA,
    object_parser,
    schema_id,
)
from pipeline.events.sniffing import sniff
from pipeline.events.suggestions import (
    find_fields,
    suggest_mapping,
    suggest_whole_mapping,
    toml_of,
)
from pipeline.printable import printable

SAMPLE = 200  # events whose fields are looked at


class Proposal(NamedTuple):
    """The format of events, and the field mapping that fits them."""

    format: str
    fields: dict[str, Any]


def init_command(
    topics: Annotated[
        list[str], typer.Argument(metavar="TOPIC...", help="The Kafka topics of documents.")
    ],
    kafka: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="The address of a broker.")
    ] = "127.0.0.1:9092",
    registry: Annotated[
        str,
        typer.Option(metavar="URL", help="The address of a Schema Registry, if values need one."),
    ] = "",
    name: Annotated[str, typer.Option(metavar="NAME", help="A name for the stream.")] = "newswire",
    output: Annotated[
        Path, typer.Option(metavar="FILE", help="The file to write; it must not exist.")
    ] = Path("wirerank.toml"),
) -> None:
    """Write a configuration for Kafka topics that exist.

    Looks at the newest events, and proposes where their fields are. Then try it with `wirerank
    check`. For a broker with TLS or a password, set WIRERANK__KAFKA__SECURITY_PROTOCOL and the like
    in the environment; they are not written to the file. For a registry with a password, write the
    configuration by hand; `wirerank config --example` prints one to start from.
    """
    settings = registry_settings(registry)
    proposal = look_at(kafka, settings, topics)
    text = configuration(kafka, settings, topics, name, proposal)
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        fail(f"{printable(str(output))} exists; name another file with --output.")
    except OSError as error:
        fail(f"{printable(str(output))} cannot be written: {error.strerror}.")
    mapped = ", ".join(proposal.fields) or "none; they have their native names"
    typer.echo(
        printable(f"wrote {output}. Format: {proposal.format}. Fields that are mapped: {mapped}.")
    )
    typer.echo(printable(f"Next: wirerank check {output}"))


def registry_settings(url: str) -> RegistrySettings:
    """The settings of a registry that is named on the command line."""
    try:
        return RegistrySettings(url=url)
    except ValidationError as error:
        fail(f"--registry: {explain(error.errors(include_url=False)[0])}")


def look_at(kafka: str, registry: RegistrySettings, topics: list[str]) -> Proposal:
    """What fits the newest events of Kafka topics."""
    from consumers.kafka.errors import KafkaError, describe_error  # noqa: PLC0415 - slow to import
    from consumers.kafka.topic_sample import MissingTopicError, newest_records  # noqa: PLC0415
    from consumers.registry.http_client import RegistryAwayError  # noqa: PLC0415

    try:
        messages = newest_records(kafka_settings(kafka, os.environ), topics, SAMPLE)
        return propose([message.value for message in messages if message.value], registry)
    except (ConfigError, MissingTopicError) as error:
        fail(printable(str(error)))
    except RegistryAwayError as error:
        fail(f"the Schema Registry at {registry.url} does not answer: {error}.")
    except (KafkaError, OSError) as error:
        fail(describe_error(error))


def propose(values: list[bytes], registry: RegistrySettings) -> Proposal:
    """The format of most values, and the mapping that fits the one that needs most of it."""
    kinds = Counter(format_of(value) for value in values)
    format_ = kinds.most_common(1)[0][0] if kinds else NATIVE
    if format_ not in REGISTRY_FORMATS:
        objects = [parsed(value) for value in values] if format_ == NATIVE else []
    else:
        if not registry.url:
            fail(
                "the values have the ids of schemas in front. Name the Schema Registry that has "
                f"the schemas, for instance --registry {EXAMPLE}."
            )
        format_, objects = registered_objects(values, registry, format_)
    has_ids = any("id" in find_fields(event) for event in objects if event)
    suggest = suggest_mapping if has_ids else suggest_whole_mapping
    fields: dict[str, Any] = {}
    for event in objects:
        fields = max(fields, suggest(event) if event else {}, key=len)
    return Proposal(format_, fields)


def format_of(value: bytes) -> str:
    """The format that a value seems to have: native if nothing else fits."""
    sniffed = sniff(value)
    kinds = {"schema-registry": AVRO, "json-schema": JSON_SCHEMA, "text": TEXT}
    return kinds.get(sniffed.kind, NATIVE) if sniffed else NATIVE


def registered_objects(
    values: list[bytes], registry: RegistrySettings, format_: str
) -> tuple[str, list[Mapping[str, Any] | None]]:
    """The format that the schemas of values have, and the objects that the values are."""
    from consumers.registry.resolver import SchemaResolver  # noqa: PLC0415 - slow to import

    schemas = SchemaResolver(registry)
    schemas.check()
    objects: list[Mapping[str, Any] | None] = []
    for value in values:
        schemas.begin()
        id_ = schema_id(value)
        if id_ is None or not schemas.resolve([id_], Event()):
            continue
        try:
            format_ = FORMAT_OF_TYPE.get(schemas.lookup(id_).type, format_)
            objects.append(object_parser(format_, schemas.lookup)(value, MAX_EVENT_BYTES))
        except MalformedEvent:
            continue
    return format_, objects


def configuration(
    kafka: str, registry: RegistrySettings, topics: list[str], name: str, proposal: Proposal
) -> str:
    """The example configuration, for these topics and fields."""
    text = files("consumers").joinpath("example.toml").read_text(encoding="utf-8")
    text = text.replace("newswire", name)
    text = text.replace('bootstrap = "127.0.0.1:9092"', f"bootstrap = {toml_of(kafka)}", 1)
    if registry.url:
        commented = f'# [registry]\n# url = "{EXAMPLE}"'
        text = text.replace(commented, f"[registry]\nurl = {toml_of(registry.url)}", 1)
    documents = toml_of(topics[0] if len(topics) == 1 else topics)
    text = set_setting(text, "documents", documents)
    if proposal.format != NATIVE:
        text = set_setting(text, "format", toml_of(proposal.format))
    section = "".join(f"{key} = {toml_of(value)}\n" for key, value in proposal.fields.items())
    if section:
        lanes = "\n[[streams.lanes]]\n"
        mapping = f"\n# Proposed from the newest events; check it.\n[streams.fields]\n{section}"
        text = text.replace(lanes, f"{mapping}{lanes}", 1)
    return text


def set_setting(text: str, name: str, value: str) -> str:
    """The example with a value for one of its settings that are commented out."""
    line = re.compile(rf"^# {name} = \S+ +", re.M)
    return line.sub(lambda match: f"{name} = {value}  ", text, count=1)
