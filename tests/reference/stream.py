"""The whole path from events to rankings and losses once more, in plain Python.

Written from the formulas and the contract alone, for the tests to hold the product against. It is
slow and keeps everything: there are no blocks, no kernels and no ceilings.

Where the contract leaves a choice open, this is how it is read here:

- Statistics run over text documents only, those without a single term included. Documents with
  `features` have no part in them.
- Loss of a round: over all topics known when the label is used. A topic that the emitted ranking
  lacks had a zero prototype then, so it joins with score zero.
- A label that comes before its document waits for it. Its topics are discovered when it is used,
  after the ranking of its document.
- OneErr, Coverage, AvgP, precision and recall do not exist without relevant topics: they are
  averaged over the rounds that have some. The losses are averaged over all rounds.
- Those six, precision and recall count topics that joined after the ranking with the score 0, as
  the losses do. But an empty ranking shows nothing at any rank: it has no hit, and adds nothing to
  AvgP, precision or recall. Coverage is the number of topics to go through beyond the first before
  all relevant ones have been seen: if the list does not show them, it is the number of topics there
  are by then, which no ranking that has them can reach.
- Precision at an r past the last rank: nothing more is found there, so it is hits / r.
- Rocchio: a topic without a document keeps its zero prototype; where every document has the topic,
  the mean of the others counts as zero.
- In an index lane a topic of score zero was not retrieved: no hit for r1, r5 and mrr.
- `average` ranks by the mean of the prototypes after each of the rounds so far; learning looks at
  the newest prototypes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.reference.arow import Arow
from tests.reference.index import FeatureFocus, Independent, Index
from tests.reference.prototypes import Frequency, Learner, Mmp, Perceptron, Rocchio
from tests.reference.vectors import Event, Vector, Weights, unit

OF_TOPICS = ("one_error", "coverage", "average_precision", "r1", "r5", "mrr")
MEASURES = ("loss1", "loss2", "loss3", *OF_TOPICS)

AnyLearner = Arow | Learner | FeatureFocus | Independent
LEARNERS: dict[str, type[AnyLearner]] = {
    "arow": Arow,
    "mmp": Mmp,
    "perceptron": Perceptron,
    "rocchio": Rocchio,
    "frequency": Frequency,
    "feature-focus": FeatureFocus,
    "independent": Independent,
}


# Measures


def order(scores: Sequence[float]) -> list[int]:
    """Topics, best first; ties by topic index."""
    return sorted(range(len(scores)), key=lambda topic: (-scores[topic], topic))


def measure(
    scores: Sequence[float], relevant: set[int], ranked: Sequence[float] | None = None
) -> dict[str, float | None]:
    """All measures of one round; None is what does not exist.

    `ranked` are the scores of the topics in the ranking: by default all, none if it was empty.
    """
    others = [s for s in range(len(scores)) if s not in relevant]
    errors = sum(scores[r] <= scores[s] for r in relevant for s in others)
    pairs = len(relevant) * len(others)
    measured: dict[str, float | None] = dict.fromkeys(MEASURES)
    measured |= {
        "loss1": float(errors > 0),
        "loss2": float(errors),
        "loss3": errors / pairs if pairs else 0.0,
    }
    if relevant:
        best_first = order(scores if ranked is None else ranked)
        ranks = [rank for rank, topic in enumerate(best_first, 1) if topic in relevant]
        lacking = len(relevant) - len(ranks)
        precisions = [hits / rank for hits, rank in enumerate(ranks, 1)] + [0.0] * lacking
        measured |= {
            "one_error": float(1 not in ranks),
            "coverage": float(len(scores) if lacking else ranks[-1] - 1),
            "average_precision": mean(precisions),
            "r1": float(1 in ranks),
            "r5": float(any(rank <= 5 for rank in ranks)),
            "mrr": max((1 / rank for rank in ranks), default=0.0),
        }
    return measured


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of what exists."""
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else None


# The replay


@dataclass
class Result:
    """What one lane did, and what it has learned."""

    learner: AnyLearner
    rankings: list[dict[str, Any]] = field(default_factory=list)
    rounds: list[dict[str, float | None]] = field(default_factory=list)
    report: dict[str, Any] = field(default_factory=dict)

    def curve(self, name: str) -> list[float | None]:
        """The round-averaged value of a measure after round 1, 2, ..."""
        points: list[float | None] = []
        total, there = 0.0, 0
        for one in self.rounds:
            value = one[name]
            if value is not None:
                total += value
                there += 1
            points.append(total / there if there else None)
        return points


