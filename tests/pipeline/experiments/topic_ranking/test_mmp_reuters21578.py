"""`wirerank experiment mmp-reuters21578` on a small wire, against a plain computation of its own.

Vectors, folds, selection and choices are computed here from their description; learners and
measures are those of `tests.reference.stream`. Nothing of the product has a part in it but the
plain twin of the stacker.
"""

from __future__ import annotations

import math
import random
import shutil
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
import pytest

from learners.slow.stacker import SlowStacker
from pipeline.experiments.topic_ranking.fold_training import train_lane
from pipeline.experiments.topic_ranking.folds import text_fold
from pipeline.experiments.topic_ranking.mmp_reuters21578 import COMBINED
from tests.pipeline.corpora import test_reuters21578 as sgml
from tests.reference.stream import (
    LEARNERS,
    AnyLearner,
    Rocchio,
    Vector,
    mean,
    measure,
    order,
    unit,
)
from tests.support.command_line import wirerank

pytest.importorskip("matplotlib", reason="pip install 'wirerank[experiments]'")
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

    found = []
    for number in range(STORIES):
        topics = rng.sample(TOPICS, rng.choice((1, 1, 1, 2, 3)))
        if number == 0:
            topics = ["corn", "grain"]
        heard = topics if rng.random() < 0.8 else [rng.choice(TOPICS)]
        found.append(Tale(some(heard, 4), some(heard, rng.randrange(9, 40)), topics))
    return found


