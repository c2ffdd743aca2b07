"""The experiment mmp-reuters21578 computed plainly: vectors, folds, selection and measures.

Everything is computed from its description; learners and measures are those of
`tests.reference.stream`. The only part of the product in it is the plain twin of the stacker.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from learners.slow.stacker import SlowStacker
from tests.reference.prototypes import Rocchio
from tests.reference.stream import LEARNERS, AnyLearner, mean, measure, order
from tests.reference.vectors import Vector, unit
from tests.support.reuters_sgml import story, write_stories

sklearn_svm = pytest.importorskip("sklearn.svm", reason="pip install 'wirerank[experiments]'")

TOPICS = ("acq", "corn", "earn", "grain", "ship")  # in the order of their numbers
STOPPED = ("the", "of", "and")
STORIES = 70
SEED = 4
MEASURES = (
    "loss1", "loss2", "loss3", "one_error", "coverage", "average_precision", "max_f1",
)  # fmt: skip


class Tale(NamedTuple):
    title: list[str]
    body: list[str]
    topics: list[str]


@cache
def tales() -> list[Tale]:
    """Every topic has words of its own; many are seen once, so that a selection cuts some off."""
    rng = random.Random(6)

    def some(topics: Sequence[str], count: int) -> list[str]:
        words = [f"{rng.choice(topics)}{letters(int(rng.paretovariate(0.4)) % 180)}"
                 for _ in range(count)]  # fmt: skip
        common = [f"word{letters(rng.randrange(30))}" for _ in range(count // 3)]
        words += [*common, rng.choice(STOPPED), str(rng.randrange(100))]
        rng.shuffle(words)
        return words

    collected = []
    for number in range(STORIES):
        topics = rng.sample(TOPICS, rng.choice((1, 1, 1, 2, 3)))
        if number == 0:
            topics = ["corn", "grain"]
        heard = topics if rng.random() < 0.8 else [rng.choice(TOPICS)]
        collected.append(Tale(some(heard, 4), some(heard, rng.randrange(9, 40)), topics))
    return collected


def letters(number: int) -> str:
    return chr(97 + number // 26) + chr(97 + number % 26)


def write_wire(folder: Path) -> Path:
    """The tales, and stories that have no part in the experiment."""
    stories = [
        story(
            number,
            labels=(*tale.topics, *(["only-here"] if number == 4 else [])),
            split="TEST" if number % 3 == 0 else "TRAIN",
            text=f"<TEXT><TITLE>{' '.join(tale.title).upper()}</TITLE>"
            f"<BODY>{', '.join(tale.body)}.</BODY></TEXT>",
        )
        for number, tale in enumerate(tales(), 1)
    ]
    stories.append(story(901, labels=("only-here",)))  # a topic of the training half alone
    stories.append(story(902, labels=("earn",), split="NOT-USED"))
    stories.append(story(903, labels=("earn",), topics="NO"))
    stories.append(story(904))
    return write_stories(folder / "reuters21578", *stories)


def terms(tale: Tale, enriched: bool) -> list[str]:
    words = tale.title + tale.body
    more = []
    if enriched:
        more += tale.title
        more += [f"of the headline {word}" for word in tale.title if not word.isdigit()]
        more += [f"stem {word[:5]}" for word in words if not word.isdigit() and len(word) > 5]
    kept = [word for word in words + more if word not in STOPPED]
    return ["number" if word.isdigit() else word for word in kept]


class Division(NamedTuple):
    train: list[Vector]
    train_topics: list[list[int]]
    test: list[Vector]
    test_topics: list[list[int]]

    def held_out(self) -> Division:
        cut = round(0.8 * len(self.train))
        return Division(
            self.train[:cut], self.train_topics[:cut], self.train[cut:], self.train_topics[cut:]
        )


def folded(fold: int) -> tuple[list[int], list[int]]:
    shuffled = np.random.default_rng([SEED, 0]).permutation(STORIES)
    test = shuffled[fold::5]
    rest = np.array([number for place, number in enumerate(shuffled) if place % 5 != fold])
    return np.random.default_rng([SEED, 0, fold]).permutation(rest).tolist(), test.tolist()


def division(fold: int, vectors: str) -> Division:
    train, test = folded(fold)
    enriched = vectors == "enriched"
    least = 2 if enriched else 1
    texts = {number: Counter(terms(tales()[number], enriched)) for number in (*train, *test)}
    frequency = Counter(term for number in train for term in texts[number])
    kept = {term for term, count in frequency.items() if count >= least}
    # What the pivot counts: when a document came, a term was kept once it had come often enough.
    seen: Counter[str] = Counter()
    distinct = 0
    for number in train:
        seen.update(texts[number].keys())
        distinct += sum(seen[term] >= least for term in texts[number])
    pivot = distinct / len(train)

    def vector(number: int) -> Vector:
        counts = {term: count for term, count in texts[number].items() if term in kept}
        average = sum(counts.values()) / len(counts)
        length = 0.7 + 0.3 * len(counts) / pivot
        return {
            term: (1 + math.log(count))
            / (1 + math.log(average))
            / length
            * math.log(len(train) / frequency[term])
            for term, count in counts.items()
        }

    def topics(numbers: list[int]) -> list[list[int]]:
        return [[TOPICS.index(name) for name in tales()[number].topics] for number in numbers]

    actual = Division(
        [vector(number) for number in train], topics(train),
        [vector(number) for number in test], topics(test),
    )  # fmt: skip
    return selected(actual) if vectors == "selected" else actual


def selected(whole: Division) -> Division:
    """Of each topic the 100 terms to which Rocchio gives the greatest weights; ties by age."""
    rocchio = Rocchio({})
    rocchio.seen = list(zip(whole.train, whole.train_topics, strict=True))
    ages = {term: age for age, term in enumerate(dict.fromkeys(t for x in whole.train for t in x))}
    chosen: set[str] = set()
    for topic in range(len(TOPICS)):
        weights = rocchio.prototype(topic)
        assert len(weights) > 100
        # Weights of the same terms and documents differ by rounding alone.
        ranked = sorted(weights, key=lambda term: (-round(weights[term], 12), ages[term]))
        chosen.update(ranked[:100])

    def cut(vectors: list[Vector]) -> list[Vector]:
        return [{term: x[term] for term in x if term in chosen} for x in vectors]

    assert len(chosen) < len(ages)
    return whole._replace(train=cut(whole.train), test=cut(whole.test))


def measured(ranked: list[list[float]], topics: list[list[int]]) -> dict[str, Any]:
    """The measures, with precision and recall at each rank."""
    each = [measure(scores, set(relevant)) for scores, relevant in zip(ranked, topics, strict=True)]
    actual: dict[str, Any] = {name: mean(one[name] for one in each) for name in MEASURES[:-1]}
    precision, recall = [], []
    for r in range(1, len(TOPICS) + 1):
        hits = [
            len(set(relevant) & set(order(scores)[:r]))
            for scores, relevant in zip(ranked, topics, strict=True)
        ]
        precision.append(sum(hits) / r / len(hits))
        recall.append(
            sum(hit / len(relevant) for hit, relevant in zip(hits, topics, strict=True)) / len(hits)
        )
    f1 = [2 * p * r / (p + r) for p, r in zip(precision, recall, strict=True)]
    return {**actual, "max_f1": max(f1), "precision": precision, "recall": recall}


def scaled(x: Vector, norm: str) -> Vector:
    return unit(x) if norm == "l2" else x


class Pass(NamedTuple):
    learned: list[list[float]]  # the scores of training documents, each before it was learned
    tested: list[list[float]]


def options_in(spec: str) -> tuple[str, dict[str, str]]:
    kind, _, written = spec.partition(":")
    return kind, dict(pair.split("=") for pair in written.split(",") if pair)


def lane_pass(spec: str, given: Division) -> Pass:
    kind, options = options_in(spec)
    norm = options.pop("norm", "l2" if kind == "arow" else "none")
    learner: AnyLearner = LEARNERS[kind](options)
    learner.join(len(TOPICS))
    learned = []
    for x, relevant in zip(given.train, given.train_topics, strict=True):
        learned.append(learner.scores(scaled(x, norm)))
        learner.learn(scaled(x, norm), relevant)
    if isinstance(learner, Rocchio):
        learner.prototypes = [learner.prototype(topic) for topic in range(len(TOPICS))]
    return Pass(learned, [learner.scores(scaled(x, norm)) for x in given.test])


def stacker_pass(spec: str, lanes: Sequence[str], given: Division) -> Pass:
    _, options = options_in(spec)
    refit, window = int(options["refit"]), int(options["window"])
    proof = float(options["proof"]) if "proof" in options else 1.0
    stacker = SlowStacker(len(lanes), refit, window, cost=10.0, depth=10, proof=proof)
    passes = [lane_pass(lane, given) for lane in lanes]
    learned = []
    for row, topics in enumerate(given.train_topics):
        combined = [one.learned[row] for one in passes]
        learned.append(stacker.score(combined))
        stacker.learn(combined, topics)
    assert stacker.probation is not None or len(given.train) < refit
    tested = [[one.tested[row] for one in passes] for row in range(len(given.test))]
    return Pass(learned, [stacker.score(combined) for combined in tested])


def one_pass(
    spec: str, lanes: Sequence[str], given: Division
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The measures of the test documents, and the round-averaged losses of training."""
    stacks = spec.startswith("svm-map")
    scores = stacker_pass(spec, lanes, given) if stacks else lane_pass(spec, given)
    rounds = [
        measure(row, set(topics))
        for row, topics in zip(scores.learned, given.train_topics, strict=True)
    ]
    sums = np.cumsum([[one[loss] or 0.0 for loss in MEASURES[:3]] for one in rounds], axis=0)
    curve = [dict(zip(MEASURES[:3], row / n, strict=True)) for n, row in enumerate(sums, 1)]
    return measured(scores.tested, given.test_topics), curve


def machines(cost: float, given: Division) -> dict[str, Any]:
    names = sorted({term for x in (*given.train, *given.test) for term in x})
    train, test = (
        np.array([[unit(x).get(name, 0.0) for name in names] for x in part])
        for part in (given.train, given.test)
    )
    scores = []
    for topic in range(len(TOPICS)):
        wanted = [topic in relevant for relevant in given.train_topics]
        machine = sklearn_svm.LinearSVC(C=cost, max_iter=100_000, tol=1e-10, random_state=1)
        scores.append(machine.fit(train, wanted).decision_function(test))
    return measured(np.array(scores).T.tolist(), given.test_topics)
