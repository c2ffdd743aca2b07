"""Twin of `learners/decisions`: the same rules, in plain Python, one document at a time."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

from learners.decisions import calibration as c
from learners.decisions import features as f
from learners.decisions import pairs as p
from learners.decisions import rules as r
from learners.decisions.goals import F1, MACRO, MICRO, PRECISION, RECALL, Goal
from learners.slow.bounded_numbers import faded, limited, logistic, total


class SlowDecision(NamedTuple):
    """What was decided about a document: one element per candidate, best score first."""

    topics: list[int]
    scores: list[float]
    probabilities: list[float]
    assigned: list[bool]
    certainty: float
    review: bool


# Features whose products are summed over candidates. The sums of all others follow from these.
SUMMED = (f.CONSTANT, f.SCORE, f.PAIRED, f.FIRST, f.HIGH, f.LOW)


class SlowDecider:
    """Decides about one document after the other, and learns from its labels."""

    def __init__(self, goal: Goal, risk: float) -> None:
        self.goal = goal
        self.risk = risk
        self.weights = [*c.START, *[0.0] * (f.FEATURES - len(c.START))]
        self.curvature = [[0.0] * f.FEATURES for _ in range(f.FEATURES)]
        self.gradient, self.pending_rounds = [0.0] * f.FEATURES, 0
        self.own: dict[int, list[float]] = {}  # per topic: intercept, slope, what is known of both
        self.pairs: dict[int, list[float]] = {}  # per slot: weight, what is known of it
        self.rounds, self.average, self.variance = 0.0, 0.0, 0.0
        self.right, self.sizes = r.FIRST_RIGHT, r.FIRST_SIZES
        self.relevant = self.found = self.outside = 0.0
        self.by_topic: dict[int, list[float]] = {}
        self.histogram = [[0.0, 0.0] for _ in range(r.BINS)]
        self.certainties = [[0.0, 0.0] for _ in range(r.CERTAINTY_BINS)]
        self.cut = r.FIRST_RECALL_THRESHOLD if goal.rule == RECALL else 1.0
        self.review_cut, self.cut_rounds = 1.0, 0

    def features(self, scores: Sequence[float]) -> list[list[float]]:
        """What describes each candidate."""
        is_rounding = self.variance <= c.ROUNDING * (self.average * self.average)
        unit = 1.0 if is_rounding else 1.0 / math.sqrt(self.variance)
        scaled = [
            limited((limited(score, c.MOST_SCORE) - self.average) * unit, c.MOST_SCALED)
            for score in scores
        ]
        mean = total(scaled) / max(len(scaled), 1)
        rows = []
        for place, score in enumerate(scaled):
            row = [0.0] * f.FEATURES
            row[f.CONSTANT], row[f.SCORE], row[f.MEAN] = 1.0, score, mean
            row[f.BELOW_BEST], row[f.FIRST] = scaled[0] - score, 1.0 if place == 0 else 0.0
            row[f.HIGH], row[f.LOW] = max(score - f.HIGH_FROM, 0.0), max(-score, 0.0)
            rows.append(row)
        return rows

    def logits(self, topics: Sequence[int], features: Sequence[Sequence[float]]) -> list[float]:
        """How likely candidates are relevant, on the logistic scale, each without the others."""
        weights, logits = self.weights, []
        slope = weights[f.SCORE] - weights[f.BELOW_BEST]
        for topic, row in zip(topics, features, strict=True):
            own = self.own.get(topic, [0.0] * c.TOPIC_COLUMNS)
            best = features[0][f.SCORE]
            for_all = (weights[f.CONSTANT] + weights[f.BELOW_BEST] * best) + (
                weights[f.MEAN] * row[f.MEAN]
            )
            logit = (for_all + own[c.INTERCEPT]) + (slope + own[c.SLOPE]) * row[f.SCORE]
            logit += weights[f.HIGH] * row[f.HIGH] + weights[f.LOW] * row[f.LOW]
            logit += weights[f.FIRST] * row[f.FIRST]
            logits.append(logit)
        return logits

    def probabilities(
        self, topics: Sequence[int], logits: Sequence[float], features: Sequence[list[float]]
    ) -> list[float]:
        """How likely candidates are, given the likely ones; completes their features."""
        likely = []
        for topic, logit, row in zip(topics, logits, features, strict=False):
            said = 0.0
            for slot, share in partners(topic, topics, logits):
                said += self.pairs.get(slot, [0.0, 0.0])[0] * share
            row[f.PAIRED] = limited(said, c.MOST_SCALED)
            both = logit + self.weights[f.PAIRED] * row[f.PAIRED]
            likely.append(logistic(both))
        return likely

    def decide(self, topics: Sequence[int], scores: Sequence[float]) -> SlowDecision:
        """Decide about a document with these candidates."""
        features = self.features(scores)
        logits = self.logits(topics, features)
        count = self.estimated(logits, c.ALWAYS_ESTIMATED)
        likely = self.probabilities(topics[:count], logits[:count], features)
        likely += [0.0] * (len(topics) - count)
        assigned = self.assigned(topics[:count], likely[:count])
        certainty = self.certainty(likely[:count], assigned)
        assigned += [False] * (len(topics) - count)
        review = self.risk > 0.0 and (certainty < self.review_cut or self.review_cut == 1.0)
        return SlowDecision([*topics], [*scores], likely, assigned, certainty, review)

    def estimated(self, logits: Sequence[float], least: int) -> int:
        """How many candidates get a probability."""
        places = range(least, len(logits))
        return next((place for place in places if logits[place] < c.LEAST_LOGIT), len(logits))

    def assigned(self, topics: Sequence[int], likely: Sequence[float]) -> list[bool]:
        """Which of the candidates are assigned."""
        rule = self.goal.rule
        if rule == F1:
            order = sorted(range(len(likely)), key=lambda place: -likely[place])
            relevant = self.outside + total(likely)
            right, best, taken = 0.0, 0.0, 0
            for i, place in enumerate(order):
                right += likely[place]
                if 2.0 * right / (i + 1 + relevant) > best:
                    best, taken = 2.0 * right / (i + 1 + relevant), i + 1
            return [place in order[:taken] for place in range(len(likely))]
        if rule == MACRO:
            cuts = []
            for topic in topics:
                right, sizes = self.by_topic.get(topic, [0.0, 0.0])
                first = r.TOPIC_ROUNDS * r.TOPIC_THRESHOLD
                cuts.append((right + first) / (sizes + r.TOPIC_ROUNDS))
        elif rule == MICRO:
            cuts = [self.right / self.sizes] * len(topics)
        else:
            cuts = [self.cut] * len(topics)
        return [one >= cut for one, cut in zip(likely, cuts, strict=True)]

    def certainty(self, likely: Sequence[float], assigned: Sequence[bool]) -> float:
        """The expected F1 of an assigned set."""
        if not likely:
            return 0.0
        right, none = 0.0, 1.0
        for one, chosen in zip(likely, assigned, strict=True):
            none *= 1.0 - one
            right += one if chosen else 0.0
        size = sum(assigned)
        return min(2.0 * right / (size + (self.outside + total(likely))), 1.0) if size else none

    def learn(self, made: SlowDecision, labels: Collection[int]) -> None:
        """Learn from a document that was decided about, now that its topics are known."""
        count = count_likely(made.probabilities)
        hits = [topic in labels for topic in made.topics[:count]]
        likely: list[float] = []
        if hits:
            features = self.features(made.scores)
            logits = self.logits(made.topics, features)
            described = self.estimated(logits, count)
            topics, logits = made.topics[:described], logits[:described]
            likely = self.probabilities(topics, logits, features)
            if self.rounds >= c.SCALE_ROUNDS:
                self.calibrate(topics, hits, features, logits, likely)
            self.learn_scale(made.scores)
        self.count(made, hits, likely, labels)

    def calibrate(
        self, topics: Sequence[int], hits: Sequence[bool], features: Sequence[Sequence[float]],
        logits: Sequence[float], likely: Sequence[float],
    ) -> None:  # fmt: skip
        """Learn what was right; take a step if enough rounds have come together."""
        errors, slopes = [0.0] * f.FEATURES, [[0.0] * f.FEATURES for _ in range(f.FEATURES)]
        learned = list[tuple[int, float, float]]()
        for topic, row, one, hit in zip(topics, features, likely, hits, strict=False):
            steep = max(one * (1.0 - one), c.LEAST_CURVATURE)
            off = (1.0 if hit else 0.0) - one
            for i in SUMMED:
                errors[i] += off * row[i]
                for k in SUMMED:
                    slopes[i][k] += (steep * row[min(i, k)]) * row[max(i, k)]
            slopes[f.BELOW_BEST][f.BELOW_BEST] += (steep * row[f.BELOW_BEST]) * row[f.BELOW_BEST]
            self.learn_topic(topic, row[f.SCORE], steep, off)
            learned.append((topic, steep, off))
        self.learn_pairs(learned, topics, logits)
        complete(errors, slopes, features[0][f.SCORE], features[0][f.MEAN])
        for i in range(f.FEATURES):
            self.gradient[i] += errors[i]
            for k in range(i, f.FEATURES):
                self.curvature[i][k] += slopes[i][k]
        self.pending_rounds += 1
        if self.pending_rounds == c.STEP_ROUNDS:
            for i, step in enumerate(solved(self.curvature, self.gradient)):
                self.weights[i] += limited(step, c.MOST_STEP)
            self.curvature = [[faded(part, c.KEEP) for part in row] for row in self.curvature]
            self.gradient, self.pending_rounds = [0.0] * f.FEATURES, 0

    def learn_topic(self, topic: int, score: float, steep: float, off: float) -> None:
        """Move what a topic has of its own."""
        own = self.own.setdefault(topic, [0.0] * c.TOPIC_COLUMNS)
        intercept, slope = c.INTERCEPT_PRIOR - own[2], c.SLOPE_PRIOR - own[3]
        shrink = 1.0 / (1.0 + steep * (intercept + slope * (score * score)))
        own[0] = limited(own[0] + (intercept * off) * shrink, c.MOST_WEIGHT)
        own[1] = limited(own[1] + ((slope * score) * off) * shrink, c.MOST_WEIGHT)
        less = steep * shrink
        intercept *= 1.0 - intercept * less
        slope *= 1.0 - (slope * (score * score)) * less
        intercept += c.TOPIC_NOISE * c.INTERCEPT_PRIOR
        slope += c.TOPIC_NOISE * c.SLOPE_PRIOR
        own[2], own[3] = max(c.INTERCEPT_PRIOR - intercept, 0.0), max(c.SLOPE_PRIOR - slope, 0.0)

    def learn_pairs(
        self, learned: Sequence[tuple[int, float, float]], topics: Sequence[int],
        logits: Sequence[float],
    ) -> None:  # fmt: skip
        """Move the weights of the pairs of candidates and likely ones.

        Of each candidate there are its topic, the slope of the logistic curve, and the error.
        """
        shrinks = []
        for topic, steep, _ in learned:
            spread = 0.0
            for slot, share in partners(topic, topics, logits):
                spread += (p.PAIR_PRIOR - self.pairs.get(slot, [0.0, 0.0])[1]) * (share * share)
            shrinks.append(1.0 / (1.0 + steep * spread))
        for other, logit in zip(topics, logits, strict=True):
            for (topic, steep, off), shrink in zip(learned, shrinks, strict=True):
                if topic == other or logit < p.LIKELY_LOGIT:
                    continue
                slot, share = slot_of(topic, other), logistic(logit)
                weight, known = self.pairs.get(slot, [0.0, 0.0])
                variance = p.PAIR_PRIOR - known
                weight = limited(weight + ((variance * share) * off) * shrink, p.MOST_PAIR_WEIGHT)
                variance *= 1.0 - (variance * (share * share)) * (steep * shrink)
                variance += p.PAIR_NOISE * p.PAIR_PRIOR
                self.pairs[slot] = [weight, max(p.PAIR_PRIOR - variance, 0.0)]

    def learn_scale(self, scores: Sequence[float]) -> None:
        """Add the scores of a document to the statistics of recent scores."""
        share = max(1.0 / (self.rounds + 1.0), c.RECENT)
        raw = [limited(score, c.MOST_SCORE) for score in scores]
        mean = limited(total(raw) / len(raw), c.MOST_SCORE)
        square = total([(score - mean) * (score - mean) for score in raw])
        distance = mean - self.average
        self.rounds += 1.0
        self.average = limited(self.average + share * distance, c.MOST_SCORE)
        spread = self.variance + share * (distance * distance)
        self.variance = (1.0 - share) * spread + share * (square / len(scores))

    def count(
        self, made: SlowDecision, hits: Sequence[bool], likely: Sequence[float],
        labels: Collection[int],
    ) -> None:  # fmt: skip
        """Add a round to what the rules know."""
        rule = self.goal.rule
        keep = 1.0 - (r.FORGET_FOR_MICRO if rule == MICRO else r.FORGET)
        if rule in (PRECISION, RECALL):
            for one, hit in zip(likely, hits, strict=False):
                row = self.histogram[min(int(one * r.BINS), r.BINS - 1)]
                row[0] += 1.0
                row[1] += float(hit)
        right = float(sum(a and hit for a, hit in zip(made.assigned, hits, strict=False)))
        size = float(sum(made.assigned))
        for topic, chosen, hit in zip(made.topics, made.assigned, hits, strict=False):
            if chosen:
                self.count_topic(topic, float(hit))
        for topic in labels:
            self.count_topic(topic, 0.0)
        if size + len(labels):
            self.right = faded(self.right, keep) + right
            self.sizes = faded(self.sizes, keep) + (size + len(labels))
            self.relevant = faded(self.relevant, keep) + len(labels)
            self.found = faded(self.found, keep) + right
        self.outside += r.FORGET_OUTSIDE * ((len(labels) - float(sum(hits))) - self.outside)
        if self.risk > 0.0:
            row = self.certainties[
                min(int(made.certainty * r.CERTAINTY_BINS), r.CERTAINTY_BINS - 1)
            ]
            row[0] += 1.0
            row[1] += 2.0 * right / (size + len(labels)) if size + len(labels) else 1.0
        self.cut_rounds += 1
        if self.cut_rounds == r.CUT_ROUNDS:
            self.cut_rounds = 0
            self.read_histograms()

    def read_histograms(self) -> None:
        """Find the cuts of the rules that need a histogram, and let the histograms fade."""
        rule, level = self.goal
        if rule == PRECISION:
            self.cut = cut_for_mean(self.histogram, level)
        elif rule == RECALL and self.relevant > 0.0:
            wanted = (level + (level - self.found / self.relevant)) * self.relevant
            self.cut = cut_for_sum(self.histogram, wanted)
        if self.risk > 0.0:
            self.review_cut = cut_for_mean(self.certainties, 1.0 - self.risk)
        keep = r.HISTOGRAM_KEEP
        self.histogram = [[faded(part, keep) for part in row] for row in self.histogram]
        self.certainties = [[faded(part, keep) for part in row] for row in self.certainties]

    def count_topic(self, topic: int, right: float) -> None:
        """Count that a topic was assigned, rightly or not, or that it was relevant."""
        keep = 1.0 - r.FORGET
        known = self.by_topic.get(topic, [0.0, 0.0])
        self.by_topic[topic] = [faded(known[0], keep) + right, known[1] * keep + 1.0]


def complete(errors: list[float], slopes: list[list[float]], best: float, mean: float) -> None:
    """Fill in the sums that follow from others, which are in rows and columns of `SUMMED`."""
    # A high score is HIGH_FROM above what it is high by, and a low one is minus what it is low by.
    slopes[f.SCORE][f.HIGH] = slopes[f.HIGH][f.HIGH] + f.HIGH_FROM * slopes[f.CONSTANT][f.HIGH]
    slopes[f.SCORE][f.LOW] = -slopes[f.LOW][f.LOW]
    for i in (f.CONSTANT, f.SCORE, f.PAIRED, f.HIGH, f.LOW):
        with_score = slopes[min(i, f.SCORE)][max(i, f.SCORE)]
        below = best * slopes[f.CONSTANT][i] - with_score
        slopes[i][f.BELOW_BEST] = slopes[f.BELOW_BEST][i] = below
    errors[f.BELOW_BEST] = best * errors[f.CONSTANT] - errors[f.SCORE]
    errors[f.MEAN] = mean * errors[f.CONSTANT]
    for i in range(f.FEATURES):
        slopes[i][f.MEAN] = mean * slopes[f.CONSTANT][i]


def partners(topic: int, topics: Sequence[int], logits: Sequence[float]) -> list[tuple[int, float]]:
    """The slots of a topic's pairs with other likely candidates, and how likely these are."""
    return [
        (slot_of(topic, other), logistic(logit))
        for other, logit in zip(topics, logits, strict=True)
        if other != topic and logit >= p.LIKELY_LOGIT
    ]


