"""The settings of the Kafka workers: what each section holds, its defaults, and what is refused."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from consumers.access_settings import AccessSettings
from consumers.kafka_settings import KafkaSettings
from consumers.registry_settings import EXAMPLE, RegistrySettings
from consumers.section import Section, expanded
from consumers.stream_settings import StreamSettings
from learners.options import MOST
from pipeline.access import is_readable_by_others
from pipeline.engine.topic_index import MAX_WATCHED

__all__ = [
    "AuditSettings",
    "Config",
    "ConfigError",
    "KafkaSettings",
    "MetricsSettings",
    "PageSettings",
    "SnapshotSettings",
]

STORES = ("s3", "gs", "az", "file")  # schemes of the addresses of object stores
MAX_SNAPSHOT_SECONDS = 86_400 * 365.0


class ConfigError(Exception):
    """A configuration that cannot be used; the message says what to write instead."""


class SnapshotSettings(Section):
    """Where snapshots are kept, how often one is taken, and how many are kept.

    A folder may begin with `~`, the home folder. A relative folder is relative to the folder that
    the worker was started in. `copy_to` is an object store that each snapshot is copied to.
    """

    folder: Path = Path("snapshots")
    every_seconds: Annotated[float, Field(ge=0.001, le=MAX_SNAPSHOT_SECONDS)] = 60.0
    keep: Annotated[int, Field(ge=1, le=MOST)] = 3
    copy_to: str = ""

    @field_validator("copy_to")
    @classmethod
    def _check_store(cls, url: str) -> str:
        if not url:
            return url
        parts = urlsplit(url)
        if parts.scheme not in STORES or not (parts.netloc or parts.path.strip("/")):
            schemes = ", ".join(f"{scheme}://" for scheme in STORES)
            raise ValueError(
                f"this is no address of an object store; write for instance s3://bucket/prefix "
                f"(known: {schemes})"
            )
        if "@" in parts.netloc or parts.query or parts.fragment:
            raise ValueError(
                "an address has no user, password or options here; give them in the environment"
            )
        return url.rstrip("/")

    @field_validator("folder")
    @classmethod
    def _expand_home(cls, folder: Path) -> Path:
        return expanded(folder)


# Each stream has 200 ports: learners use the first hundred, tokenizers the second.
PORTS_PER_STREAM, PORTS_PER_ROLE = 200, 100
ROLES = ("learner", "tokenizer")


class PageSettings(AccessSettings):
    """Where learners serve their live pages."""


class MetricsSettings(AccessSettings):
    """Where workers serve metrics: each at a port of its own, the same after every start.

    With `same_port` every worker takes `port` itself. This is for workers with an address each, as
    in containers: probes and scrapers then know the port. `topics` is the number of topics per
    stream whose loss is shown one by one. In `targets_folder` each worker writes where it is, for
    Prometheus.
    """

    port: Annotated[int, Field(ge=0, le=65_535)] = 9610
    same_port: bool = False
    topics: Annotated[int, Field(ge=0, le=MAX_WATCHED)] = 0
    targets_folder: Path | None = None

    @property
    def verify_mode(self) -> ssl.VerifyMode:
        """Probes need no certificate; who asks for metrics does."""
        return ssl.CERT_OPTIONAL

    @field_validator("targets_folder", mode="before")
    @classmethod
    def _empty_is_none(cls, folder: object) -> object:
        """Let the environment unset a folder that the file names."""
        return None if folder == "" else folder

    @field_validator("targets_folder")
    @classmethod
    def _expand_home(cls, folder: Path | None) -> Path | None:
        return None if folder is None else expanded(folder)

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
    page: PageSettings = PageSettings()
    streams: Annotated[tuple[StreamSettings, ...], Field(min_length=1)]

    def loose_secret_files(self) -> list[Path]:
        """The files of secrets that every user of the machine can read."""
        sections = (self.kafka, self.registry, self.metrics, self.page)
        files = [path for section in sections for path in section.secret_files.values()]
        return [path for path in files if is_readable_by_others(path)]

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
