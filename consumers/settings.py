"""The settings of the Kafka workers: what each section holds, its defaults, and what is refused."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    Field,
    SecretStr,
    field_validator,
    model_validator,
)

from consumers.registry_settings import EXAMPLE, RegistrySettings
from consumers.section import Section, expanded
from consumers.stream_settings import StreamSettings
from consumers.tls import client_context
from learners.options import MOST
from pipeline.engine.topic_index import MAX_WATCHED

MAX_SNAPSHOT_SECONDS = 86_400 * 365.0


class ConfigError(Exception):
    """A configuration that cannot be used; the message says what to write instead."""


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
        return expanded(folder)


# Each stream has 200 ports: learners use the first hundred, tokenizers the second.
PORTS_PER_STREAM, PORTS_PER_ROLE = 200, 100
ROLES = ("learner", "tokenizer")


class MetricsSettings(Section):
    """Where workers serve metrics: each at a port of its own, the same after every start.

    With `same_port` every worker takes `port` itself. This is for workers with an address each, as
    in containers: probes and scrapers then know the port. `topics` is the number of topics per
    stream whose loss is shown one by one.
    """

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535)] = 9610
    same_port: bool = False
    topics: Annotated[int, Field(ge=0, le=MAX_WATCHED)] = 0

    def port_of(self, stream: int, role: Literal["learner", "tokenizer"], instance: str) -> int:
        """The port of a worker: `port` plus an offset by stream, role and instance.

        The number at the end of the instance counts (`tokenizer-3` is 3, a name without a number is
        0). With `port = 0` every worker takes any free port, and logs which.
        """
        if self.port == 0 or self.same_port:
            return self.port
        digits = instance[len(instance.rstrip("0123456789")) :].lstrip("0")
        number = int(digits or 0) if len(digits) < 10 else PORTS_PER_ROLE
        if number >= PORTS_PER_ROLE:
            raise ConfigError(
                f"there are metrics ports for instances 0 to {PORTS_PER_ROLE - 1} of a {role}, but "
                f"this one is {instance!r}: number the instances from 0, or set metrics.port = 0."
            )
        return self.port + PORTS_PER_STREAM * stream + PORTS_PER_ROLE * ROLES.index(role) + number


class AuditSettings(Section):
    """Where administrative commands write who changed what, besides standard error."""

    file: Path | None = None

    @field_validator("file")
    @classmethod
    def _expand_home(cls, file: Path | None) -> Path | None:
        return None if file is None else expanded(file)


class Config(Section):
    """The whole configuration."""

    kafka: KafkaSettings = KafkaSettings()
    registry: RegistrySettings = RegistrySettings()
    snapshots: SnapshotSettings = SnapshotSettings()
    metrics: MetricsSettings = MetricsSettings()
    audit: AuditSettings = AuditSettings()
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
    def _check_registry(self) -> Config:
        for stream in self.streams:
            if stream.needs_registry and not self.registry.url:
                raise ValueError(
                    f"stream {stream.name} reads {stream.format} with schemas of a Schema "
                    f'Registry; write its address: [registry] url = "{EXAMPLE}"'
                )
        return self

    @model_validator(mode="after")
    def _check_ports(self) -> Config:
        if self.metrics.same_port:
            return self
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