def slot_of(topic: int, other: int) -> int:
    """Where the numbers of a pair of topics are."""
    larger = max(topic, other)
    return (larger * larger + (other if topic == larger else larger + topic)) % p.MOST_PAIRS


def count_likely(likely: Sequence[float]) -> int:
    """How many candidates have a probability."""
    return sum(one > 0.0 for one in likely)


def cut_for_mean(histogram: Sequence[Sequence[float]], wanted: float) -> float:
    """The lowest number from which on the mean is as high as wanted; 1 if it is nowhere."""
    count, total, best = 0.0, 0.0, len(histogram)
    for i in reversed(range(len(histogram))):
        count += histogram[i][0]
        total += histogram[i][1]
        if count > 0.0 and total >= wanted * (count + r.DOUBT):
            best = i
    return best / len(histogram)


def cut_for_sum(histogram: Sequence[Sequence[float]], wanted: float) -> float:
    """The highest number from which on the sum is as high as wanted; 0 if it is nowhere."""
    total, best = 0.0, len(histogram)
    while best > 0 and total < wanted:
        best -= 1
        total += histogram[best][1]
    return best / len(histogram)


def solved(curvature: Sequence[Sequence[float]], gradient: Sequence[float]) -> list[float]:
    """Divide a vector by the curvature plus the ridge."""
    size = len(gradient)
    rows = [[*row] for row in curvature]
    step = list(gradient)
    for i in range(size):
        rows[i][i] += c.RIDGE
    for i in range(size):
        rows[i][i] = 1.0 / max(rows[i][i], c.LEAST_CURVATURE)
        for k in range(i + 1, size):
            share = rows[i][k] * rows[i][i]
            step[k] -= share * step[i]
            for j in range(k, size):
                rows[k][j] -= share * rows[i][j]
    for i in reversed(range(size)):
        for j in range(i + 1, size):
            step[i] -= rows[i][j] * step[j]
        step[i] *= rows[i][i]
    return step
