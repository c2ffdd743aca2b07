"""Inspect snapshots: verify a file from end to end and collect facts about it.

Files may come from anywhere. Nothing in them is executed, sizes are bounded, and only the few
arrays that are displayed are read. If a file is not valid, the inspection names the problem.
"""

from __future__ import annotations

import math
import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from learners.svm_map.candidates import FIXED, TRAINED
from learners.svm_map.topic_features import EACH
from pipeline.curves import rank_curve as rank_curves
from pipeline.curves.topic_curve import COLUMNS, FORMER_COLUMNS, as_point, in_columns
from pipeline.errors import UsageError
from pipeline.snapshots.content import text, texts, whole
from pipeline.snapshots.folder import KIND, SUFFIX, VERSION
from pipeline.storage.container import ContainerReader, DamagedError

LOSSES = ("loss1", "loss2", "loss3")
RANK_LOSSES: tuple[str, ...] = ("ranking_loss",)
COUNTS = ("documents", "topics_refused")
GROUP_COUNTS = (
    "rounds",
    "expired_documents",
    "superseded",
    "unmatched_labels",
    "ignored_labels",
)
MAX_TIME = 253_402_300_799.0  # the last second of the year 9999, where `datetime` ends
FEATURES = ("score", "place", "lead")  # per lane that a stacker combines
MAX_NUMBERS = 3000
WEIGHTS = ("slope", "pivot", "norm")  # older versions have only the first
CEILINGS = ("max_terms", "min_df", "max_topics", "max_pending")
NEWER_CEILINGS = ("max_pending_bytes",)


@dataclass(frozen=True, slots=True)
class Inspection:
    """A file with facts about its content, or with the problem that makes it unusable."""

    path: Path
    size_bytes: int | None = None
    written: float | None = None  # when the file was written, in seconds since 1970
    facts: dict[str, Any] = field(default_factory=dict)  # empty if there is a problem
    problem: str | None = None

    @property
    def good(self) -> bool:
        """Whether a worker could be restored from it."""
        return self.problem is None


def inspect(path: Path) -> list[Inspection]:
    """Inspect a file, or all snapshots below a folder.

    Within a folder the newest comes first, which is the order in which recovery tries them.
    """
    try:
        if not path.is_dir():
            return [inspect_file(path)]
        inspections = [one for file in files_below(path) for one in inspect_if_there(file)]
    except OSError as error:
        raise UsageError(f"{error.filename or path} cannot be read: {error.strerror}.") from None
    if not inspections:
        raise UsageError(
            f"{path} holds no snapshots: expected files that end in {SUFFIX}. Workers write them "
            "to the `snapshots.folder` of their configuration."
        )
    return inspections


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the snapshots of a folder and its subfolders, folder by folder, newest first."""

    def refuse(error: OSError) -> None:
        raise error

    for where, inner, names in os.walk(folder, onerror=refuse):
        inner.sort()
        snapshots = [name for name in names if name.endswith(SUFFIX)]
        yield from (Path(where, name) for name in sorted(snapshots, reverse=True))


def inspect_if_there(path: Path) -> Iterable[Inspection]:
    """Inspect a file of a folder; if it cannot be read, that is a problem and not an error."""
    try:
        return [inspect_file(path)]
    except FileNotFoundError:
        return []  # its worker has just removed it
    except OSError as error:
        return [Inspection(path, problem=f"{path} cannot be read: {error.strerror}")]
    except UsageError as error:
        return [Inspection(path, problem=str(error))]


def inspect_file(path: Path) -> Inspection:
    """Inspect one file; raises OSError if it cannot be read, UsageError if it is no snapshot."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise UsageError(f"{path} is neither a file nor a folder; expected a snapshot.")
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        size_and_time = status.st_size, min(max(0.0, status.st_mtime), MAX_TIME)
        if path.suffix != SUFFIX and file.read(len(KIND)) != KIND:
            raise UsageError(f"{path} is neither a model nor a snapshot.")
        file.seek(0)
        try:
            return Inspection(
                path, *size_and_time, facts_of(ContainerReader(file, KIND, VERSION, str(path)))
            )
        except DamagedError as error:
            return Inspection(path, *size_and_time, {}, str(error))
        except (LookupError, TypeError, ValueError, OverflowError, AttributeError) as error:
            problem = f"{path} is not a valid snapshot: {error!r}"
            return Inspection(path, *size_and_time, {}, problem)