class Lane:
    """A learner, its vectors and its results."""

    def __init__(self, spec: str) -> None:
        kind, _, written = spec.partition(":")
        options = dict(pair.split("=") for pair in written.split(",") if pair)
        self.name: str = options.get("name", spec)
        self.learner = LEARNERS[kind](options)
        self.unit = (
            options.get("norm", "l2" if kind in ("arow", "feature-focus") else "none") == "l2"
        )
        self.result = Result(self.learner)
        self.emitted: dict[str, list[float]] = {}
        self.judged: list[tuple[list[float], set[int]]] = []

    def rank(self, event: Event, x: Vector, topics: list[str]) -> None:
        """Emit a ranking, and remember its scores for the label."""
        self.learner.join(len(topics))
        scores = self.learner.scores(unit(x) if self.unit else x)
        self.emitted[event["id"]] = scores
        self.result.rankings.append(
            {
                "id": event["id"],
                "lane": self.name,
                "round": len(self.result.rounds),
                "ranking": [{"topic": topics[t], "score": scores[t]} for t in order(scores)],
                "time": event.get("time"),
            }
        )

    def learn(self, document: str, x: Vector, listed: Sequence[int], topics: int) -> None:
        """Score the emitted ranking, then learn with the model of now."""
        emitted = self.emitted.pop(document)
        scores = emitted + [0.0] * (topics - len(emitted))
        relevant = set(listed)
        judged = scores if emitted else []
        measured = measure(scores, relevant, judged)
        retrieved = any(scores[r] > 0 for r in relevant) or not isinstance(self.learner, Index)
        if relevant and not retrieved:
            measured |= {"r1": 0.0, "r5": 0.0, "mrr": 0.0}
        self.result.rounds.append(measured)
        self.judged.append((judged, relevant))
        self.learner.join(topics)
        self.learner.learn(unit(x) if self.unit else x, listed)

    def conclude(self, topics: int) -> None:
        """Fill in the report."""
        report = self.result.report
        report |= {"rounds": len(self.result.rounds), "documents": len(self.result.rankings)}
        report["topics"] = topics
        for name in MEASURES:
            report[name] = mean(one[name] for one in self.result.rounds)
        report["harmonic_rank"] = 1 / report["mrr"] if report["mrr"] else None
        judged = [(order(ranked), relevant) for ranked, relevant in self.judged if relevant]
        report["rounds_with_topics"] = len(judged)
        points: list[tuple[float, float]] = []
        for r in range(1, topics + 1):
            hits = [(len(relevant & set(ranking[:r])), relevant) for ranking, relevant in judged]
            precision = mean(hit / r for hit, _ in hits)
            recall = mean(hit / len(relevant) for hit, relevant in hits)
            if precision is not None and recall is not None:
                points.append((precision, recall))
        report["precision"] = [p for p, _ in points] or None
        report["recall"] = [r for _, r in points] or None
        f1 = [2 * p * r / (p + r) if p + r else 0.0 for p, r in points]
        report["max_f1"] = max(f1, default=None)


def replay(
    events: Iterable[Event], lanes: Sequence[str], topics: Sequence[str] = ()
) -> dict[str, Result]:
    """Replay valid events through lanes; every id belongs to one document and at most one label."""
    weights = Weights()
    running = [Lane(spec) for spec in lanes]
    known = list(dict.fromkeys(topics))
    waiting: dict[str, Vector] = {}
    early: dict[str, list[str]] = {}

    def label(document: str, names: list[str]) -> None:
        x = waiting.pop(document)
        known.extend(name for name in dict.fromkeys(names) if name not in known)
        listed = [known.index(name) for name in dict.fromkeys(names)]
        for lane in running:
            lane.learn(document, x, listed, len(known))

    for event in events:
        document = event["id"]
        if not event.keys() & {"text", "title", "features"}:
            if document in waiting:
                label(document, event["topics"])
            else:
                early[document] = event["topics"]
            continue
        waiting[document] = weights.vector(event)
        for lane in running:
            lane.rank(event, waiting[document], known)
        if "topics" in event:
            label(document, event["topics"])
        elif document in early:
            label(document, early.pop(document))

    for lane in running:
        lane.conclude(len(known))
        lane.result.report |= {
            "vocabulary_terms": len(weights.names),
            "pending_documents": len(waiting),
            "unmatched_labels": len(early),
        }
    return {lane.name: lane.result for lane in running}
