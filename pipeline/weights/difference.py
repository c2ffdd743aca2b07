"""What changed between two models: settings, terms, topics, losses and weights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from learners.arrays import Longs
from pipeline.errors import UsageError
from pipeline.models.frozen_lanes import FrozenLanes, load_file
from pipeline.snapshots.inspection import LOSSES, RANK_LOSSES, inspect_file
from pipeline.storage.container import DamagedError
from pipeline.text.terms import words_of
from pipeline.weights.distances import moved_topics
from pipeline.weights.lane_weights import lane_weights, why_nonlinear

COUNTS = ("documents", "rounds", "vocabulary_terms", "topics")


@dataclass(frozen=True, slots=True)
class Side:
    """One of two models that are compared."""

    path: Path
    facts: dict[str, Any]
    terms: dict[str, int]  # the number of each term
    documents: Longs  # texts that each term occurs in
    topics: list[str]
    input: dict[str, Any]  # how events became terms

    @property
    def lanes(self) -> list[str]:
        """The names of its lanes, without helpers."""
        return [name for name, lane in self.facts["lanes"].items() if not lane["helper"]]


def compare(path_a: Path, path_b: Path, top: int) -> dict[str, Any]:
    """Return what changed from one model to another, with at most `top` names in each list.

    Raises UsageError if a file is no model, `DamagedError` if it is damaged.
    """
    a, b = read_side(path_a), read_side(path_b)
    both = [name for name in a.lanes if name in b.lanes]
    counts = {key: [a.facts[key], b.facts[key]] for key in COUNTS}
    if a.facts["ranks"] or b.facts["ranks"]:
        counts["rank_rounds"] = [
            None if side.facts["ranks"] is None else side.facts["ranks"]["rounds"]
            for side in (a, b)
        ]
    return {
        "a": shown_path(path_a),
        "b": shown_path(path_b),
        "counts": counts,
        "settings": differing(settings_of(a), settings_of(b)),
        "topics": {
            "added": limited(missing(b.topics, a.topics), top),
            "removed": limited(missing(a.topics, b.topics), top),
        },
        "terms": {
            "added": limited(most_frequent_first(b, a), top),
            "removed": limited(most_frequent_first(a, b), top),
        },
        "lanes": {name: compare_lane(name, a, b, top) for name in both},
        "only_in_a": [name for name in a.lanes if name not in b.lanes],
        "only_in_b": [name for name in b.lanes if name not in a.lanes],
    }


def shown_path(path: Path) -> str:
    """Return a path that can be written as JSON."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def read_side(path: Path) -> Side:
    """Read what a model has beside its weights."""
    if path.is_dir():
        raise UsageError(
            f"{path} is a folder; expected a model or a snapshot. `wirerank inspect {path}` lists "
            "the snapshots in it."
        )
    with reading(path):
        inspection = inspect_file(path)
    if inspection.problem is not None:
        raise DamagedError(inspection.problem)
    facts = inspection.facts
    names = [name for name, lane in facts["lanes"].items() if not lane["helper"]]
    if not names:
        raise DamagedError(f"{path} has no lanes")
    # Any lane brings the vocabulary, and one that learns topics brings these as well.
    first = min(names, key=lambda name: "ranks" in facts["lanes"][name]["options"])
    with reading(path):
        part = load_file(path, [first])
    vocabulary = part.engine.vocabulary
    terms = {word: number for number, word in enumerate(words_of(vocabulary.table))}
    return Side(
        path,
        facts,
        terms,
        vocabulary.arrays.df[: len(terms)].copy(),
        list(part.engine.topics.names),
        input_of(part),
    )


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn an error of the system into a UsageError that names the model."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"The model {path} cannot be read: {error.strerror}.") from None


def input_of(part: FrozenLanes) -> dict[str, Any]:
    """Return how events became terms, as far as the file says it."""
    if part.input is None:
        return {}
    fields = part.input.fields
    return {
        "format": part.input.format,
        "profile": part.input.profile,
        "fields": None if fields is None else dict(fields.settings),
    }


def settings_of(side: Side) -> dict[str, Any]:
    """Return the settings of a model besides those of its lanes."""
    return {**side.facts["settings"], **side.input}


def differing(a: dict[str, Any], b: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the values of the keys that differ; null where a key is missing."""
    keys = dict.fromkeys((*a, *b))
    return {key: [a.get(key), b.get(key)] for key in keys if a.get(key) != b.get(key)}


def missing(names: list[str], others: list[str]) -> list[str]:
    """Return the names that are not among the others, in their order."""
    known = set(others)
    return [name for name in names if name not in known]


def most_frequent_first(side: Side, other: Side) -> list[str]:
    """Return the terms that only this side has, those that occur in most texts first."""
    new = [word for word in side.terms if word not in other.terms]
    return sorted(new, key=lambda word: -int(side.documents[side.terms[word]]))


def limited(names: list[str], top: int) -> dict[str, Any]:
    """Return the number of names, and the first of them."""
    return {"count": len(names), "first": names[:top]}


def compare_lane(name: str, a: Side, b: Side, top: int) -> dict[str, Any]:
    """Return what changed in a lane that both models have."""
    facts_a, facts_b = a.facts["lanes"][name], b.facts["lanes"][name]
    losses = [key for key in (*LOSSES, *RANK_LOSSES) if key in facts_a or key in facts_b]
    options = differing(
        {"learner": facts_a["learner"], **facts_a["options"]},
        {"learner": facts_b["learner"], **facts_b["options"]},
    )
    return {
        "rounds": [facts_a["rounds"], facts_b["rounds"]],
        **{key: [facts_a.get(key), facts_b.get(key)] for key in losses},
        "options": options,
        "weights": compare_weights(name, a, b, top),
    }


def compare_weights(name: str, a: Side, b: Side, top: int) -> dict[str, Any]:
    """Return the topics whose weights moved most, or why that is not known."""
    learners = [side.facts["lanes"][name]["learner"] for side in (a, b)]
    if learners[0] != learners[1]:
        return {"reason": f"the learners differ: {learners[0]} and {learners[1]}."}
    parts = list[FrozenLanes]()
    for side in (a, b):
        with reading(side.path):
            parts.append(load_file(side.path, [name]))
    lanes = [part.engine.lanes[0] for part in parts]
    weights = [lane_weights(part, lane) for part, lane in zip(parts, lanes, strict=True)]
    if weights[0] is None or weights[1] is None:
        return {"reason": why_nonlinear(lanes[0 if weights[0] is None else 1])}
    if lanes[0].learner.ranks != lanes[1].learner.ranks:
        return {"reason": "the numbers of ranks differ."}
    moved = moved_topics(weights[0], weights[1], a.terms, b.terms)
    return {
        "reason": None,
        "topics": len(moved),
        "moved": sum(topic.distance > 0.0 for topic in moved),
        "moved_most": [
            {"topic": topic, "distance": distance, "norm": [norm_a, norm_b]}
            for topic, distance, norm_a, norm_b in moved[:top]
            if distance > 0.0
        ],
    }
