"""What a snapshot says of itself, for people and for machines, checked from end to end.

Files may come from anywhere: nothing in them is executed, sizes are bounded, only the few arrays
that are shown are read, and whatever does not check out is a problem that is named, never a guess.
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

from learners.svm_map.stacker import EACH
from pipeline.curves import rank_curve as rank_curves
from pipeline.curves.topic_curve import COLUMNS, FORMER_COLUMNS, as_point, in_columns
from pipeline.errors import UsageError
from pipeline.snapshots.folder import KIND, SUFFIX, VERSION
from pipeline.storage.container import DamagedError, OpenBox

LOSSES = ("loss1", "loss2", "loss3")
RANK_LOSSES: tuple[str, ...] = ("ranking_loss",)
COUNTS = ("documents", "topics_refused")
OF_A_KIND = (
    "rounds",
    "expired_documents",
    "superseded",
    "unmatched_labels",
    "ignored_labels",
)
LATEST = 253_402_300_799.0  # the last second of the year 9999: calendars end there
FEATURES = ("score", "place", "lead")  # of each lane that a stacker combines
MOST_NUMBERS = 3000
CEILINGS = ("max_terms", "min_df", "max_topics", "max_pending")


@dataclass(frozen=True, slots=True)
class Inspection:
    """A file, and what it holds or what is wrong with it."""

    path: Path
    size_bytes: int | None = None
    written: float | None = None  # when the file was, in seconds since 1970
    facts: dict[str, Any] = field(default_factory=dict)  # none if there is a problem
    problem: str | None = None

    @property
    def good(self) -> bool:
        """Whether a worker could go on from it."""
        return self.problem is None


def inspect(path: Path) -> list[Inspection]:
    """Look into a file, or into all snapshots below a folder.

    Those of a folder come in the order in which recovery tries them: newest first.
    """
    try:
        if not path.is_dir():
            return [inspect_file(path)]
        found = [inspection for file in files_below(path) for inspection in inspect_if_there(file)]
    except OSError as error:
        raise UsageError(f"{error.filename or path} cannot be read: {error.strerror}.") from None
    if not found:
        raise UsageError(
            f"{path} holds no snapshots: files that end in {SUFFIX}, such as workers write to the "
            "`snapshots.folder` of their configuration."
        )
    return found


def files_below(folder: Path) -> Iterator[Path]:
    """The snapshots of a folder and of those in it, folder by folder, newest first."""

    def refuse(error: OSError) -> None:
        raise error

    for where, inner, names in os.walk(folder, onerror=refuse):
        inner.sort()
        snapshots = [name for name in names if name.endswith(SUFFIX)]
        yield from (Path(where, name) for name in sorted(snapshots, reverse=True))


def inspect_if_there(path: Path) -> Iterable[Inspection]:
    """Look into a file of a folder, where one that cannot be read does not hide the others."""
    try:
        return [inspect_file(path)]
    except FileNotFoundError:
        return []  # the worker that keeps them has just forgotten it
    except OSError as error:
        return [Inspection(path, problem=f"{path} cannot be read: {error.strerror}")]
    except UsageError as error:
        return [Inspection(path, problem=str(error))]


def inspect_file(path: Path) -> Inspection:
    """Look into one file; raises OSError if it cannot be read, UsageError if it is no snapshot."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise UsageError(f"{path} is neither a file nor a folder; expected a snapshot.")
    with path.open("rb") as file:
        about = os.fstat(file.fileno())
        known = about.st_size, min(max(0.0, about.st_mtime), LATEST)
        if path.suffix != SUFFIX and file.read(len(KIND)) != KIND:
            raise UsageError(f"{path} is not a snapshot; those that workers write end in {SUFFIX}.")
        file.seek(0)
        try:
            return Inspection(path, *known, facts_of(OpenBox(file, KIND, VERSION, str(path))))
        except DamagedError as error:
            return Inspection(path, *known, {}, str(error))
        except (LookupError, TypeError, ValueError, OverflowError, AttributeError) as error:
            problem = f"{path} does not hold what a snapshot must hold: {error!r}"
            return Inspection(path, *known, {}, problem)


def facts_of(box: OpenBox) -> dict[str, Any]:
    """What a snapshot holds, in numbers and names. Raises all sorts of errors if it is none."""
    content, settings = box.content, box.content["settings"]
    published, sizes = set(texts(content["published"])), sizes_by_part(box)
    helpers = set(texts(content.get("helpers", [])))
    return {
        "position": whole(content["position"]),
        "log": text(content["log"]),
        **{key: whole(content[key]) for key in COUNTS},
        **kind_facts(content),
        "vocabulary_terms": box.places["vocabulary/df"].shape[0],
        "topics": len(texts(content["topics"])),
        "ranks": kind_facts(content["ranks"]) if has_ranks(settings["lanes"]) else None,
        "coverage": [coverage_entry(*entry) for entry in content["coverage"]],
        "settings": {
            **{key: whole(settings[key]) for key in CEILINGS},
            "slope": option(settings["slope"]),
            "declared_topics": len(texts(settings["declared topics"])),
        },
        "lanes": {
            text(name): {
                "learner": text(options["learner"]),
                "options": {key: option(options[key]) for key in options if key != "learner"},
                "published": name in published,
                "helper": name in helpers,
                **curve_facts(box, f"lane{number}/curve/tally"),
                "model_bytes": sizes[f"lane{number}/learner"],
                **combined_facts(box, f"lane{number}/learner", name),
            }
            for number, (name, options) in enumerate(settings["lanes"].items())
        },
    }


