"""The settings of the Kafka workers: what each section holds, its defaults, and what is refused."""

from __future__ import annotations

import re
import ssl
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    field_validator,
    model_validator,
)

from consumers.kafka_names import default_topics
from consumers.tls import client_context
from learners.options import MOST, OptionError
from learners.specs import LaneSpec, parse_spec, resolved
from pipeline.engine.engine import EngineSettings, ranks_of
from pipeline.engine.topic_index import MAX_WATCHED
from pipeline.errors import UsageError
from pipeline.events.event import MAX_EVENT_BYTES, MalformedEvent, parse_time
from pipeline.events.fields import ALL_KEYS, CONTENT, FieldMapping, parse_fields
from pipeline.events.formats import check_mapping, format_parser
from pipeline.text.features import FeatureSettings

MAX_SNAPSHOT_SECONDS = 86_400 * 365.0
EARLIEST, LATEST = "earliest", "latest"  # where a stream can begin

TopicName = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,249}$")]


class ConfigError(Exception):
    """A configuration that cannot be used; the message says what to write instead."""


class Section(BaseModel):
    """A section of the configuration: unknown keys are refused, values cannot be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class KafkaSettings(Section):
    """How to reach the broker, and how many replicas new topics get."""

    bootstrap: str = "127.0.0.1:9092"
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    ssl_cafile: Path | None = None
    ssl_certfile: Path | None = None
    ssl_keyfile: Path | None = None
    ssl_password: SecretStr | None = None
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None = None
    sasl_username: str | None = None
    sasl_password: SecretStr | None = None
    replication_factor: Annotated[int, Field(ge=1, le=10)] = 1

    @property
    def uses_tls(self) -> bool:
        """Whether the connection is encrypted."""
        return self.security_protocol in {"SSL", "SASL_SSL"}

    def tls_context(self) -> ssl.SSLContext:
        """The TLS context, read again from its files, which may have been renewed."""
        password = None if self.ssl_password is None else self.ssl_password.get_secret_value()
        return client_context(self.ssl_cafile, self.ssl_certfile, self.ssl_keyfile, password)

    @model_validator(mode="after")
    def _check_tls(self) -> KafkaSettings:
        names = [name for name in type(self).model_fields if "ssl_" in name]
        named = [name for name in names if getattr(self, name) is not None]
        if named and not self.uses_tls:
            raise ValueError(
                f"{' and '.join(named)} given, but security_protocol is {self.security_protocol}; "
                "write SSL or SASL_SSL"
            )
        if self.ssl_certfile is None and (self.ssl_keyfile or self.ssl_password):
            raise ValueError("ssl_keyfile and ssl_password have no meaning without ssl_certfile")
        if self.uses_tls:
            self.tls_context()
        return self

    @model_validator(mode="after")
    def _check_sasl(self) -> KafkaSettings:
        uses_sasl = self.security_protocol.startswith("SASL")
        given = (self.sasl_mechanism, self.sasl_username, self.sasl_password)
        if uses_sasl and not all(given):
            raise ValueError(
                f"security_protocol {self.security_protocol} needs sasl_mechanism, sasl_username "
                "and sasl_password"
            )
        if not uses_sasl and any(value is not None for value in given):
            raise ValueError(
                "sasl settings are given, but security_protocol is "
                f"{self.security_protocol}; write SASL_SSL or SASL_PLAINTEXT"
            )
        return self


class SnapshotSettings(Section):
    """Where snapshots are kept, how often one is taken, and how many are kept.

    A folder may begin with `~`, the home folder. A relative folder is relative to the folder that
    the worker was started in.
    """

    folder: Path = Path("snapshots")
    every_seconds: Annotated[float, Field(ge=0.001, le=MAX_SNAPSHOT_SECONDS)] = 60.0
    keep: Annotated[int, Field(ge=1, le=MOST)] = 3

    @field_validator("folder")
    @classmethod
    def _expand_home(cls, folder: Path) -> Path:
        try:
            if "\0" in str(folder):
                raise RuntimeError("a path has no null byte")
            return folder.expanduser()
        except RuntimeError as error:
            raise ValueError(f"{folder} cannot be used: {error}; write an absolute path") from None


# Each stream has 200 ports: learners use the first hundred, tokenizers the second.
PORTS_PER_STREAM, PORTS_PER_ROLE = 200, 100
MAX_SHARDS = 64
ROLES = ("learner", "tokenizer")


class MetricsSettings(Section):
    """Where workers serve metrics: each at a port of its own, the same after every start.

    `topics` is the number of topics per stream whose loss is shown one by one.
    """

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535)] = 9610
    topics: Annotated[int, Field(ge=0, le=MAX_WATCHED)] = 0

    def port_of(self, stream: int, role: Literal["learner", "tokenizer"], instance: str) -> int:
        """The port of a worker: `port` plus an offset by stream, role and instance.

        The number at the end of the instance counts (`tokenizer-3` is 3, a name without a number is
        0). With `port = 0` every worker takes any free port, and logs which.
        """
        if self.port == 0:
            return 0
        digits = instance[len(instance.rstrip("0123456789")) :].lstrip("0")
        number = int(digits or 0) if len(digits) < 10 else PORTS_PER_ROLE
        if number >= PORTS_PER_ROLE:
            raise ConfigError(
                f"there are metrics ports for instances 0 to {PORTS_PER_ROLE - 1} of a {role}, but "
                f"this one is {instance!r}: number the instances from 0, or set metrics.port = 0."
            )
        return self.port + PORTS_PER_STREAM * stream + PORTS_PER_ROLE * ROLES.index(role) + number


class LaneSettings(Section):
    """One lane of a stream."""

    spec: str
    publish: bool = True
    shards: Annotated[int, Field(ge=1, le=MAX_SHARDS)] = 1

    @field_validator("spec")
    @classmethod
    def _check_spec(cls, value: str) -> str:
        try:
            parse_spec(value)
        except OptionError as error:
            raise ValueError(str(error)) from None
        return value

    @model_validator(mode="after")
    def _check_shards(self) -> LaneSettings:
        if self.shards > 1 and self.parsed.shards > 1:
            raise ValueError(
                f"shards = {self.shards} means processes, and shards={self.parsed.shards} in the "
                "spec means threads of one process: write one of the two"
            )
        if self.shards > 1:
            try:
                self.parsed.update_rule()
            except OptionError as error:
                raise ValueError(str(error)) from None
        return self

    @property
    def parsed(self) -> LaneSpec:
        """The parsed spec."""
        return parse_spec(self.spec)


class StreamSettings(Section):
    """One stream: its Kafka topics, how documents are read, and its lanes."""

    name: TopicName
    documents: tuple[TopicName, ...]
    documents_pattern: str = ""
    labels: tuple[TopicName, ...] = ()
    start: str = EARLIEST
    blocks: TopicName = ""
    rankings: TopicName = ""
    dead_letters: TopicName = ""
    scores: TopicName = ""
    partitions: Annotated[int, Field(ge=1, le=10_000)] = 4
    format: str = "wirerank"
    fields: dict[str, Any] | None = None
    label_fields: dict[str, Any] = {}
    profile: Literal["reuters2000", "reuters21578"] = "reuters2000"
    topics: tuple[str, ...] = ()
    top: Annotated[int, Field(ge=0, le=MOST)] = 10
    block: Annotated[int, Field(ge=1, le=100_000)] = 1000
    max_event_bytes: Annotated[int, Field(ge=100, le=1 << 20)] = MAX_EVENT_BYTES
    max_terms: Annotated[int, Field(ge=16, le=MOST)] = FeatureSettings().max_terms
    min_df: Annotated[int, Field(ge=1, le=MOST)] = 1
    max_topics: Annotated[int, Field(ge=1, le=MOST)] = EngineSettings().max_topics
    max_pending: Annotated[int, Field(ge=0, le=MOST)] = EngineSettings().max_pending
    max_pending_bytes: Annotated[int, Field(ge=0, le=1 << 60)] = EngineSettings().max_pending_bytes
    lanes: Annotated[tuple[LaneSettings, ...], Field(min_length=1)]

    @model_validator(mode="before")
    @classmethod
    def _name_topics_after_stream(cls, given: Any) -> Any:  # noqa: ANN401 - before validation
        """Derive the names of Kafka topics that are not given from the name of the stream."""
        if not isinstance(given, dict) or not isinstance(given.get("name"), str):
            return given
        defaults: dict[str, Any] = dict(default_topics(given["name"]))
        if given.get("documents_pattern"):
            defaults["documents"] = ()
        return {**defaults, **given}

    @field_validator("documents", "labels", mode="before")
    @classmethod
    def _one_or_several(cls, value: object) -> object:
        """Take one name as a list of one."""
        return (value,) if isinstance(value, str) else value

    @field_validator("documents_pattern")
    @classmethod
    def _check_pattern(cls, value: str) -> str:
        try:
            re.compile(value)
        except re.error as error:
            raise ValueError(
                f"{value!r} is no regular expression: {error}; write for instance 'wire[.].*'"
            ) from None
        return value

    @field_validator("start")
    @classmethod
    def _check_start(cls, value: str) -> str:
        if value in (EARLIEST, LATEST):
            return value
        try:
            parse_time(value)
        except MalformedEvent:
            raise ValueError(
                f"found {value!r}; expected earliest, latest, or a time with zone as in RFC 3339, "
                "such as 2026-03-01T09:30:00Z"
            ) from None
        return value

    @field_validator("format")
    @classmethod
    def _check_format(cls, value: str) -> str:
        try:
            format_parser(value)
        except UsageError as error:
            raise ValueError(str(error)) from None
        return value

    @model_validator(mode="after")
    def _check_fields(self) -> StreamSettings:
        if self.fields is not None:
            try:
                parse_fields(self.fields)
                check_mapping(self.format)
            except UsageError as error:
                raise ValueError(str(error)) from None
        return self

    @model_validator(mode="after")
    def _check_label_fields(self) -> StreamSettings:
        if self.label_fields and not self.labels:
            raise ValueError("label_fields is given, but no topic of labels; write labels = ...")
        for name in (*CONTENT, "ignore"):
            if name in self.label_fields:
                raise ValueError(
                    f"label_fields.{name}: of a label only id, topics, rank and time are read, and "
                    "other keys are ignored; leave it out"
                )
        try:
            self.label_mapping  # noqa: B018 - refuses bad paths
        except UsageError as error:
            raise ValueError(f"label_{error}") from None
        return self

    @model_validator(mode="after")
    def _check_names_differ(self) -> StreamSettings:
        if len(set(self.kafka_topics)) < len(self.kafka_topics):
            raise ValueError(
                "documents, labels, blocks, rankings, dead_letters and scores must be different "
                "Kafka topics"
            )
        if not self.documents and not self.documents_pattern:
            raise ValueError("documents is empty: name at least one Kafka topic")
        lanes = [lane.parsed.name for lane in self.lanes]
        for lane in lanes:
            if lanes.count(lane) > 1:
                raise ValueError(f"two lanes are called {lane!r}; rename one with name=...")
        return self

    @model_validator(mode="after")
    def _check_lanes_agree(self) -> StreamSettings:
        try:
            ranks_of(resolved([lane.parsed for lane in self.lanes]))
        except (UsageError, OptionError) as error:
            raise ValueError(str(error)) from None
        return self

    @property
    def mapping(self) -> FieldMapping | None:
        """Where the fields of an event are, if they are not where native events have them."""
        return None if self.fields is None else parse_fields(self.fields)

    @property
    def label_mapping(self) -> FieldMapping:
        """Where the fields of an event in a label topic are; it has no content."""
        no_content: dict[str, Any] = {name: [] for name in CONTENT}
        return parse_fields({**self.label_fields, **no_content, "ignore": ALL_KEYS})

    @property
    def input_topics(self) -> tuple[str, ...]:
        """The Kafka topics that are read by name: documents and labels."""
        return *self.documents, *self.labels

    @property
    def written_topics(self) -> tuple[str, ...]:
        """The Kafka topics that workers write to; `scores` is used only if lanes have shards."""
        return self.blocks, self.rankings, self.dead_letters, self.scores

    @property
    def kafka_topics(self) -> tuple[str, ...]:
        """All Kafka topics of the stream that have a name in the settings."""
        return *self.input_topics, *self.written_topics

    @property
    def whole_lanes(self) -> tuple[LaneSettings, ...]:
        """The lanes without shards, which one learner can run together."""
        return tuple(lane for lane in self.lanes if lane.shards == 1)

    @property
    def divided_lanes(self) -> tuple[LaneSettings, ...]:
        """The lanes with shards; each shard is a process."""
        return tuple(lane for lane in self.lanes if lane.shards > 1)

    def engine_settings(self) -> EngineSettings:
        """The limits and features of the stream, as settings of the engine."""
        features = FeatureSettings(max_terms=self.max_terms, min_df=self.min_df)
        return EngineSettings(features, self.max_topics, self.max_pending, self.max_pending_bytes)


class Config(Section):
    """The whole configuration."""

    kafka: KafkaSettings = KafkaSettings()
    snapshots: SnapshotSettings = SnapshotSettings()
    metrics: MetricsSettings = MetricsSettings()
    streams: Annotated[tuple[StreamSettings, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _check_streams_differ(self) -> Config:
        used: dict[str, str] = {}
        for stream in self.streams:
            if stream.name in used.values():
                raise ValueError(f"two streams have the name {stream.name!r}; rename one of them")
            for topic in stream.kafka_topics:
                if topic in used:
                    raise ValueError(
                        f"streams {used[topic]!r} and {stream.name!r} both use the Kafka topic "
                        f"{topic!r}; each stream needs its own"
                    )
                used[topic] = stream.name
        return self

    @model_validator(mode="after")
    def _check_ports(self) -> Config:
        last = self.metrics.port + PORTS_PER_STREAM * len(self.streams) - 1
        if self.metrics.port and last > 65_535:
            raise ValueError(
                f"metrics.port = {self.metrics.port} is too high: {len(self.streams)} streams take "
                f"{PORTS_PER_STREAM} ports each, up to {last}; write a lower port, or 0"
            )
        for stream in self.streams:
            learners = 1 + len(stream.lanes) + sum(lane.shards for lane in stream.lanes)
            if self.metrics.port and learners > PORTS_PER_ROLE:
                raise ValueError(
                    f"stream {stream.name} can have {learners} learners, counting lanes and "
                    f"shards, but has only {PORTS_PER_ROLE} metrics ports; write metrics.port = 0"
                )
        return self
