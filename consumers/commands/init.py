"""`wirerank init`: write a configuration for a Kafka topic, with a mapping that fits its events."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from pipeline.commands.failure import fail
from pipeline.events.suggestions import suggest_mapping, toml_of
from pipeline.printable import printable

SAMPLE = 200  # events whose fields are looked at


def init_command(
    topics: Annotated[
        list[str], typer.Argument(metavar="TOPIC...", help="The Kafka topics of documents.")
    ],
    kafka: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="The address of a broker.")
    ] = "127.0.0.1:9092",
    name: Annotated[str, typer.Option(metavar="NAME", help="A name for the stream.")] = "newswire",
    output: Annotated[
        Path, typer.Option(metavar="FILE", help="The file to write; it must not exist.")
    ] = Path("wirerank.toml"),
) -> None:
    """Write a configuration for Kafka topics that exist.

    Looks at the newest events, and proposes where their fields are. Then try it with `wirerank
    check`. For a broker with TLS or a password, write the configuration by hand; `wirerank config
    --example` prints one to start from.
    """
    fields = proposed_fields(kafka, topics)
    text = configuration(kafka, topics, name, fields)
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        fail(f"{printable(str(output))} exists; name another file with --output.")
    except OSError as error:
        fail(f"{printable(str(output))} cannot be written: {error.strerror}.")
    mapped = ", ".join(fields) if fields else "none; the events are in the native form"
    typer.echo(printable(f"wrote {output}. Fields that are mapped: {mapped}."))
    typer.echo(printable(f"Next: wirerank check {output}"))


def proposed_fields(bootstrap: str, topics: list[str]) -> dict[str, Any]:
    """The mapping that fits the newest event that needs one; empty if none does."""
    from consumers.kafka.errors import KafkaError, describe_error  # noqa: PLC0415 - slow to import
    from consumers.kafka.topic_sample import MissingTopicError, newest_records  # noqa: PLC0415
    from consumers.settings import KafkaSettings  # noqa: PLC0415

    proposed: dict[str, Any] = {}
    try:
        for message in newest_records(KafkaSettings(bootstrap=bootstrap), topics, SAMPLE):
            try:
                event = orjson.loads(message.value or b"")
            except orjson.JSONDecodeError:
                continue
            found = suggest_mapping(event) if isinstance(event, dict) else {}
            proposed = max(proposed, found, key=len)
    except MissingTopicError as error:
        fail(printable(str(error)))
    except (KafkaError, OSError) as error:
        fail(describe_error(error))
    return proposed


def configuration(bootstrap: str, topics: list[str], name: str, fields: dict[str, Any]) -> str:
    """The example configuration, for these topics and fields."""
    text = files("consumers").joinpath("example.toml").read_text(encoding="utf-8")
    text = text.replace("newswire", name)
    text = text.replace('bootstrap = "127.0.0.1:9092"', f"bootstrap = {toml_of(bootstrap)}", 1)
    documents = toml_of(topics[0] if len(topics) == 1 else topics)
    text = re.sub(
        r"^# documents = \S+ +",
        lambda match: f"documents = {documents}  ",
        text,
        count=1,
        flags=re.M,
    )
    section = "".join(f"{key} = {toml_of(value)}\n" for key, value in fields.items())
    if section:
        lanes = "\n[[streams.lanes]]\n"
        mapping = f"\n# Proposed from the newest events; check it.\n[streams.fields]\n{section}"
        text = text.replace(lanes, f"{mapping}{lanes}", 1)
    return text
