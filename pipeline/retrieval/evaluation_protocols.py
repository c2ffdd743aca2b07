"""Which queries train, choose and are measured: LETOR's folds, the paper's trials, halves."""

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
    found = queries.with_relevant()
    if len(found) < FEWEST:
        raise UsageError(
            f"{len(found)} queries have a relevant document; expected at least {FEWEST}, so that "
            f"{TRAIN} can train, {VALIDATION} choose settings, and some be measured."
        )
    return found


def folds(queries: QuerySet) -> EvaluationProtocol | None:
    """LETOR's own folds, if the set has its parts: three train, one chooses, one is measured."""
    parts = np.array(queries.parts)
    if set(queries.parts) == set(FOLD):
        mine = [np.flatnonzero(parts == part) for part in FOLD]
        return EvaluationProtocol("fold", "LETOR's fold", (Split("fold", *mine),))
    if set(queries.parts) != set(PARTS):
        return None
    splits = []
    for fold in range(5):
        of = [np.flatnonzero(parts == PARTS[(fold + part) % 5]) for part in range(5)]
        splits.append(Split(f"fold {fold + 1}", np.concatenate(of[:3]), of[3], of[4]))
    return EvaluationProtocol("folds", "LETOR's five folds", tuple(splits))


def random_splits(queries: QuerySet, count: int, seed: int) -> EvaluationProtocol:
    """60 % of the queries train, 20 % choose, 20 % are measured."""
    checked(queries)
    splits = []
    for number in range(count):
        order = np.random.default_rng([seed, number]).permutation(len(queries))
        cuts = np.rint(np.array([0.6, 0.8]) * len(order)).astype(int)
        splits.append(Split(f"split {number + 1}", *np.split(order, cuts)))
    return EvaluationProtocol("splits", "Random splits, 60 / 20 / 20 %", tuple(splits))


def trials(queries: QuerySet, count: int, seed: int) -> EvaluationProtocol:
    """The paper's: 10 queries train, 5 choose, all others are measured.

    Queries stand in a circle, in random order, and training goes round it in steps of ten, then
    round another, so that each trains as often as any other, or nearly so.
    """
    found = checked(queries)
    steps = len(found) // TRAIN
    splits = []
    for number in range(count):
        turn, step = divmod(number, steps)
        order = np.random.default_rng([seed, turn]).permutation(found)
        order = np.roll(order, -step * TRAIN)
        cuts = (TRAIN, TRAIN + VALIDATION)
        splits.append(Split(f"trial {number + 1}", *np.split(order, cuts)))
    title = f"{TRAIN} queries train, {VALIDATION} choose, the others are measured"
    return EvaluationProtocol("trials", title, tuple(splits))


def halves(queries: QuerySet, seed: int) -> EvaluationProtocol:
    """Each half of the queries is measured by what the other taught, a third of it choosing."""
    found = checked(queries)
    order = np.random.default_rng([seed, 1 << 20]).permutation(found)
    splits = []
    for number, (mine, others) in enumerate(((0, 1), (1, 0)), start=1):
        both = np.array_split(order, 2)
        cut = round(len(both[mine]) * 2 / 3)
        splits.append(Split(f"half {number}", both[mine][:cut], both[mine][cut:], both[others]))
    return EvaluationProtocol(
        "halves", "Each half of the queries is measured by the other", tuple(splits)
    )
