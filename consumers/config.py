"""Configuration of the Kafka workers: a TOML file, every setting of it also by environment.

`WIRERANK__KAFKA__BOOTSTRAP=broker:9092` sets `bootstrap` of `[kafka]`, and
`WIRERANK__STREAMS__0__PROFILE=reuters21578` the profile of the first stream. What is unknown or
contradicts itself is refused with what to write instead.
"""

from __future__ import annotations

import difflib
import re
import ssl
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)

from consumers.kafka_names import default_topics
from consumers.tls import client_context
from learners.options import OptionError
from learners.specs import LaneSpec, parse_spec, resolved
from pipeline.engine.engine import EngineSettings, ranks_of
from pipeline.engine.topic_index import MAX_WATCHED
from pipeline.errors import UsageError
from pipeline.events.event import MAX_EVENT_BYTES
from pipeline.text.features import FeatureSettings

ENVIRONMENT_PREFIX = "WIRERANK__"
# From the environment as they stand there: a password may look like a number or a comment.
TO_THE_LETTER = {"ssl_password", "sasl_username", "sasl_password"}

TopicName = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,249}$")]


class ConfigError(Exception):
    """A configuration that cannot be used; the message says what to write instead."""


class Section(BaseModel):
    """A part of the configuration: unknown keys are refused, values do not change later."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class KafkaSettings(Section):
    """How to reach the broker."""

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
        """What TLS needs, from files that may have been renewed since the last time."""
        password = None if self.ssl_password is None else self.ssl_password.get_secret_value()
        return client_context(self.ssl_cafile, self.ssl_certfile, self.ssl_keyfile, password)

    @model_validator(mode="after")
    def _tls_is_whole(self) -> KafkaSettings:
        given = {name: getattr(self, name) for name in type(self).model_fields if "ssl_" in name}
        named = [name for name, value in given.items() if value is not None]
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
    def _sasl_is_whole(self) -> KafkaSettings:
        wanted = self.security_protocol.startswith("SASL")
        given = (self.sasl_mechanism, self.sasl_username, self.sasl_password)
        if wanted and not all(given):
            raise ValueError(
                f"security_protocol {self.security_protocol} needs sasl_mechanism, sasl_username "
                "and sasl_password"
            )
        if not wanted and any(value is not None for value in given):
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
    every_seconds: Annotated[float, Field(gt=0)] = 60.0
    keep: Annotated[int, Field(ge=1)] = 3

    @field_validator("folder")
    @classmethod
    def _expand_home(cls, folder: Path) -> Path:
        try:
            return folder.expanduser()
        except RuntimeError as error:
            raise ValueError(f"{folder} cannot be used: {error}; write an absolute path") from None


# Ports of one stream, of which learners take the first hundred and tokenizers the second.
PORTS_A_STREAM, PORTS_A_ROLE = 200, 100
MOST_SHARDS = 64
ROLES = ("learner", "tokenizer")


class MetricsSettings(Section):
    """Where workers serve metrics: each at a port of its own, the same after every start.

    Of each stream so many `topics` have a loss of their own.
    """

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535)] = 9610
    topics: Annotated[int, Field(ge=0, le=MAX_WATCHED)] = 0

    def port_of(self, stream: int, role: Literal["learner", "tokenizer"], instance: str) -> int:
        """The port of a worker: `port`, and on from there by stream, role and instance.

        The instance counts by the number at its end (`tokenizer-3` is 3; without one it is 0). With
        `port = 0` every worker takes any free port, and says which.
        """
        if self.port == 0:
            return 0
        digits = re.search(r"[0-9]*$", instance)
        number = int(digits[0]) if digits and digits[0] else 0
        if number >= PORTS_A_ROLE:
            raise ConfigError(
                f"metrics have ports for instances 0 to {PORTS_A_ROLE - 1} of a {role}, but this "
                f"is {instance!r}: number the instances from 0, or set metrics.port = 0."
            )
        return self.port + PORTS_A_STREAM * stream + PORTS_A_ROLE * ROLES.index(role) + number


class LaneSettings(Section):
    """One lane of a stream."""

    spec: str
    publish: bool = True
    shards: Annotated[int, Field(ge=1, le=MOST_SHARDS)] = 1

    @field_validator("spec")
    @classmethod
    def _spec_is_known(cls, value: str) -> str:
        try:
            parse_spec(value)
        except OptionError as error:
            raise ValueError(str(error)) from None
        return value

    @model_validator(mode="after")
    def _can_be_divided(self) -> LaneSettings:
        if self.shards > 1 and self.parsed.shards > 1:
            raise ValueError(
                f"shards = {self.shards} are processes, and shards={self.parsed.shards} in the "
                "spec are threads of one process: write one of the two"
            )
        if self.shards > 1:
            try:
                self.parsed.update_rule()
            except OptionError as error:
                raise ValueError(str(error)) from None
        return self

    @property
    def parsed(self) -> LaneSpec:
        """The lane as learners know it."""
        return parse_spec(self.spec)


class StreamSettings(Section):
    """One stream: its topics, how it is read, and its lanes."""

    name: TopicName
    documents: TopicName
    blocks: TopicName = ""
    rankings: TopicName = ""
    dead_letters: TopicName = ""
    scores: TopicName = ""
    partitions: Annotated[int, Field(ge=1, le=10_000)] = 4
    format: Literal["wirerank", "ninjs"] = "wirerank"
    profile: Literal["reuters2000", "reuters21578"] = "reuters2000"
    topics: tuple[str, ...] = ()
    top: Annotated[int, Field(ge=0)] = 10
    block: Annotated[int, Field(ge=1, le=100_000)] = 1000
    max_event_bytes: Annotated[int, Field(ge=100, le=1 << 20)] = MAX_EVENT_BYTES
    max_terms: Annotated[int, Field(ge=16)] = FeatureSettings().max_terms
    min_df: Annotated[int, Field(ge=1)] = 1
    max_topics: Annotated[int, Field(ge=1)] = EngineSettings().max_topics
    max_pending: Annotated[int, Field(ge=0)] = EngineSettings().max_pending
    lanes: Annotated[tuple[LaneSettings, ...], Field(min_length=1)]

    @model_validator(mode="before")
    @classmethod
    def _topics_follow_the_name(cls, given: Any) -> Any:  # noqa: ANN401 - before validation
        """Kafka topics that are not named are called after the stream."""
        if not isinstance(given, dict) or not isinstance(given.get("name"), str):
            return given
        return {**default_topics(given["name"]), **given}

    @model_validator(mode="after")
    def _names_differ(self) -> StreamSettings:
        if len(set(self.kafka_topics)) < len(self.kafka_topics):
            raise ValueError(
                "documents, blocks, rankings, dead_letters and scores must be five topics"
            )
        lanes = [lane.parsed.name for lane in self.lanes]
        for lane in lanes:
            if lanes.count(lane) > 1:
                raise ValueError(f"two lanes are called {lane!r}; tell them apart with name=...")
        return self

    @model_validator(mode="after")
    def _lanes_agree(self) -> StreamSettings:
        try:
            ranks_of(resolved([lane.parsed for lane in self.lanes]))
        except (UsageError, OptionError) as error:
            raise ValueError(str(error)) from None
        return self

    @property
    def kafka_topics(self) -> tuple[str, ...]:
        """Its topics of the broker; that of the scores is needed only if lanes have shards."""
        return self.documents, self.blocks, self.rankings, self.dead_letters, self.scores

    @property
    def whole_lanes(self) -> tuple[LaneSettings, ...]:
        """The lanes that a single learner can work on."""
        return tuple(lane for lane in self.lanes if lane.shards == 1)

    @property
    def divided_lanes(self) -> tuple[LaneSettings, ...]:
        """The lanes whose every shard is a process."""
        return tuple(lane for lane in self.lanes if lane.shards > 1)

    def engine_settings(self) -> EngineSettings:
        """The ceilings and features of the stream, as the engine takes them."""
        features = FeatureSettings(max_terms=self.max_terms, min_df=self.min_df)
        return EngineSettings(features, self.max_topics, self.max_pending)


class Config(Section):
    """The whole configuration."""

    kafka: KafkaSettings = KafkaSettings()
    snapshots: SnapshotSettings = SnapshotSettings()
    metrics: MetricsSettings = MetricsSettings()
    streams: Annotated[tuple[StreamSettings, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _streams_are_apart(self) -> Config:
        taken: dict[str, str] = {}
        for stream in self.streams:
            for topic in (f"stream {stream.name}", *stream.kafka_topics):
                if topic in taken:
                    raise ValueError(f"{topic!r} is used by two streams; each needs its own")
                taken[topic] = stream.name
        return self

    @model_validator(mode="after")
    def _ports_suffice(self) -> Config:
        last = self.metrics.port + PORTS_A_STREAM * len(self.streams) - 1
        if self.metrics.port and last > 65_535:
            raise ValueError(
                f"metrics.port = {self.metrics.port} leaves no room: {len(self.streams)} streams "
                f"take {PORTS_A_STREAM} ports each, up to {last}; start lower, or write 0"
            )
        for stream in self.streams:
            learners = 1 + len(stream.lanes) + sum(lane.shards for lane in stream.lanes)
            if self.metrics.port and learners > PORTS_A_ROLE:
                raise ValueError(
                    f"stream {stream.name} may have {learners} learners, lanes and shards, but "
                    f"metrics.port leaves {PORTS_A_ROLE} ports for them; write metrics.port = 0"
                )
        return self


def read_config(path: Path, environment: Mapping[str, str]) -> Config:
    """Read a configuration file, the environment laid over it."""
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(
            f"{path} does not exist. `wirerank config --example` prints a file to start from."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}.") from None
    for name, text in environment.items():
        if name.startswith(ENVIRONMENT_PREFIX):
            place = name.removeprefix(ENVIRONMENT_PREFIX).lower().split("__")
            lay_over(given, place, value_of(place[-1], text), name)
    try:
        return Config.model_validate(given)
    except ValidationError as error:
        found = error.errors(include_url=False)
        problems = [explained(problem) for problem in found if not follows(problem, found)]
        raise ConfigError(f"{path} cannot be used:\n  " + "\n  ".join(problems)) from None


class OnlyKafka(Section):
    """What is needed where there is no configuration file."""

    kafka: KafkaSettings


def kafka_settings(bootstrap: str, environment: Mapping[str, str]) -> KafkaSettings:
    """How to reach a broker that is named on the command line; the rest from the environment."""
    prefix = f"{ENVIRONMENT_PREFIX}KAFKA__"
    given = {
        (key := name.removeprefix(prefix).lower()): value_of(key, text)
        for name, text in environment.items()
        if name.startswith(prefix)
    }
    try:
        return OnlyKafka.model_validate({"kafka": {**given, "bootstrap": bootstrap}}).kafka
    except ValidationError as error:
        problems = [explained(problem) for problem in error.errors(include_url=False)]
        where = f"The broker's settings ({prefix}... in the environment) cannot be used"
        raise ConfigError(f"{where}:\n  " + "\n  ".join(problems)) from None


def value_of(setting: str, text: str) -> Any:  # noqa: ANN401 - whatever TOML can say
    """What the environment says of a setting; names and passwords are taken to the letter."""
    return text if setting in TO_THE_LETTER else toml_value(text)


def toml_value(text: str) -> Any:  # noqa: ANN401 - whatever TOML can say
    """A value as TOML would read it; what TOML cannot read is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def lay_over(given: Any, place: list[str], value: Any, name: str) -> None:  # noqa: ANN401
    """Set one value inside the tables and lists of a configuration."""
    *path, last = place
    for part in path:
        if isinstance(given, list):
            if not part.isdigit() or int(part) >= len(given):
                raise ConfigError(
                    f"{name} names entry {part}, but there are {len(given)} in the file."
                )
            given = given[int(part)]
        elif isinstance(given, dict):
            given = given.setdefault(part, {})
        else:
            raise ConfigError(f"{name} goes into {part!r}, which is a single value in the file.")
    if not isinstance(given, dict):
        raise ConfigError(f"{name} must end in the name of a setting.")
    given[last] = value


