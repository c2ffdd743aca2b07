"""Costs as formulas: sums of features of a load, with coefficients fitted to measurements.

A feature is a power product of the quantities of a load, such as `K t / N`: topics times terms per
document, divided by the number of shards. Coefficients are never negative. So a cost never falls
when a load grows, whatever the noise of the measurements was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from learners.arrays import Floats
from pipeline.errors import UsageError


class Load(NamedTuple):
    """What costs depend on."""

    topics: float = 0  # K
    terms: float = 0  # t: different terms per document
    shards: float = 1  # N
    block: float = 1  # B: documents per block of the log
    payload: float = 0  # P: bytes that a shard sends in one exchange


# Each feature as powers of the fields of a load.
FEATURES: dict[str, dict[str, float]] = {
    "1": {},
    "t": {"terms": 1},
    "t t": {"terms": 2},
    "K": {"topics": 1},
    "K t": {"topics": 1, "terms": 1},
    "t K^0.25": {"terms": 1, "topics": 0.25},
    "K/N": {"topics": 1, "shards": -1},
    "K t/N": {"topics": 1, "terms": 1, "shards": -1},
    "B": {"block": 1},
    "1/B": {"block": -1},
    "t/B": {"terms": 1, "block": -1},
    "t/B^0.25": {"terms": 1, "block": -0.25},
    "N": {"shards": 1},
    "N/B": {"shards": 1, "block": -1},
    "P": {"payload": 1},
    "N P": {"shards": 1, "payload": 1},
    "N N": {"shards": 2},
    "N N P": {"shards": 2, "payload": 1},
}


def feature(name: str, load: Load) -> float:
    """The value of a feature.

    >>> feature("K t/N", Load(topics=1000, terms=125, shards=4))
    31250.0
    """
    value = 1.0
    for field, power in FEATURES[name].items():
        value *= float(getattr(load, field)) ** power
    return value


class Sample(NamedTuple):
    """One measurement."""

    load: Load
    value: float


@dataclass(frozen=True, slots=True)
class Formula:
    """A cost as a sum of features, and how well it fits the measurements."""

    coefficients: Mapping[str, float]
    samples: int = 0
    median_error: float = 0.0  # relative, over the samples
    largest_error: float = 0.0

    def at(self, load: Load) -> float:
        """The cost of a load."""
        return sum(each * feature(name, load) for name, each in self.coefficients.items())

    def times(self, factor: float) -> Formula:
        """The same formula for a machine that takes this many times as long."""
        scaled = {name: factor * each for name, each in self.coefficients.items()}
        return Formula(scaled, self.samples, self.median_error, self.largest_error)

    def content(self) -> dict[str, Any]:
        """The formula as a JSON object."""
        return {
            "coefficients": {name: float(f"{v:.6g}") for name, v in self.coefficients.items()},
            "samples": self.samples,
            "median_error": round(self.median_error, 4),
            "largest_error": round(self.largest_error, 4),
        }

    @classmethod
    def from_content(cls, content: Any, name: str) -> Formula:  # noqa: ANN401 - any JSON value
        """Read a formula; a UsageError if it is none."""
        try:
            coefficients = {str(key): float(each) for key, each in content["coefficients"].items()}
            numbers = (content["samples"], content["median_error"], content["largest_error"])
            formula = cls(coefficients, int(numbers[0]), float(numbers[1]), float(numbers[2]))
        except (AttributeError, KeyError, TypeError, ValueError):
            raise UsageError(f"The formula {name!r} of the costs cannot be read.") from None
        unknown = sorted(set(coefficients) - set(FEATURES))
        if unknown:
            raise UsageError(f"The formula {name!r} of the costs has an unknown {unknown[0]!r}.")
        if not all(0 <= each < float("inf") for each in coefficients.values()):
            raise UsageError(f"The formula {name!r} of the costs has a coefficient below 0.")
        return formula


def fit(samples: Sequence[Sample], features: Sequence[str]) -> Formula:
    """The formula with coefficients of at least 0 that has the least squares of relative errors.

    There are few features. So all subsets are tried, and the best of those whose least squares have
    no negative coefficient is the exact solution.

    >>> lines = [Sample(Load(topics=k), 3.0 + 2 * k) for k in (1, 10, 100)]
    >>> fit(lines, ("1", "t", "K")).coefficients
    {'1': 3.0, 'K': 2.0}
    """
    values = np.array([sample.value for sample in samples], float)
    if not len(values) or not (values > 0).all():
        raise ValueError("a fit needs measurements above 0")
    table = np.array([[feature(name, sample.load) for name in features] for sample in samples])
    relative = table / values[:, None]
    best, best_coefficients = np.inf, np.zeros(0)
    chosen: tuple[int, ...] = ()
    for size in range(1, min(len(features), len(values)) + 1):
        for columns in combinations(range(len(features)), size):
            coefficients = solve(relative[:, columns])
            error = float(((relative[:, columns] @ coefficients - 1) ** 2).sum())
            # More features must pay: noise always finds a use for one more.
            if (coefficients > 0).all() and error < best - 1e-9:
                best, chosen, best_coefficients = error, columns, coefficients
    if not chosen:
        raise ValueError(f"no formula of {', '.join(features)} fits the measurements")
    errors = np.abs(relative[:, chosen] @ best_coefficients - 1)
    named = {
        features[column]: float(c) for column, c in zip(chosen, best_coefficients, strict=True)
    }
    return Formula(named, len(values), float(np.median(errors)), float(errors.max()))


def solve(relative: Floats) -> Floats:
    """Least squares of `relative @ x = 1`, with columns scaled to similar size first."""
    scale = np.maximum(np.abs(relative).max(axis=0), 1e-300)
    solution: Floats = np.linalg.lstsq(relative / scale, np.ones(len(relative)), rcond=None)[0]
    unscaled: Floats = solution / scale
    return unscaled
