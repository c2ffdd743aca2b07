"""Ordinal lanes once more, in plain Python: from events to ranks, losses and tau-b.

Written from the formulas and the contract alone, as `tests/reference/stream.py` is, which turns
documents into vectors here too. Nothing is fast and everything is kept: averages are taken over all
models there were, and Kendall's tau-b over all pairs of the window.

Where paper and contract leave a choice open, this is how it is read here:

- All starts from zero. A score on a threshold is above it: the first rank PRank says is k.
- Widrow-Hoff rounds halves up; the multiclass perceptron says the lowest of equally good ranks.
- PRank learns where the rank that it would say **now** is wrong, however far it was off then.
- A rank past the last one is no round; its document, or the label, waits no longer.
- A rank that comes before its document waits for it; one that comes when its document has one
  already waits for the next document of that id. A document takes the place of a waiting one.
- PRank's errors can cancel out; then its thresholds move, and there is no instance to keep.
- With a budget the instance whose largest coefficient is smallest in size goes, of equals the
  oldest, never the newest. The mean is over the models since the latest of those went that are more
  than the budget among the ones that are gone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from tests.reference.vectors import Event, Vector, Weights, add, dot, unit

WINDOW = 1000
MEASURES = ("ranking_loss", "hit_rate", "tau_b")


def poly2(x: Vector, z: Vector) -> float:
    """The polynomial kernel of degree two, with its constant."""
    return (dot(x, z) + 1.0) ** 2


@dataclass
class Model:
    """What one round leaves: a vector a column, or the instances it would be made of."""

    columns: list[Vector]
    thresholds: list[float]
    instances: list[tuple[Vector, list[float]]] = field(default_factory=list)

    def scores(self, x: Vector) -> list[float]:
        """The score of every column."""
        if not self.instances:
            return [dot(column, x) for column in self.columns]
        values = [(poly2(z, x), coefficients) for z, coefficients in self.instances]
        return [
            sum(value * coefficients[c] for value, coefficients in values)
            for c in range(len(self.columns))
        ]


class Ordinal:
    """A learner of ranks: how scores become a rank, and what a round adds, is up to subclasses."""

    def __init__(self, options: dict[str, str]) -> None:
        self.ranks = int(options.get("ranks", "5"))
        self.rate = float(options.get("rate", "0.01"))
        self.kernel = options.get("kernel", "linear") == "poly2"
        self.budget = int(options.get("budget", "1000"))
        self.averages = options.get("average") == "true"
        self.now = self.first()
        self.past: list[Model] = []
        self.gone: list[int] = []  # after how many rounds an instance was not there any more

    def first(self) -> Model:
        """The model before the first round."""
        return Model([{}], [])

    def say(self, x: Vector) -> tuple[int, float]:
        """The rank of a document, and the score it was read off."""
        if not self.averages or not self.past:
            return self.read(self.now.scores(x), self.now.thresholds)
        models = self.past[self.since() :]
        scores = [sum(s) / len(models) for s in zip(*(m.scores(x) for m in models), strict=True)]
        thresholds = [
            sum(b) / len(models) for b in zip(*(m.thresholds for m in models), strict=True)
        ]
        return self.read(scores, thresholds)

    def since(self) -> int:
        """The first model that counts for the mean."""
        surplus = len(self.gone) - self.budget
        return self.gone[surplus - 1] if surplus > 0 else 0

    def learn(self, x: Vector, y: int) -> None:
        """One round."""
        self.add(x, self.update(self.now.scores(x), y))
        if self.averages:
            self.past.append(deepcopy(self.now))

    def add(self, x: Vector, coefficients: Sequence[float] | None) -> None:
        """Move every column by its multiple of the document."""
        if coefficients is None:
            return
        if not self.kernel:
            for column, coefficient in zip(self.now.columns, coefficients, strict=True):
                add(column, coefficient, x)
            return
        if not any(coefficients):
            return
        self.now.instances.append((x, list(coefficients)))
        if len(self.now.instances) > self.budget:
            older = self.now.instances[:-1]
            sizes = [max(map(abs, its)) for _, its in older]
            del self.now.instances[sizes.index(min(sizes))]
            self.gone.append(len(self.past))

    def read(self, scores: list[float], thresholds: list[float]) -> tuple[int, float]:
        """A rank from scores."""
        raise AssertionError("a subclass knows")

    def update(self, scores: list[float], y: int) -> Sequence[float] | None:
        """The coefficients of a round; None if it teaches nothing."""
        raise AssertionError("a subclass knows")


class PRank(Ordinal):
    """The perceptron that ranks."""

    def first(self) -> Model:
        return Model([{}], [0.0] * (self.ranks - 1))

    def read(self, scores: list[float], thresholds: list[float]) -> tuple[int, float]:
        below = [r for r, b in enumerate(thresholds, 1) if scores[0] - b < 0]
        return min(below, default=self.ranks), scores[0]

    def update(self, scores: list[float], y: int) -> Sequence[float] | None:
        if self.read(scores, self.now.thresholds)[0] == y:
            return None
        total = 0
        for r in range(1, self.ranks):
            y_r = -1 if y <= r else 1
            if (scores[0] - self.now.thresholds[r - 1]) * y_r <= 0:
                total += y_r
                self.now.thresholds[r - 1] -= y_r
        return [float(total)]


class WidrowHoff(Ordinal):
    """Regression on ranks as numbers."""

    def read(self, scores: list[float], thresholds: list[float]) -> tuple[int, float]:
        return min(self.ranks, max(1, math.floor(scores[0] + 0.5))), scores[0]

    def update(self, scores: list[float], y: int) -> Sequence[float] | None:
        return [-self.rate * (scores[0] - y)]


class Multiclass(Ordinal):
    """The multiclass perceptron, to which ranks are classes."""

    def first(self) -> Model:
        return Model([{} for _ in range(self.ranks)], [])

    def read(self, scores: list[float], thresholds: list[float]) -> tuple[int, float]:
        return scores.index(max(scores)) + 1, max(scores)

    def update(self, scores: list[float], y: int) -> Sequence[float] | None:
        wrong = [r for r in range(1, self.ranks + 1) if r != y and scores[r - 1] >= scores[y - 1]]
        if not wrong:
            return None
        coefficients = [-1 / len(wrong) if r in wrong else 0.0 for r in range(1, self.ranks + 1)]
        coefficients[y - 1] = 1.0
        return coefficients


LEARNERS: dict[str, type[Ordinal]] = {
    "prank": PRank,
    "widrow-hoff": WidrowHoff,
    "multiclass-perceptron": Multiclass,
}


# Measures


def tau_b(pairs: Sequence[tuple[int, int]]) -> float | None:
    """Kendall's tau-b of said and true ranks, pair by pair of documents."""
    cells = list(Counter(pairs).items())
    ordered = said_apart = true_apart = 0
    for i, ((predicted, true), count) in enumerate(cells):
        for (other_predicted, other_true), others in cells[:i]:
            apart, really = predicted - other_predicted, true - other_true
            ordered += count * others * ((apart * really > 0) - (apart * really < 0))
            said_apart += count * others * (apart != 0)
            true_apart += count * others * (really != 0)
    if not said_apart or not true_apart:
        return None
    return ordered / math.sqrt(said_apart * true_apart)


