"""Twin of `pipeline/curves/decision_curve.py` and of the quality of topics, round by round."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import NamedTuple

from learners.slow.bounded_numbers import exponential
from learners.slow.decisions import SlowDecision, count_likely
from pipeline.curves import topic_quality, worst_documents
from pipeline.curves.decision_curve import BINS


class SlowRound(NamedTuple):
    """A learned document: what was decided about it, and what was true."""

    decision: SlowDecision
    relevant: Collection[int]
    known: int
    id: str


class SlowTopic:
    """What is known of one topic."""

    def __init__(self) -> None:
        self.assigned = self.right = self.relevant = self.first = self.last = self.used = 0
        self.lately = self.recent_right = self.recent_sizes = 0.0
        self.histogram = [[0, 0] for _ in range(topic_quality.BINS)]
        self.worst = [(0.0, 0, False)] * worst_documents.WORST

    @property
    def f1(self) -> float:
        """The F1 of the topic."""
        return 2.0 * self.right / (self.assigned + self.relevant)

    def add_recent(self, right: float, size: float) -> None:
        """A round in which the topic was assigned or relevant."""
        self.recent_right = topic_quality.KEEP * self.recent_right + right
        self.recent_sizes = topic_quality.KEEP * self.recent_sizes + size

    def keep_worst(self, wrong: float, round_: int, is_relevant: bool) -> None:
        """Keep a document that is more wrong than one of those that are kept."""
        fading = worst_documents.FADING
        counts = [error - fading * (round_ - when) for error, when, _ in self.worst]
        lowest = counts.index(min(counts))
        if wrong > worst_documents.LEAST_WRONG and wrong > counts[lowest]:
            self.worst[lowest] = (wrong, round_, is_relevant)


def f1_of(right: float, size: float, relevant: float) -> float:
    """The F1 of a set; 1 if nothing is assigned and nothing is relevant."""
    return 2.0 * right / (size + relevant) if size + relevant else 1.0


class SlowDecisionCurve:
    """Sums over rounds, and the quality of topics."""

    def __init__(self) -> None:
        self.rounds = self.right = self.assigned = self.relevant = self.reviewed = self.exact = 0
        self.decided = self.marked = 0
        self.f1 = self.trusted_f1 = self.hamming = self.brier = 0.0
        self.reliability = [[0.0, 0.0, 0.0] for _ in range(BINS)]
        self.review = [[0.0, 0.0, 0.0] for _ in range(BINS)]
        self.topics: defaultdict[int, SlowTopic] = defaultdict(SlowTopic)

    def decide(self, decision: SlowDecision) -> None:
        """Count a ranked document, which may be labelled later or never."""
        self.decided += 1
        self.marked += decision.review

    def add(self, one: SlowRound) -> None:
        """Add a learned document."""
        topics, _, likely, assigned, certainty, review = one.decision
        self.rounds += 1
        candidates = [*zip(topics, likely, assigned, strict=True)][: count_likely(likely)]
        brier, unlikely = 0.0, 0.0
        for topic, probability, _ in candidates:
            hit = topic in one.relevant
            off = probability - (1.0 if hit else 0.0)
            brier += off * off
            at = min(int(probability * BINS), BINS - 1)
            row = self.reliability[at]
            row[0], row[2] = row[0] + 1.0, row[2] + hit
            if at > 0:
                row[1] += probability
            else:  # those of a document are added up first
                unlikely += probability
        self.reliability[0][1] += unlikely
        chosen = {topic for topic, _, is_assigned in candidates if is_assigned}
        right, size = len(chosen & set(one.relevant)), len(chosen)
        missed = len(set(one.relevant) - {topic for topic, _, _ in candidates})
        f1 = f1_of(right, size, len(one.relevant))
        known = max(one.known, 1)
        self.right += right
        self.assigned += size
        self.relevant += len(one.relevant)
        self.f1 += f1
        self.exact += chosen == set(one.relevant)
        self.hamming += (size + len(one.relevant) - 2.0 * right) / known
        self.brier += (brier + missed) / known
        self.reviewed += review
        self.trusted_f1 += 0.0 if review else f1
        row = self.review[min(int(certainty * BINS), BINS - 1)]
        row[0], row[1], row[2] = row[0] + 1.0, row[1] + certainty, row[2] + f1
        self.add_topics(candidates, one.relevant)

    def is_in_use(self, topic: SlowTopic) -> bool:
        """Whether a topic was relevant or assigned in the last eighth of the rounds."""
        since = self.rounds - topic.used
        return since < self.rounds // 8 or since < topic_quality.ALWAYS_IN_USE

    def add_topics(
        self, candidates: list[tuple[int, float, bool]], relevant: Collection[int]
    ) -> None:
        """Add a round to the topics that were candidates, and to those that were relevant."""
        for topic, probability, is_assigned in candidates:
            known, hit = self.topics[topic], topic in relevant
            bins = topic_quality.BINS
            row = known.histogram[min(int(probability * bins), bins - 1)]
            row[0], row[1] = row[0] + 1, row[1] + hit
            known.assigned += is_assigned
            known.right += is_assigned and hit
            if is_assigned or hit:
                known.add_recent(float(is_assigned and hit), float(is_assigned) + hit)
                known.used = self.rounds
            known.keep_worst(1.0 - probability if hit else probability, self.rounds, hit)
        for topic in relevant:
            known = self.topics[topic]
            fade = exponential(topic_quality.FADING * (known.last - self.rounds))
            known.lately = known.lately * fade + 1.0
            known.relevant += 1
            known.first = known.first or self.rounds
            known.last = known.used = self.rounds
            if all(topic != other for other, _, _ in candidates):
                known.add_recent(0.0, 1.0)
                known.keep_worst(1.0, self.rounds, True)