def facts_of(container: ContainerReader) -> dict[str, Any]:
    """Return the facts about a snapshot. Raises errors of many types if it is not valid."""
    content, settings = container.content, container.content["settings"]
    model = model_facts(content["model"]) if "model" in content else None
    backup = backup_facts(content["backup"]) if "backup" in content else None
    covered = backup["coverage"] if backup else [] if model else content["coverage"]
    published, sizes = set(texts(content.get("published", []))), sizes_by_part(container)
    helpers = set(texts(content.get("helpers", [])))
    return {
        "position": whole(content["position"]),
        "log": None if model else text(content["log"]),
        "model": model,
        "backup": backup,
        **{key: whole(content[key]) for key in COUNTS},
        **group_facts(content),
        "vocabulary_terms": container.entries["vocabulary/df"].shape[0],
        "topics": len(texts(content["topics"])),
        "ranks": group_facts(content["ranks"]) if has_ranks(settings["lanes"]) else None,
        "coverage": [coverage_entry(*entry) for entry in covered],
        "settings": {
            **{key: whole(settings[key]) for key in CEILINGS},
            # Older versions have no such limit.
            **{key: whole(settings[key]) for key in NEWER_CEILINGS if key in settings},
            **{key: option(settings[key]) for key in WEIGHTS if key in settings},
            "declared_topics": len(texts(settings["declared topics"])),
        },
        "lanes": {
            text(name): {
                "learner": text(options["learner"]),
                "options": {key: option(options[key]) for key in options if key != "learner"},
                "published": None if model else name in published,
                "helper": name in helpers,
                **curve_facts(container, f"lane{number}/curve/tally"),
                "model_bytes": sizes[f"lane{number}/learner"],
                **stacker_facts(container, f"lane{number}/learner", name),
            }
            for number, (name, options) in enumerate(settings["lanes"].items())
        },
    }


def model_facts(model: dict[str, Any]) -> dict[str, Any]:
    """Return what the model of a replay has beside its snapshot."""
    return {
        "release": text(model["release"]),
        "events_read": whole(model["read"]["events"]),
        "format": text(model["events"]["format"]),
        "profile": text(model["events"]["profile"]),
        "dead_letters": sum(whole(count) for count in model["dead_letters"].values()),
    }


def backup_facts(backup: dict[str, Any]) -> dict[str, Any]:
    """Return what the backup of a stream has beside its model."""
    return {
        **{key: text(backup[key]) for key in ("stream", "made", "log_topic", "log")},
        "position": whole(backup["position"]),
        "published": {text(lane): whole(at) for lane, at in backup["published"].items()},
        "coverage": list(backup["coverage"]),
    }


def has_ranks(lanes: dict[str, dict[str, Any]]) -> bool:
    """Return whether some lane is ordinal."""
    return any("ranks" in options for options in lanes.values())


def group_facts(content: dict[str, Any]) -> dict[str, Any]:
    """Return how the labels of one lane group, topics or ranks, were matched and learned."""
    return {
        **{key: whole(content[key]) for key in GROUP_COUNTS},
        "pending_documents": len(texts(content["pending"])),
        "early_labels": len([text(key) for key, _ in content["early"]]),
    }


def sizes_by_part(container: ContainerReader) -> Counter[str]:
    """Return the bytes of the arrays of each part, which is their name up to the last slash."""
    sizes: Counter[str] = Counter()
    for key, entry in container.entries.items():
        sizes[key.rpartition("/")[0]] += entry.nbytes
    return sizes