@dataclass
class OrdinalResult:
    """What one lane did."""

    learner: Ordinal
    rankings: list[dict[str, Any]] = field(default_factory=list)
    rounds: list[tuple[int, int]] = field(default_factory=list)  # said, true
    report: dict[str, Any] = field(default_factory=dict)

    def value(self, name: str, rounds: int) -> float | None:
        """A measure after so many rounds."""
        if not rounds:
            return None
        pairs = self.rounds[:rounds]
        if name == "tau_b":
            return tau_b(pairs[-WINDOW:])
        off = [abs(predicted - true) for predicted, true in pairs]
        return (sum(off) if name == "ranking_loss" else off.count(0)) / rounds


class OrdinalLane:
    """A learner, its vectors and its results."""

    def __init__(self, spec: str) -> None:
        kind, _, written = spec.partition(":")
        options = dict(pair.split("=") for pair in written.split(",") if pair)
        self.name = options.get("name", spec)
        self.unit = options.get("norm") == "l2"
        self.result = OrdinalResult(LEARNERS[kind](options))
        self.predicted: dict[str, int] = {}

    def rank(self, event: Event, x: Vector) -> None:
        """Say a rank, and remember it for the label."""
        rank, score = self.result.learner.say(unit(x) if self.unit else x)
        self.predicted[event["id"]] = rank
        self.result.rankings.append(
            {
                "id": event["id"],
                "lane": self.name,
                "round": len(self.result.rounds),
                "rank": rank,
                "score": score,
                "time": event.get("time"),
            }
        )

    def learn(self, document: str, x: Vector, rank: int) -> None:
        """Judge what was said, then learn."""
        self.result.rounds.append((self.predicted[document], rank))
        self.result.learner.learn(unit(x) if self.unit else x, rank)


def replay_ranks(events: Iterable[Event], lanes: Sequence[str]) -> dict[str, OrdinalResult]:
    """Replay valid events through ordinal lanes, which all have the same number of ranks."""
    weights = Weights()
    running = [OrdinalLane(spec) for spec in lanes]
    ranks = running[0].result.learner.ranks
    waiting: dict[str, Vector] = {}
    early: dict[str, int] = {}
    counts = Counter[str]()

    def label(document: str, rank: int) -> None:
        x = waiting.pop(document)
        for lane in running if rank <= ranks else ():
            lane.learn(document, x, rank)

    for event in events:
        document, rank = event["id"], event.get("rank")
        if not event.keys() & {"text", "title", "features"}:
            if rank is None:
                counts["ignored_labels"] += 1
            elif document in waiting:
                label(document, rank)
            else:
                early[document] = rank
            continue
        counts["superseded_documents"] += waiting.pop(document, None) is not None
        waiting[document] = weights.vector(event)
        for lane in running:
            lane.rank(event, waiting[document])
        before = early.pop(document, None)
        counts["unmatched_labels"] += before is not None and rank is not None
        rank = before if rank is None else rank
        if rank is not None:
            label(document, rank)

    for lane in running:
        result = lane.result
        result.report = {name: result.value(name, len(result.rounds)) for name in MEASURES}
        hits = result.report["hit_rate"]
        result.report |= {
            "miss_rate": None if hits is None else 1 - hits,
            "rounds": len(result.rounds),
            "rounds_with_topics": len(result.rounds),
            "documents": len(result.rankings),
            "vocabulary_terms": len(weights.names),
            "pending_documents": len(waiting),
            "superseded_documents": counts["superseded_documents"],
            "unmatched_labels": len(early) + counts["unmatched_labels"],
            "ignored_labels": counts["ignored_labels"],
        }
    return {lane.name: lane.result for lane in running}