def follows(problem: Any, found: Sequence[Any]) -> bool:  # noqa: ANN401 - dicts of pydantic's
    """Whether a problem is only that entries were wrong: pydantic then also misses them."""
    where = problem["loc"]
    inner = any(len(p["loc"]) > len(where) and p["loc"][: len(where)] == where for p in found)
    return problem["type"] == "too_short" and inner


def explained(problem: Any) -> str:  # noqa: ANN401 - a dict of pydantic's
    """One problem in words: where, what is wrong, and what was perhaps meant. Never a value."""
    where = ".".join(str(part) for part in problem["loc"]) or "the file"
    if problem["type"] == "extra_forbidden":
        section = SECTIONS.get(tuple(p for p in problem["loc"][:-1] if isinstance(p, str)), Config)
        known = sorted(section.model_fields)
        near = difflib.get_close_matches(str(problem["loc"][-1]), known, n=1)
        meant = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}."
        return f"{where}: there is no such setting; {meant}"
    if problem["type"] == "missing":
        return f"{where}: must be given."
    return f"{where}: {problem['msg'].removeprefix('Value error, ').removesuffix('.')}."


SECTIONS: dict[tuple[str, ...], type[Section]] = {
    (): Config,
    ("kafka",): KafkaSettings,
    ("snapshots",): SnapshotSettings,
    ("metrics",): MetricsSettings,
    ("streams",): StreamSettings,
    ("streams", "lanes"): LaneSettings,
}