def letters(number: int) -> str:
    return chr(97 + number // 26) + chr(97 + number % 26)


def write_wire(folder: Path) -> Path:
    """The tales, and stories that have no part in the experiment."""
    stories = [
        sgml.story(
            number,
            labels=(*tale.topics, *(["only-here"] if number == 4 else [])),
            split="TEST" if number % 3 == 0 else "TRAIN",
            text=f"<TEXT><TITLE>{' '.join(tale.title).upper()}</TITLE>"
            f"<BODY>{', '.join(tale.body)}.</BODY></TEXT>",
        )
        for number, tale in enumerate(tales(), 1)
    ]
    stories.append(sgml.story(901, labels=("only-here",)))  # a topic of the training half alone
    stories.append(sgml.story(902, labels=("earn",), split="NOT-USED"))
    stories.append(sgml.story(903, labels=("earn",), topics="NO"))
    stories.append(sgml.story(904))
    return sgml.write(folder / "reuters21578", *stories)


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

    found = Division(
        [vector(number) for number in train], topics(train),
        [vector(number) for number in test], topics(test),
    )  # fmt: skip
    return selected(found) if vectors == "selected" else found


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
    each = [measure(scores, set(mine)) for scores, mine in zip(ranked, topics, strict=True)]
    found: dict[str, Any] = {name: mean(one[name] for one in each) for name in MEASURES[:-1]}
    precision, recall = [], []
    for r in range(1, len(TOPICS) + 1):
        hits = [
            len(set(mine) & set(order(scores)[:r]))
            for scores, mine in zip(ranked, topics, strict=True)
        ]
        precision.append(sum(hits) / r / len(hits))
        recall.append(
            sum(hit / len(mine) for hit, mine in zip(hits, topics, strict=True)) / len(hits)
        )
    f1 = [2 * p * r / (p + r) for p, r in zip(precision, recall, strict=True)]
    return {**found, "max_f1": max(f1), "precision": precision, "recall": recall}


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
    for x, mine in zip(given.train, given.train_topics, strict=True):
        learned.append(learner.scores(scaled(x, norm)))
        learner.learn(scaled(x, norm), mine)
    if isinstance(learner, Rocchio):
        learner.prototypes = [learner.prototype(topic) for topic in range(len(TOPICS))]
    return Pass(learned, [learner.scores(scaled(x, norm)) for x in given.test])


def stacker_pass(spec: str, lanes: Sequence[str], given: Division) -> Pass:
    _, options = options_in(spec)
    refit, window = int(options["refit"]), int(options["window"])
    stacker = SlowStacker(len(lanes), refit, window, cost=1000.0, depth=10)
    passes = [lane_pass(lane, given) for lane in lanes]
    learned = []
    for row, mine in enumerate(given.train_topics):
        said = [one.learned[row] for one in passes]
        learned.append(stacker.score(said))
        stacker.learn(said, mine)
    assert (len(given.train) >= refit) == (stacker.followed >= 0 or any(stacker.weights[1:3]))
    tested = [[one.tested[row] for one in passes] for row in range(len(given.test))]
    return Pass(learned, [stacker.score(said) for said in tested])


def one_pass(
    spec: str, lanes: Sequence[str], given: Division
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The measures of the test documents, and the round-averaged losses of training."""
    stacks = spec.startswith("svm-map")
    scores = stacker_pass(spec, lanes, given) if stacks else lane_pass(spec, given)
    rounds = [
        measure(its, set(mine))
        for its, mine in zip(scores.learned, given.train_topics, strict=True)
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
        wanted = [topic in mine for mine in given.train_topics]
        machine = sklearn_svm.LinearSVC(C=cost, max_iter=100_000, tol=1e-10, random_state=1)
        scores.append(machine.fit(train, wanted).decision_function(test))
    return measured(np.array(scores).T.tolist(), given.test_topics)


def run(out: Path, data: Path, *more: str) -> dict[str, Any]:
    result = wirerank(
        "experiment", "mmp-reuters21578", "--data", str(data), "--out", str(out), *more
    )
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = orjson.loads((out / "results.json").read_bytes())
    for time in ("seconds", "finished"):  # all else is the same every time
        del found["run"][time]
    return found


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_wire(tmp_path_factory.mktemp("wire")).parent


@pytest.fixture(scope="module")
def found(wire: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("out")
    return run(out, wire, "--splits", "2", "--seed", str(SEED)) | {"out": out}


def agree(part: dict[str, Any], expected: dict[str, Any]) -> None:
    for name in MEASURES:
        assert part["measures"][name] == pytest.approx(expected[name], rel=1e-9), name
    assert part["precision"] == pytest.approx(expected["precision"])
    assert part["recall"] == pytest.approx(expected["recall"])


@pytest.mark.parametrize("fold", [0, 1])
@pytest.mark.parametrize(
    ("vectors", "methods"),
    [
        ("selected", ["rocchio", "perceptron", "mmp1", "mmp2", "mmp3"]),
        ("whole", ["mmp-margin", "mmp-average", "arow", "stacker"]),
        ("enriched", ["arow-enriched", "stacker-enriched"]),
    ],
)
def test_lanes_agree_with_a_plain_computation(
    found: dict[str, Any], fold: int, vectors: str, methods: list[str]
) -> None:
    given = division(fold, vectors)
    part = found["parts"][f"fold {fold + 1} {vectors}"]
    distinct = sum(value != 0.0 for x in given.train for value in x.values())
    assert part["facts"]["distinct"] == pytest.approx(distinct / len(given.train))
    combined = found["combined"]
    for method in methods:
        specs = found["lanes"][method]
        inner = given.held_out()
        tried = {
            spec: one_pass(spec, combined, inner)[0]["average_precision"] for spec in specs
        } if len(specs) > 1 else dict.fromkeys(specs, 1.0)  # fmt: skip
        best = max(specs, key=lambda spec: tried[spec])
        mine = part["methods"][method]
        assert mine["lane"] == best
        assert mine.get("tried", tried) == pytest.approx(tried)
        expected, curve = one_pass(best, combined, given)
        agree(mine, expected)
        for loss in MEASURES[:3]:
            kept = [curve[at - 1][loss] for at in mine["curve"]["round"]]
            assert mine["curve"][loss] == pytest.approx(kept)


@pytest.mark.parametrize("of", [COMBINED, COMBINED[:1] + COMBINED[3:]])
@pytest.mark.parametrize("fold", [0, 1])
def test_a_stacker_that_trains_in_the_pass_agrees(fold: int, of: Sequence[str]) -> None:
    """As the experiment runs it, but for a window that so few documents fill."""
    texts = [" ".join(tale.title + tale.body) for tale in tales()]
    topics = [[TOPICS.index(name) for name in tale.topics] for tale in tales()]
    train, test = map(np.array, folded(fold))
    given = text_fold(texts, topics, len(TOPICS), "reuters21578", train, test)
    options = "refit=12,window=40"
    mine = train_lane(f"svm-map:of=[{','.join(of)}],{options}", given, COMBINED)
    expected, curve = one_pass(f"svm-map:{options}", of, division(fold, "whole"))
    agree(mine, expected)
    for loss in MEASURES[:3]:
        kept = [curve[at - 1][loss] for at in mine["curve"]["round"]]
        assert mine["curve"][loss] == pytest.approx(kept)


@pytest.mark.parametrize("vectors", ["whole", "enriched"])
def test_machines_agree_with_a_plain_computation(found: dict[str, Any], vectors: str) -> None:
    key = "svm" if vectors == "whole" else "svm-enriched"
    mine = found["parts"][f"fold 1 {vectors}"]["methods"][key]
    assert mine["converged"]
    expected = machines(mine["C"], division(0, vectors))
    for name in MEASURES:
        assert mine["measures"][name] == pytest.approx(expected[name], abs=0.02), name
    assert mine["C"] == max(found["C"], key=lambda cost: mine["tried"][str(cost)])


def test_tables_are_means_of_the_folds(found: dict[str, Any]) -> None:
    rows = {
        (name, row["label"]): row
        for name in ("table-1", "table-2", "against-svm", "wins-svm", "figure-3")
        for row in found["tables"][name]["rows"]
    }
    for key, label in (("arow", "AROW"), ("stacker", "stacker")):
        mine, svm = (
            [
                found["parts"][f"fold {fold} whole"]["methods"][one]["measures"]["one_error"]
                for fold in (1, 2)
            ]
            for one in (key, "svm")
        )
        shown = rows["table-2", f"{label} (added)"]["ours"]["one_error_percent"]["value"]
        assert shown == pytest.approx(100 * np.mean(mine))
        less = rows["against-svm", f"{label} - batch SVM"]["ours"]["one_error_percent"]["value"]
        assert less == pytest.approx(100 * (np.mean(mine) - np.mean(svm)))
        wins = rows["wins-svm", f"{label} - batch SVM"]["ours"]["one_error_percent"]["value"]
        assert wins == sum(m < s for m, s in zip(mine, svm, strict=True))
    perceptron = rows["table-1", "Perceptron"]
    assert perceptron["paper"]["loss1_percent"]["value"] == 15.71
    ours = perceptron["ours"]["loss1_percent"]["value"]
    assert perceptron["difference"]["loss1_percent"]["value"] == pytest.approx(ours - 15.71)
    counts = Counter(len(tale.topics) for tale in tales())
    for topics, count in counts.items():
        label = f"{topics} topic{'s' if topics > 1 else ''}"
        assert rows["figure-3", label]["ours"]["documents"]["value"] == count
    assert found["parts"]["documents"]["topics"] == len(TOPICS)
    for name in ("figure-3", "figure-4", "figure-4-added", "figure-6"):
        for kind in ("png", "svg"):
            assert (found["out"] / f"{name}.{kind}").stat().st_size > 0


def test_going_on_gives_the_same_as_one_run(
    found: dict[str, Any], wire: Path, tmp_path: Path
) -> None:
    shutil.copytree(found["out"] / "parts", tmp_path / "parts")
    shutil.copy(found["out"] / "run.json", tmp_path)
    (tmp_path / "parts" / "fold-2-whole.json").unlink()
    again = run(tmp_path, wire, "--splits", "2", "--seed", str(SEED))
    assert again == {key: value for key, value in found.items() if key != "out"}
    names = [path.name for path in found["out"].iterdir() if path.is_file()]
    assert {"figure-4.svg", "figure-6-points.csv"} <= set(names)
    names.remove("results.json")  # it has the times of the run, and was compared
    for name in names:
        assert (tmp_path / name).read_bytes() == (found["out"] / name).read_bytes(), name


def test_too_small_a_corpus_is_refused(tmp_path: Path) -> None:
    data = sgml.write(tmp_path / "reuters", *(sgml.story(n, labels=("earn",)) for n in range(1, 5)))
    result = wirerank(
        "experiment", "mmp-reuters21578", "--data", str(data), "--out", str(tmp_path / "out")
    )
    assert result.exit_code == 2
    assert "has 0 ModApte stories of 0 topics that occur in both halves" in result.stderr