def curve_facts(container: ContainerReader, key: str) -> dict[str, Any]:
    """Return the rounds that a lane has learned, and its losses averaged over them."""
    entry = container.entries[key]
    if entry.shape == (rank_curves.COLUMNS,) and entry.dtype.name == "float64":
        point, losses_of_kind = rank_curves.RankCurve.as_point(container.array(key)), RANK_LOSSES
    elif entry.shape not in ((COLUMNS,), (FORMER_COLUMNS,)) or entry.dtype.name != "float64":
        raise ValueError(f"{key} is not the tally of a learning curve")
    else:
        point, losses_of_kind = as_point(in_columns(container.array(key))), LOSSES
    losses = {loss: point.values[loss] for loss in losses_of_kind}
    if not all(value is None or math.isfinite(value) for value in losses.values()):
        raise ValueError(f"{key} has sums that are not finite numbers")
    return {"rounds": whole(point.round), **losses}


def stacker_facts(container: ContainerReader, learner: str, name: str) -> dict[str, Any]:
    """Return how a stacker weights the lanes that it combines; nothing for other lanes.

    The weights are the approved ones. A snapshot of an older version has none of them.
    """
    combined = container.content.get("combines", {})
    if name not in combined:
        return {}
    lanes = texts(combined[name])
    kept = whole(container.entries[f"{learner}/starts"].shape[0] - 1)
    table: list[list[float | None]] = [[None] * EACH] * len(lanes)
    if f"{learner}/chosen" not in container.entries:
        return stacker_table(lanes, table, None, None, kept)
    shape = container.entries[f"{learner}/weights"].shape
    if len(shape) != 2 or shape[0] != 2 or shape[1] not in (0, EACH * len(lanes)):
        raise ValueError(f"{learner} does not have weights for {len(lanes)} lanes")
    weights = numbers(container, f"{learner}/weights", "float64", dimensions=2)[0]
    chosen, _ = numbers(container, f"{learner}/chosen", "int64")
    trained, _ = numbers(container, f"{learner}/trained", "bool")
    if not 0 <= chosen < len(lanes) + FIXED + len(TRAINED):
        raise ValueError(f"{learner} follows a candidate that does not exist")
    if weights and trained:
        table = [weights[start : start + EACH] for start in range(0, len(weights), EACH)]
    follows = lanes[chosen] if weights and chosen < len(lanes) else None
    ranks_by = None
    if weights:
        blend = "weights" if chosen >= len(lanes) + FIXED else "blend"
        ranks_by = "lane" if follows is not None else blend
    return stacker_table(lanes, table, follows, ranks_by, kept)


def stacker_table(
    lanes: list[str],
    table: list[list[float | None]],
    follows: str | None,
    ranks_by: str | None,
    kept: int,
) -> dict[str, Any]:
    """Return the facts about a stacker by name."""
    return {
        "combines": {
            lane: dict(zip(FEATURES, weights, strict=True))
            for lane, weights in zip(lanes, table, strict=True)
        },
        "follows": follows,
        "ranks_by": ranks_by,
        "documents_kept": kept,
    }


def numbers(container: ContainerReader, key: str, kind: str, dimensions: int = 1) -> list[Any]:
    """Read an array that is not large."""
    entry = container.entries[key]
    size = math.prod(entry.shape)
    if len(entry.shape) != dimensions or size > MAX_NUMBERS or entry.dtype.name != kind:
        raise ValueError(f"{key} is not an array of at most {MAX_NUMBERS} numbers")
    array = container.array(key)
    if not all(map(math.isfinite, array.ravel().tolist())):
        raise ValueError(f"{key} has numbers that are not finite")
    values: list[Any] = array.tolist()
    return values


def coverage_entry(topic: object, identity: object, partition: object, offset: object) -> Any:  # noqa: ANN401
    """Return the next offset that the log needed from one partition of a source."""
    names = {"topic": text(topic), "identity": text(identity)}
    return {**names, "partition": whole(partition), "offset": whole(offset)}


def option(value: object) -> str | int | float | bool:
    """Return a value that must be of a type that settings have."""
    if not isinstance(value, str | int | float | bool):
        raise TypeError("expected a string, a number or a boolean")
    return value
