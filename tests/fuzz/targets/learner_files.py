"""Files of learners of every kind, with correct checksums: loaded, and then documents ranked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from learners.named_learner import DocumentError
from learners.specs import parse_spec
from pipeline.learner_files import KIND, VERSION, load, save
from pipeline.storage.container import DamagedError
from tests.fuzz.target import Broken, Target, kind_of, scratch_folder
from tests.fuzz.targets.containers import ContainerMutator, checked

SPECS = (
    "mmp:average=true", "mmp:kernel=poly2,budget=9", "perceptron", "arow", "soft-arow",
    "committee:size=2", "rocchio:refresh=5", "feature-focus", "independent", "frequency",
    "prank:ranks=3",
    "widrow-hoff:ranks=3,kernel=poly2,budget=9", "multiclass-perceptron:ranks=3,average=true",
)  # fmt: skip
TERMS, TOPICS = "abcdefgh", "xyz"
MAX_RANKS = 3


class LearnerFiles(Target):
    """Files of learners: `pipeline/learner_files.py`."""

    name = "learner-files"
    share = 0.1
    kernels = True

    def __init__(self) -> None:
        self._folder = scratch_folder()
        self._path = Path(self._folder.name) / "model"
        self._mutator = ContainerMutator(KIND, VERSION, self.seeds())

    def seeds(self) -> Sequence[bytes]:
        seeds = []
        for number, spec in enumerate(SPECS):
            learner: Any = parse_spec(spec).build()
            learn(learner, 0, as_matrix=number % 2 == 1)
            save(learner, self._path)
            seeds.append(self._path.read_bytes())
        return seeds

    def mutate(self, rng: Random, data: bytes, other: bytes) -> bytes:
        return self._mutator.mutate(rng, data, other)

    def blow_up(self, rng: Random, data: bytes) -> bytes:
        return self._mutator.blow_up(rng, data, self.largest)

    def repair(self, data: bytes) -> bytes:
        return checked(data)

    def run(self, data: bytes) -> str:
        self._path.write_bytes(data)
        try:
            learner = load(self._path)
        except DamagedError as error:
            return kind_of(error)
        kind = type(learner).__name__
        try:
            learn(learner, 1, as_matrix=learner.names.columns is not None)
        except DocumentError as error:  # a model of a matrix with another number of columns
            return f"{kind} {kind_of(error)}"
        save(learner, self._path)
        if not hasattr(load(self._path), "names"):
            raise Broken("what was saved is not loaded")
        return f"{kind} ranked"

    def close(self) -> None:
        self._folder.cleanup()


def learn(learner: Any, seed: int, *, as_matrix: bool) -> None:  # noqa: ANN401
    """Learn some documents."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (12, len(TERMS))).astype(np.float64)
    labels: Any = [[TOPICS[i % 3]] for i in range(12)]
    if learner.ranks:
        labels = [1 + i % min(MAX_RANKS, learner.ranks) for i in range(12)]
    documents: Any = X if as_matrix else [dict(zip(TERMS, row.tolist(), strict=True)) for row in X]
    learner.learn_many(documents, labels)
