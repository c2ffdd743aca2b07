"""The settings of a stream and its lanes: topics, formats, limits, and what is refused."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    Field,
    field_validator,
    model_validator,
)

from consumers.kafka_names import default_topics
from consumers.log_settings import LogSettings, RetentionSettings
from consumers.output_settings import OutputSettings
from consumers.section import Section, expanded
from learners.options import MOST, OptionError
from learners.specs import LaneSpec, parse_spec, resolved
from pipeline.engine.engine import EngineSettings, ranks_of
from pipeline.errors import UsageError
from pipeline.events.event import MAX_EVENT_BYTES, MalformedEvent, parse_time
from pipeline.events.fields import ALL_KEYS, CONTENT, FieldMapping, parse_fields
from pipeline.events.formats import NATIVE, REGISTRY_FORMATS, check_format, mapping_for
from pipeline.text.feature_settings import FeatureSettings
from pipeline.text.profile import DEFAULT_PROFILE, canonical_profile, parse_profile

EARLIEST, LATEST = "earliest", "latest"  # where a stream can begin
MAX_SHARDS = 64

TopicName = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,249}$")]


def check_time(value: str, or_else: str = "") -> None:
    """Refuse what is not a time with a zone; `or_else` names other values that are allowed."""
    try:
        parse_time(value)
    except MalformedEvent:
        raise ValueError(
            f"found {value!r}; expected {or_else}a time with zone as in RFC 3339, such as "
            "2026-03-01T09:30:00Z"
        ) from None


def since_epoch_ms(value: str) -> int:
    """A time in milliseconds since 1970; times before that are 0."""
    return max(round(datetime.fromisoformat(value).timestamp() * 1000), 0)


class LaneSettings(Section):
    """One lane of a stream."""

    spec: str
    publish: bool = True
    shards: Annotated[int, Field(ge=1, le=MAX_SHARDS)] = 1
    shared_memory: bool = True

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
                self.parsed.check_divisible()
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
    stop: str = ""
    initial: Path | None = None
    blocks: TopicName = ""
    rankings: TopicName = ""
    dead_letters: TopicName = ""
    scores: TopicName = ""
    partitions: Annotated[int, Field(ge=1, le=10_000)] = 4
    format: str = "wirerank"
    fields: dict[str, Any] | None = None
    label_format: Literal["wirerank", "avro", "json-schema"] = "wirerank"
    label_fields: dict[str, Any] = Field(default_factory=dict)
    profile: str = DEFAULT_PROFILE
    topics: tuple[str, ...] = ()
    top: Annotated[int, Field(ge=0, le=MOST)] = 10
    block: Annotated[int, Field(ge=1, le=100_000)] = 1000
    max_event_bytes: Annotated[int, Field(ge=100, le=1 << 20)] = MAX_EVENT_BYTES
    max_terms: Annotated[int, Field(ge=16, le=MOST)] = FeatureSettings().max_terms
    min_df: Annotated[int, Field(ge=1, le=MOST)] | None = None  # None: as the profile says
    max_topics: Annotated[int, Field(ge=1, le=MOST)] = EngineSettings().max_topics
    max_pending: Annotated[int, Field(ge=0, le=MOST)] = EngineSettings().max_pending
    max_pending_bytes: Annotated[int, Field(ge=0, le=1 << 60)] = EngineSettings().max_pending_bytes
    log: LogSettings = LogSettings()
    retention: RetentionSettings = RetentionSettings()
    output: OutputSettings = OutputSettings()
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
        format_ = given.get("format")
        defaults["label_format"] = format_ if format_ in REGISTRY_FORMATS else NATIVE
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
        if value not in (EARLIEST, LATEST):
            check_time(value, "earliest, latest, or ")
        return value

    @field_validator("stop")
    @classmethod
    def _check_stop(cls, value: str) -> str:
        if value:
            check_time(value)
        return value

    @model_validator(mode="after")
    def _check_stop_is_later(self) -> StreamSettings:
        if self.stop and self.start == LATEST:
            raise ValueError(
                'start = "latest" and stop: a stream that begins now has nothing to stop at; write '
                "a time for start, or leave out stop"
            )
        begins_at_a_time = self.stop and self.start != EARLIEST
        if begins_at_a_time and since_epoch_ms(self.start) >= since_epoch_ms(self.stop):
            raise ValueError(f"stop = {self.stop!r} must be later than start = {self.start!r}")
        return self

    @field_validator("initial")
    @classmethod
    def _expand_initial(cls, value: Path | None) -> Path | None:
        return None if value is None else expanded(value)

    @field_validator("format")
    @classmethod
    def _check_format(cls, value: str) -> str:
        try:
            check_format(value, kafka=True)
        except UsageError as error:
            raise ValueError(str(error)) from None
        return value

    @field_validator("profile")
    @classmethod
    def _check_profile(cls, value: str) -> str:
        """Keep the canonical form, which models and snapshots name."""
        try:
            return canonical_profile(value)
        except UsageError as error:
            raise ValueError(str(error)) from None

    @model_validator(mode="after")
    def _check_fields(self) -> StreamSettings:
        if self.fields is not None:
            try:
                mapping_for(self.format, self.fields)
            except UsageError as error:
                raise ValueError(str(error)) from None
        return self

    @model_validator(mode="after")
    def _check_label_fields(self) -> StreamSettings:
        if self.label_fields and not self.labels:
            raise ValueError("label_fields is given, but no topic of labels; write labels = ...")
        for name in (*CONTENT, "language", "ignore"):
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
        return mapping_for(self.format, self.fields)

    @property
    def needs_registry(self) -> bool:
        """Whether values have the ids of schemas, which a registry knows."""
        formats = (self.format, self.label_format if self.labels else NATIVE)
        return any(format_ in REGISTRY_FORMATS for format_ in formats)

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
        features = FeatureSettings.of(parse_profile(self.profile), self.max_terms, self.min_df)
        return EngineSettings(features, self.max_topics, self.max_pending, self.max_pending_bytes)
