"""`wirerank check`: what would become of the events of a file, or of a stream on Kafka."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from threading import Event
from typing import Annotated

import typer

from consumers.commands.configuration import configured, stream_named
from consumers.stream_settings import StreamSettings
from pipeline.checking.findings import describe
from pipeline.checking.sample import Sample
from pipeline.checking.source_sample import add_source
from pipeline.commands import options
from pipeline.commands.failure import fail
from pipeline.commands.field_options import read_fields
from pipeline.commands.options import DEFAULTS
from pipeline.corpora import SourceError, open_source
from pipeline.engine.engine import Engine
from pipeline.engine.memory import memory_ceiling
from pipeline.errors import UsageError
from pipeline.events.event import MAX_EVENT_BYTES
from pipeline.events.fields import FIELDS, FieldMapping
from pipeline.events.formats import check_format, new_decoder
from pipeline.printable import printable
from pipeline.replay.settings import check_fields

NATIVE_KEYS = frozenset(FIELDS)
NO_DOCUMENT = 1  # the exit code


def check_command(
    what: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE|CONFIG.toml",
            help="A source as for `replay`, or the configuration of the workers.",
        ),
    ],
    stream: Annotated[
        str | None, typer.Option(metavar="NAME", help="The stream, if there are several.")
    ] = None,
    format_: options.Format = DEFAULTS.format,
    fields: options.Fields = None,
    events: Annotated[
        int, typer.Option(min=1, max=100_000, metavar="N", help="Look at about N events.")
    ] = 1000,
    show: Annotated[
        int, typer.Option(min=0, max=1000, metavar="N", help="Show the first N events.")
    ] = 5,
) -> None:
    """Show what would become of events, before anything is ranked.

    Reads the first events of a source, or the newest ones of a stream's Kafka topics. Nothing is
    written, and no consumer group is joined. Ends with exit code 1 if there is no document.
    """
    if what.endswith(".toml"):
        if fields or format_ != DEFAULTS.format:
            fail(f"--format and --fields are for a file of events; {printable(what)} has its own.")
        sample, profile = kafka_sample(Path(what), stream, events, show)
    else:
        if stream is not None:
            fail("--stream needs the configuration of the workers, CONFIG.toml.")
        sample, profile = source_sample(what, format_, fields, events, show), DEFAULTS.profile
    for line in describe(sample, profile, kafka=what.endswith(".toml")):
        typer.echo(line)
    if what.endswith(".toml"):
        typer.echo(describe_memory(stream_named(configured(Path(what)), stream)))
        for line in kafka_storage(Path(what), stream):
            typer.echo(printable(line))
    if not sample.documents:
        raise typer.Exit(NO_DOCUMENT)


def describe_memory(stream: StreamSettings) -> str:
    """What a learner with all lanes of a stream takes at most, by its settings."""
    specs = [lane.parsed for lane in stream.lanes]
    ceiling = memory_ceiling(Engine(specs, stream.topics, stream.engine_settings()))
    return f"memory: at most {ceiling / 2**30:,.1f} GiB for a learner with all lanes"


def kafka_storage(path: Path, name: str | None) -> list[str]:
    """What the stream keeps on the broker, and what is wrong with that."""
    from consumers.kafka.errors import KafkaError, describe_error  # noqa: PLC0415 - slow to import
    from consumers.trimming.storage_report import describe_storage  # noqa: PLC0415

    config = configured(path)
    try:
        return describe_storage(config, stream_named(config, name))
    except (KafkaError, OSError) as error:
        fail(describe_error(error))


def known_keys(mapping: FieldMapping | None) -> frozenset[str]:
    """The keys of an event that fields are read from."""
    return NATIVE_KEYS if mapping is None else mapping.known_keys


def envelope_of(mapping: FieldMapping | None) -> list[str]:
    """The keys under which `unwrap` finds the object that fields are read from; mostly none."""
    unwrap = None if mapping is None else mapping.unwrap
    return [] if unwrap is None else [str(step) for step in unwrap.steps]


def source_sample(
    source: str, format_: str, fields: list[str] | None, events: int, show: int
) -> Sample:
    """A sample of a source."""
    try:
        check_format(format_, "--format")
        mapping = read_fields(fields)
        check_fields(format_, mapping)
        sample = Sample(known_keys(mapping), show, envelope=envelope_of(mapping))
        opened = open_source(source, MAX_EVENT_BYTES, format_)
        add_source(sample, opened, new_decoder(format_, mapping), events, MAX_EVENT_BYTES)
    except (UsageError, SourceError) as error:
        fail(printable(str(error)))
    return sample


def kafka_sample(path: Path, name: str | None, events: int, show: int) -> tuple[Sample, str]:
    """A sample of a stream on Kafka, and how its text is split into terms."""
    from consumers.kafka.errors import KafkaError, describe_error  # noqa: PLC0415 - slow to import
    from consumers.kafka.input_end import input_pattern  # noqa: PLC0415
    from consumers.kafka.topic_sample import (  # noqa: PLC0415
        MissingTopicError,
        matching_topics,
        newest_records,
    )
    from consumers.registry.http_client import RegistryAwayError  # noqa: PLC0415
    from consumers.registry.resolver import new_resolver  # noqa: PLC0415
    from consumers.tokenizer.decoding import EventDecoder, record_of  # noqa: PLC0415

    config = configured(path)
    stream = stream_named(config, name)
    mapping = stream.mapping
    sample = Sample(known_keys(mapping), show, stream.needs_registry, envelope_of(mapping))
    topics = list(stream.input_topics)
    try:
        schemas = new_resolver(config, stream)
        decode = EventDecoder(stream, schemas)
        if stream.documents_pattern:
            topics = matching_topics(config.kafka, input_pattern(config, stream))
        for message in newest_records(config.kafka, topics, events):
            if schemas is not None:
                schemas.begin()
                schemas.resolve([decode.schema_id(message)], Event())
            found = decode.object_of(message)
            sample.add(record_of(message), partial(decode, message), found)
            if sample.is_full:
                break
    except MissingTopicError as error:
        fail(f"{error}. There is nothing to check yet. Workers create missing topics.")
    except RegistryAwayError as error:
        fail(f"the Schema Registry at {config.registry.url} does not answer: {error}.")
    except (KafkaError, OSError) as error:
        fail(describe_error(error))
    return sample, stream.profile
