"""What a backup of a stream has beside its model: where the stream was, and its configuration.

A backup is a model with one more key, `backup`. The model is the state of all lanes at one offset
of the log, and everything that reads models reads a backup too. The key says which log that was,
and up to which offsets of the documents it had come. So a new log can go on from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipeline.errors import UsageError
from pipeline.follower import checked_coverage
from pipeline.snapshots.content import damage_of, part, text, texts, whole
from pipeline.snapshots.snapshot import Snapshot
from pipeline.storage.container import DamagedError

FORMAT = 1  # of the key `backup`
MAX_LANES, MAX_PARTITIONS = 100_000, 1_000_000
MAX_CONFIGURATION = 1 << 20

Offsets = list[list[Any]]  # each entry: Kafka topic, its identity, partition, offset


@dataclass(frozen=True, slots=True)
class BackupPlace:
    """Where a stream was when it was backed up."""

    stream: str
    made: str  # when, as RFC 3339 writes it
    log_topic: str
    log: str  # the identity of the log
    position: int  # of all lanes in the log
    coverage: Offsets  # the documents that the log holds before that position
    starts: Offsets  # where the tokenizers of a new log begin: the coverage, and untouched inputs
    published: dict[str, int]  # by published lane: how far it had published, if it had
    initial: dict[str, str]  # digests of what the stream had begun with; see `initial_model`
    configuration: str  # TOML, without secrets
    began: int = 0  # the offset of the log at which its lanes began


def with_place(model: Snapshot, place: BackupPlace) -> Snapshot:
    """Return a backup: a model that says where its stream was."""
    backup: dict[str, Any] = {
        "format": FORMAT,
        "stream": place.stream,
        "made": place.made,
        "log_topic": place.log_topic,
        "log": place.log,
        "position": place.position,
        "coverage": place.coverage,
        "starts": place.starts,
        "published": place.published,
        "initial": place.initial,
        "configuration": place.configuration,
    }
    if place.began:
        backup["began"] = place.began
    return Snapshot({**model.content, "backup": backup}, model.arrays, model.name)


def is_backup(content: dict[str, Any]) -> bool:
    """Whether the content of a model is that of a backup."""
    return "backup" in content


def place_of(content: dict[str, Any], name: str) -> BackupPlace:
    """Return where the stream of a backup was.

    Raises UsageError if the file is no backup, `DamagedError` if its content is not valid.
    """
    if not is_backup(content):
        raise UsageError(
            f"{name} is a model or a snapshot, but no backup of a stream. `wirerank backup CONFIG "
            "FILE` writes one."
        )
    with damage_of(name), part("backup"):
        backup = content["backup"]
        format_ = whole(backup["format"])
        if format_ != FORMAT:
            raise DamagedError(
                f"{name} has backup format {format_}, but this program reads format {FORMAT}: use "
                "the release that wrote it, or a newer one"
            )
        return BackupPlace(
            text(backup["stream"]),
            text(backup["made"]),
            text(backup["log_topic"]),
            text(backup["log"]),
            whole(backup["position"]),
            checked_offsets(backup["coverage"]),
            checked_offsets(backup["starts"]),
            {text(lane): whole(offset) for lane, offset in few(backup["published"]).items()},
            {text(key): text(digest) for key, digest in few(backup["initial"]).items()},
            limited(text(backup["configuration"])),
            whole(backup.get("began", 0), whole(backup["position"])),
        )


def checked_offsets(entries: object) -> Offsets:
    """Return offsets of partitions that were read from a file."""
    if not isinstance(entries, list) or len(entries) > MAX_PARTITIONS:
        raise ValueError(f"expected a list of at most {MAX_PARTITIONS:,} partitions")
    return checked_coverage(entries)


def few(entries: object) -> dict[str, Any]:
    """Return an object with an entry per lane that was read from a file."""
    if not isinstance(entries, dict) or len(entries) > MAX_LANES:
        raise ValueError(f"expected an object of at most {MAX_LANES:,} entries")
    return entries


def limited(configuration: str) -> str:
    """Return a configuration that was read from a file."""
    if len(configuration) > MAX_CONFIGURATION:
        raise ValueError(f"expected a configuration of at most {MAX_CONFIGURATION:,} characters")
    return configuration


def snapshot_in_log(backup: Snapshot) -> Snapshot:
    """Return the snapshot of a worker at the backup's place, for a log that is still there."""
    place = place_of(backup.content, backup.name)
    with damage_of(backup.name), part("model"):
        profile = text(backup.content["model"]["events"]["profile"])
        lanes = texts(list(backup.content["settings"]["lanes"]))
    content = {key: v for key, v in backup.content.items() if key not in {"model", "backup"}}
    content.update(
        position=place.position,
        coverage=place.coverage,
        log=place.log,
        published=[n for n in lanes if place.published.get(n, -1) >= place.position],
        profile=profile,
    )
    if place.initial:
        content["initial"] = place.initial
    if place.began:
        content["began"] = place.began
    return Snapshot(content, backup.arrays, backup.name)