def has_ranks(lanes: dict[str, dict[str, Any]]) -> bool:
    """Whether some lane is ordinal."""
    return any("ranks" in options for options in lanes.values())


def kind_facts(content: dict[str, Any]) -> dict[str, Any]:
    """How labels of one kind, topics or ranks, were matched and learned."""
    return {
        **{key: whole(content[key]) for key in OF_A_KIND},
        "pending_documents": len(texts(content["pending"])),
        "early_labels": len([text(key) for key, _ in content["early"]]),
    }


def sizes_by_part(box: OpenBox) -> Counter[str]:
    """How many bytes the arrays of each part take; a part is what stands before the last slash."""
    sizes: Counter[str] = Counter()
    for key, place in box.places.items():
        sizes[key.rpartition("/")[0]] += place.nbytes
    return sizes


def curve_facts(box: OpenBox, key: str) -> dict[str, Any]:
    """How many rounds a lane has learned, and its losses averaged over them."""
    place = box.places[key]
    if place.shape == (rank_curves.COLUMNS,) and place.dtype.name == "float64":
        point, named = rank_curves.RankCurve.as_point(box.array(key)), RANK_LOSSES
    elif place.shape not in ((COLUMNS,), (FORMER_COLUMNS,)) or place.dtype.name != "float64":
        raise ValueError(f"{key} is not the tally of a curve")
    else:
        point, named = as_point(in_columns(box.array(key))), LOSSES
    losses = {loss: point.values[loss] for loss in named}
    if not all(value is None or math.isfinite(value) for value in losses.values()):
        raise ValueError(f"{key} has sums that are no numbers")
    return {"rounds": whole(point.round), **losses}


def combined_facts(box: OpenBox, learner: str, name: str) -> dict[str, Any]:
    """How a lane combines others, if it does: the weights of what they say, in their order."""
    combined = box.content.get("combines", {})
    if name not in combined:
        return {}
    lanes, weights = texts(combined[name]), numbers(box, f"{learner}/weights", "float64")
    (followed, _), kept = numbers(box, f"{learner}/followed", "int64"), f"{learner}/starts"
    if len(weights) not in (0, EACH * len(lanes)) or not -1 <= followed < len(lanes):
        raise ValueError(f"{learner} does not combine {len(lanes)} lanes")
    table = [weights[start : start + EACH] for start in range(0, len(weights), EACH)]
    return {
        "combines": {
            lane: dict(zip(FEATURES, mine, strict=True))
            for lane, mine in zip(lanes, table or [[None] * EACH] * len(lanes), strict=True)
        },
        "follows": None if followed < 0 else lanes[followed],
        "documents_kept": whole(box.places[kept].shape[0] - 1),
    }


def numbers(box: OpenBox, key: str, kind: str) -> list[Any]:
    """A row of numbers, of no more than a few lanes."""
    place = box.places[key]
    if len(place.shape) != 1 or place.shape[0] > MOST_NUMBERS or place.dtype.name != kind:
        raise ValueError(f"{key} is not a row of at most {MOST_NUMBERS} numbers")
    found: list[Any] = box.array(key).tolist()
    if not all(map(math.isfinite, found)):
        raise ValueError(f"{key} has numbers that are none")
    return found


def coverage_entry(topic: object, identity: object, partition: object, offset: object) -> Any:  # noqa: ANN401
    """How far the snapshot's log had come in one partition of a source."""
    named = {"topic": text(topic), "identity": text(identity)}
    return {**named, "partition": whole(partition), "offset": whole(offset)}


def whole(value: object) -> int:
    """A whole number that is not negative, and can be counted to."""
    if type(value) is not int or not 0 <= value < 2**63:
        raise ValueError("a number was expected")
    return value


def text(value: object) -> str:
    """A text."""
    if not isinstance(value, str):
        raise TypeError("a text was expected")
    return value


def texts(values: object) -> list[str]:
    """A list of texts."""
    if not isinstance(values, list):
        raise TypeError("a list was expected")
    return [text(value) for value in values]


def option(value: object) -> str | int | float | bool:
    """What a setting can be."""
    if not isinstance(value, str | int | float | bool):
        raise TypeError("a setting was expected")
    return value
