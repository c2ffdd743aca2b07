"""Made-up TREC runs: systems of different quality, with correlated errors and different scales.

Relevant documents have higher values than others, more so on some topics. A system sees these
values with three kinds of noise: its own, noise that all systems share (words that mislead all of
them), and noise that the systems of one family share (for example a stemmer). It retrieves the
documents that look best to it. Their scores are an increasing function of what it saw (a sum, a
probability, a log probability), on the system's own scale. For many systems the scale also differs
between queries, as it does for sums over query terms.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from learners.arrays import Floats

FAMILIES = 4
SUM, LIKELIHOOD, PROBABILITY, RECIPROCAL = KINDS = range(4)
SHARES = (0.4, 0.3, 0.2, 0.1)  # of the kinds of score


@dataclass(frozen=True)
class Shape:
    """The size of the made-up collection."""

    systems: int = 17
    topics: int = 100
    depth: int = 1000
    documents: int = 12_000  # candidates of a topic
    relevant: tuple[int, int] = (5, 120)  # of a topic, at least and at most


WHOLE = Shape()


def write_runs(folder: Path, seed: int, shape: Shape = WHOLE) -> str:
    """Write runs and judgements; return their source text, RUNS,QRELS."""
    rng = np.random.default_rng(seed)
    runs = folder / "runs"
    runs.mkdir(parents=True)
    quality = np.sort(rng.uniform(0.35, 1.0, shape.systems))[::-1]
    families = rng.integers(FAMILIES, size=shape.systems)
    kinds = rng.choice(KINDS, shape.systems, p=SHARES)
    scales = 10.0 ** rng.uniform(-4, 4, shape.systems)
    lines: list[list[str]] = [[] for _ in range(shape.systems)]
    judged: list[str] = []
    for topic in range(401, 401 + shape.topics):
        names = document_names(rng, shape.documents)
        grades = np.zeros(shape.documents, int)
        grades[: int(np.exp(rng.uniform(*np.log(shape.relevant))))] = 1
        plain = rng.uniform(1.4, 3.6)  # how well relevant documents of this topic stand out
        shared = rng.normal(size=shape.documents) + plain * grades
        of_family = rng.normal(size=(FAMILIES, shape.documents))
        seen_by_any = np.zeros(shape.documents, bool)
        for system in range(shape.systems):
            own = rng.normal(size=shape.documents)
            luck = np.exp(rng.normal(0, 0.3))  # a system is better on some topics than on others
            noise = 0.6 * of_family[families[system]] + 0.8 * own
            seen = shared + luck * noise * (0.4 / quality[system] ** 1.6)
            first = np.argsort(-seen)[: shape.depth]
            seen_by_any[first[:100]] = True
            scores = system_scores(rng, seen[first], int(kinds[system]), float(scales[system]))
            for place, (at, score) in enumerate(zip(first, scores, strict=True)):
                lines[system].append(f"{topic} Q0 {names[at]} {place} {score:.6g} s{system:02}")
        pooled = np.flatnonzero(seen_by_any)
        judged += [f"{topic} 0 {names[at]} {grades[at]}" for at in pooled]
    for system, of_system in enumerate(lines):
        (runs / f"s{system:02}").write_text("\n".join(of_system) + "\n")
    (folder / "qrels").write_text("\n".join(judged) + "\n")
    return f"{runs},{folder / 'qrels'}"


def document_names(rng: np.random.Generator, count: int) -> list[str]:
    """Random names, unrelated to relevance."""
    return [f"WTX{number:06}" for number in rng.choice(10**6, count, replace=False)]


def system_scores(rng: np.random.Generator, seen: Floats, kind: int, scale: float) -> Floats:
    """The scores of a system: an increasing function of what it saw, on its own scale."""
    of_query = np.exp(rng.normal(0, 1.2))  # long queries have large sums
    if kind == PROBABILITY:
        return 1.0 / (1.0 + np.exp(-(seen - rng.normal(4.0, 2.5))))
    if kind == RECIPROCAL:  # the rank and nothing else
        return scale / np.arange(1, len(seen) + 1)
    likely = -10.0 * of_query if kind == LIKELIHOOD else 0.0  # as many factors as query terms
    scores: Floats = scale * of_query * (seen - seen.min() + 1.0 + likely)
    return scores
