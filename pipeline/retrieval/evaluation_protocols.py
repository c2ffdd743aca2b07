"""How queries are split into training, validation and test: folds, splits, trials, halves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learners.arrays import Longs
from pipeline.errors import UsageError
from pipeline.retrieval.model_selection import Split
from pipeline.retrieval.query_sets import QuerySet

PARTS = ("S1", "S2", "S3", "S4", "S5")
FOLD = ("train", "vali", "test")
TRAIN, VALIDATION = 10, 5  # queries of a trial in the paper
FEWEST = 20


@dataclass(frozen=True, slots=True)
class EvaluationProtocol:
    """Splits of one kind; a query that several of them measure counts with the mean."""

    name: str
    title: str
    splits: tuple[Split, ...]


def checked(queries: QuerySet) -> Longs:
    """The queries with relevant documents, if they are enough."""
    relevant = queries.with_relevant()
    if len(relevant) < FEWEST:
        raise UsageError(
            f"{len(relevant)} queries have a relevant document; expected at least {FEWEST}: "
            f"{TRAIN} to train, {VALIDATION} to choose settings, and the others to measure."
        )
    return relevant


def folds(queries: QuerySet) -> EvaluationProtocol | None:
    """LETOR's own folds, if the set has its parts: three train, one validates, one tests."""
    parts = np.array(queries.parts)
    if set(queries.parts) == set(FOLD):
        by_part = [np.flatnonzero(parts == part) for part in FOLD]
        return EvaluationProtocol("fold", "LETOR's fold", (Split("fold", *by_part),))
    if set(queries.parts) != set(PARTS):
        return None
    splits = []
    for fold in range(5):
        by_part = [np.flatnonzero(parts == PARTS[(fold + part) % 5]) for part in range(5)]
        train, validation, test = np.concatenate(by_part[:3]), by_part[3], by_part[4]
        splits.append(Split(f"fold {fold + 1}", train, validation, test))
    return EvaluationProtocol("folds", "LETOR's five folds", tuple(splits))


def random_splits(queries: QuerySet, count: int, seed: int) -> EvaluationProtocol:
    """Random splits: 60 % of the queries train, 20 % validate, 20 % test."""
    checked(queries)
    splits = []
    for number in range(count):
        order = np.random.default_rng([seed, number]).permutation(len(queries))
        cuts = np.rint(np.array([0.6, 0.8]) * len(order)).astype(int)
        splits.append(Split(f"split {number + 1}", *np.split(order, cuts)))
    return EvaluationProtocol("splits", "Random splits, 60 / 20 / 20 %", tuple(splits))


def trials(queries: QuerySet, count: int, seed: int) -> EvaluationProtocol:
    """The paper's trials: 10 queries train, 5 choose settings, all others are measured.

    The training queries of successive trials are successive tens of a random order, then of another
    one, so that all queries train about equally often.
    """
    relevant = checked(queries)
    steps = len(relevant) // TRAIN
    splits = []
    for number in range(count):
        turn, step = divmod(number, steps)
        order = np.random.default_rng([seed, turn]).permutation(relevant)
        order = np.roll(order, -step * TRAIN)
        cuts = (TRAIN, TRAIN + VALIDATION)
        splits.append(Split(f"trial {number + 1}", *np.split(order, cuts)))
    title = f"{TRAIN} queries train, {VALIDATION} choose settings, the others are measured"
    return EvaluationProtocol("trials", title, tuple(splits))


def halves(queries: QuerySet, seed: int) -> EvaluationProtocol:
    """Each half of the queries trains once, a third of it as validation; the other half tests."""
    order = np.random.default_rng([seed, 1 << 20]).permutation(checked(queries))
    splits = []
    first, second = np.array_split(order, 2)
    for number, (half, other) in enumerate(((first, second), (second, first)), start=1):
        cut = round(len(half) * 2 / 3)
        splits.append(Split(f"half {number}", half[:cut], half[cut:], other))
    return EvaluationProtocol(
        "halves",
        "Each half of the queries is ranked by the ranker of the other half",
        tuple(splits),
    )
