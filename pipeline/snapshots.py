"""Snapshots: everything that an engine is, in one file, so that it can go on where it was.

The order of writing is: the whole file under another name, flushed to the disk, then renamed, and
the folder flushed too. A crash before the renaming leaves the older snapshots as they were; one
after it leaves the new one whole. Files that do not check out are passed over for older ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from learners.learner import State
from pipeline.container import Arrays, DamagedError, pack, unpack
from pipeline.engine import Engine
from pipeline.pending import PendingDocument

KIND = b"WRSN"
VERSION = 1


class MismatchError(Exception):
    """A snapshot of another configuration; the message says which part differs."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state of an engine, and where in the log it was taken."""

    content: dict[str, Any]
    arrays: Arrays

    @property
    def position(self) -> int:
        """How far into the log the engine was: the next entry to read."""
        return int(self.content["position"])


def take(engine: Engine, position: int) -> Snapshot:
    """The state of an engine that has processed the log up to `position`."""
    arrays: Arrays = {}
    store(arrays, "vocabulary", engine.vocabulary.state())
    for number, lane in enumerate(engine.lanes):
        store(arrays, f"lane{number}/learner", lane.learner.state())
        store(arrays, f"lane{number}/curve", lane.curve.state())
    waiting = list(engine.pending.documents.values())
    starts = np.cumsum([0, *(len(document.terms) for document in waiting)], dtype=np.int64)
    arrays["pending/starts"] = starts
    arrays["pending/terms"] = joined([d.terms for d in waiting], np.int32)
    arrays["pending/values"] = joined([d.values for d in waiting], np.float64)
    known = [len(document.scores[0]) if document.scores else 0 for document in waiting]
    arrays["pending/known"] = np.array(known, np.int64)
    for number in range(len(engine.lanes)):
        scores = [document.scores[number] for document in waiting]
        arrays[f"lane{number}/pending"] = joined(scores, np.float64)
    content = {
        "position": position,
        "settings": settings_of(engine),
        "documents": engine.documents,
        "rounds": engine.rounds,
        "topics": engine.topics.names,
        "topics_refused": engine.topics.refused,
        "pending": list(engine.pending.documents),
        "early": list(engine.pending.early.items()),
        "expired_documents": engine.pending.expired_documents,
        "unmatched_labels": engine.pending.unmatched_labels,
        "superseded": engine.pending.superseded,
        "ignored_labels": engine.pending.ignored_labels,
        "lanes": [lane.name for lane in engine.lanes],
    }
    return Snapshot(content, arrays)


def resume(engine: Engine, snapshot: Snapshot) -> None:
    """Make a new engine of the same configuration go on from a snapshot."""
    content, arrays = snapshot.content, snapshot.arrays
    check_settings(content["settings"], settings_of(engine))
    engine.vocabulary.restore(stored(arrays, "vocabulary"))
    engine.topics.restore(content["topics"], content["topics_refused"])
    engine.documents, engine.rounds = content["documents"], content["rounds"]
    for number, lane in enumerate(engine.lanes):
        lane.learner.restore(stored(arrays, f"lane{number}/learner"))
        lane.curve.restore(stored(arrays, f"lane{number}/curve"))
    pending = engine.pending
    pending.early = {key: tuple(topics) for key, topics in content["early"]}
    pending.expired_documents = content["expired_documents"]
    pending.unmatched_labels = content["unmatched_labels"]
    pending.superseded = content["superseded"]
    pending.ignored_labels = content["ignored_labels"]
    pending.documents = dict(
        zip(content["pending"], waiting_documents(arrays, len(engine.lanes)), strict=True)
    )


def waiting_documents(arrays: Arrays, lanes: int) -> Iterator[PendingDocument]:
    """The documents that waited for their labels."""
    starts, known = arrays["pending/starts"].tolist(), arrays["pending/known"].tolist()
    at = 0
    for i, count in enumerate(known):
        yield PendingDocument(
            None,
            arrays["pending/terms"][starts[i] : starts[i + 1]].copy(),
            arrays["pending/values"][starts[i] : starts[i + 1]].copy(),
            [arrays[f"lane{n}/pending"][at : at + count].copy() for n in range(lanes)],
        )
        at += count


def settings_of(engine: Engine) -> dict[str, Any]:
    """What two engines must have in common for one to go on where the other was."""
    features = engine.settings.features
    return {
        "max_terms": features.max_terms,
        "min_df": features.min_df,
        "slope": features.slope,
        "max_topics": engine.settings.max_topics,
        "max_pending": engine.settings.max_pending,
        "lanes": [
            {
                "learner": lane.spec.learner,
                "norm": lane.spec.norm,
                **{o.name: getattr(lane.learner, o.name) for o in lane.learner.options},
            }
            for lane in engine.lanes
        ],
        "declared topics": engine.topics.declared,
    }


def check_settings(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Refuse a snapshot that another configuration wrote."""
    for key, value in expected.items():
        if found.get(key) != value:
            raise MismatchError(
                f"the snapshot was written with {key} = {found.get(key)}, but the configuration "
                f"says {value}: go back to the old setting, or start anew in an empty folder"
            )


def store(arrays: Arrays, prefix: str, state: State) -> None:
    """Add a part's arrays under its name."""
    arrays.update({f"{prefix}/{name}": array for name, array in state.items()})


def stored(arrays: Arrays, prefix: str) -> State:
    """The arrays of a part."""
    start = f"{prefix}/"
    return {name.removeprefix(start): a for name, a in arrays.items() if name.startswith(start)}


def joined(pieces: list[Any], dtype: type[np.generic]) -> Any:  # noqa: ANN401 - any array
    """The pieces one after another; of no pieces, an empty array."""
    return np.concatenate([np.empty(0, dtype), *pieces])


class SnapshotFolder:
    """The last few snapshots of an engine, newest first."""

    def __init__(self, path: Path, keep: int = 3) -> None:
        self.path = path
        self.keep = keep
        path.mkdir(parents=True, exist_ok=True)

    def write(self, snapshot: Snapshot) -> Path:
        """Keep a snapshot, and let the oldest go."""
        path = self.path / f"{snapshot.position:020d}.wirerank"
        partial = path.with_suffix(".partial")
        with partial.open("wb") as file:
            file.write(pack(KIND, VERSION, snapshot.content, snapshot.arrays))
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
        folder = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        for old in self.files()[self.keep :]:
            old.unlink()
        return path

    def files(self) -> list[Path]:
        """The snapshots there are, newest first."""
        return sorted(self.path.glob("*.wirerank"), reverse=True)

    def newest(self, damaged: list[str]) -> Snapshot | None:
        """The newest snapshot that checks out; what is wrong with newer ones goes to `damaged`."""
        for path in self.files():
            try:
                return read_snapshot(path)
            except DamagedError as error:
                damaged.append(str(error))
        return None


def read_snapshot(path: Path) -> Snapshot:
    """Read one file, or raise `DamagedError`."""
    content, arrays = unpack(path.read_bytes(), KIND, VERSION, str(path))
    return Snapshot(content, arrays)
