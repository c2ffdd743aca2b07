"""`wirerank experiment mmp-rcv1` against the plain implementation, on a small stand-in."""

from __future__ import annotations

import csv
import math
import zipfile
from collections import Counter
from datetime import date, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
import pytest

from pipeline.corpora.rcv1 import Rcv1
from pipeline.experiments.topic_ranking.methods import OF_THE_PAPER
from pipeline.experiments.topic_ranking.mmp_rcv1 import ADDED, METHODS, RUNNING
from pipeline.experiments.topic_ranking.stream_reader import Corpus
from pipeline.experiments.topic_ranking.stream_vocabulary import count, select
from pipeline.text.terms import words_of
from tests.reference import stream as reference
from tests.reference.prototypes import Rocchio as ReferenceRocchio
from tests.reference.vectors import Vector, unit
from tests.support.command_line import wirerank
from tests.support.rcv1_standin import write_standin

pytest.importorskip("matplotlib", reason="pip install 'wirerank[experiments]'")
pytest.importorskip("sklearn", reason="pip install 'wirerank[experiments]'")

DOCUMENTS = 180
TRAINED = 116  # round(180 * 521,439 / 809,383)

Labelled = tuple[list[str], list[str]]  # words and topics


class Plain(NamedTuple):
    """The vectors of the experiment, computed again as dicts in memory."""

    topics: list[str]
    words: list[str]
    chosen: set[str]
    train: list[tuple[Vector, list[int]]]
    test: list[tuple[Vector, list[int]]]
    before: float


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stand-in in which some training and test documents have no topics."""
    folder = write_standin(tmp_path_factory.mktemp("rcv1"), DOCUMENTS, seed=3, packed=True)
    plain = write_standin(tmp_path_factory.mktemp("again"), DOCUMENTS, seed=3)
    lines = (plain / "rcv1-v2.topics.qrels").read_text().splitlines(keepends=True)
    unlabelled = {lines[0].split()[1], lines[-1].split()[1]}
    kept = [line for line in lines if line.split()[1] not in unlabelled]
    (folder / "rcv1-v2.topics.qrels").write_text("".join([*kept, "NONE 99 1\n"]))
    return folder


@pytest.fixture(scope="module")
def results(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:  # noqa: ANN401 - JSON
    out = tmp_path_factory.mktemp("out")
    result = wirerank("experiment", "mmp-rcv1", "--data", str(folder), "--out", str(out))
    assert result.exit_code == 0, result.output
    assert "Table 3: Reuters-2000, learning-theoretic measures" in result.stdout
    assert "2 documents have no topics; they are neither learned nor tested." in result.stdout
    assert "discarded, as the paper does with GMIL" in result.stdout
    for name in (
        "figure-3.png",
        "figure-5.png",
        "figure-5-added.svg",
        "figure-6.svg",
        "table-4.csv",
    ):
        assert (out / name).stat().st_size > 100
    with (out / "figure-5-curves.csv").open() as file:
        methods = {row["method"] for row in csv.DictReader(file)}
    assert methods == {method.title for method in METHODS if method.key not in ("rocchio", "svm")}
    return orjson.loads((out / "results.json").read_bytes())


def documents_of(folder: Path) -> list[Labelled | tuple[list[str], None]]:
    documents = [orjson.loads(raw) for raw in Rcv1(folder)]
    return [(event["text"].split(), event.get("topics")) for event in documents]


@pytest.fixture(scope="module")
def plain(folder: Path) -> Plain:
    documents = documents_of(folder)
    training, testing = documents[:TRAINED], documents[TRAINED:]
    topics = sorted({topic for _, labels in training for topic in labels or ()})
    every = Counter(word for words, _ in training for word in set(words))
    df = {word: n for word, n in every.items() if n >= 2}
    lengths = [len(df.keys() & set(words)) for words, _ in training]
    pivot = sum(lengths) / len(lengths)

    def vector(words: list[str]) -> Vector:
        counts = Counter(word for word in words if word in df)
        if not counts:
            return {}
        average = sum(counts.values()) / len(counts)
        length = 0.7 + 0.3 * len(counts) / pivot
        return {
            word: (1 + math.log(n)) / (1 + math.log(average)) / length
            * math.log(len(training) / df[word])
            for word, n in counts.items()
        }  # fmt: skip

    def vectors(
        some: list[Labelled | tuple[list[str], None]],
    ) -> list[tuple[Vector, list[int]]]:
        return [
            (vector(words), [topics.index(topic) for topic in labels if topic in topics])
            for words, labels in some
            if labels is not None
        ]

    seen = vectors(training)
    rocchio = ReferenceRocchio({})
    rocchio.seen = [(x, relevant) for x, relevant in seen]
    chosen = set[str]()
    for topic in range(len(topics)):
        prototype = rocchio.prototype(topic)
        best = sorted(prototype, key=lambda word: (-prototype[word], list(every).index(word)))
        chosen.update(best[: max(100, int(0.025 * len(best)))])
    before = sum(len(vector(words)) for words, _ in training) / len(training)
    restricted = [
        [({w: v for w, v in x.items() if w in chosen}, y) for x, y in some]
        for some in (seen, vectors(testing))
    ]
    return Plain(topics, list(df), chosen, restricted[0], restricted[1], before)


def test_terms_and_topics_are_those_of_training(
    results: Any,  # noqa: ANN401 - JSON
    plain: Plain,
    folder: Path,
) -> None:
    part = results["parts"]["stream"]
    assert part["topics"] == plain.topics
    corpus = part["corpus"]
    assert corpus["trained"] == len(plain.train) == TRAINED - 1
    assert corpus["tested"] == len(plain.test) == DOCUMENTS - TRAINED - 1
    sizes = Counter(str(len(topics)) for _, topics in documents_of(folder) if topics is not None)
    assert part["topics_per_document"] == sizes
    assert corpus["words"] == len(plain.words)
    assert corpus["selected"] == len(plain.chosen) < len(plain.words)
    assert corpus["before"] == pytest.approx(plain.before)
    assert "GMIL" in part["discarded"]
    assert not part["discarded"].keys() & set(plain.topics)


@pytest.mark.parametrize("method", [*OF_THE_PAPER, *ADDED], ids=lambda method: method.key)
def test_lanes_agree_with_the_plain_implementation(
    results: Any,  # noqa: ANN401 - JSON
    plain: Plain,
    method: Any,  # noqa: ANN401 - a `TopicMethod`, as parametrize hands it over
) -> None:
    lane = reference.Lane(method.spec)
    learner = lane.learner
    learner.join(len(plain.topics))
    losses = []
    for x, relevant in plain.train:
        scaled = unit(x) if lane.unit else x
        losses.append(reference.measure(learner.scores(scaled), set(relevant)))
        learner.learn(scaled, relevant)
    if isinstance(learner, ReferenceRocchio):
        learner.prototypes = [learner.prototype(r) for r in range(len(plain.topics))]
    tested = [
        reference.measure(learner.scores(unit(x) if lane.unit else x), set(relevant))
        for x, relevant in plain.test
    ]
    actual = results["parts"]["stream"]["lanes"][method.key]
    for name in ("loss1", "loss2", "loss3", "one_error", "coverage", "average_precision"):
        expected = reference.mean(one[name] for one in tested)
        assert actual["measures"][name] == pytest.approx(expected), name
    if method.key == "rocchio":
        assert "curve" not in actual
        return
    curve = actual["curve"]
    assert curve["round"] == list(range(1, len(losses) + 1))
    for name in ("loss1", "loss2", "loss3"):
        sums = np.cumsum([one[name] for one in losses]) / np.arange(1, len(losses) + 1)
        assert curve[name] == pytest.approx(sums.tolist())


def test_the_running_lane_is_a_replay(results: Any, folder: Path) -> None:  # noqa: ANN401 - JSON
    """With all terms and running statistics, learning gives the results of a plain replay."""
    events: list[dict[str, Any]] = [
        {"id": str(i), "text": " ".join(words), **({} if topics is None else {"topics": topics})}
        for i, (words, topics) in enumerate(documents_of(folder)[:TRAINED])
    ]
    topics = results["parts"]["stream"]["topics"]
    (expected,) = reference.replay(events, [RUNNING.spec], topics).values()
    curve = results["parts"]["stream"]["lanes"]["running"]["curve"]
    for name in ("loss1", "loss2", "loss3"):
        assert curve[name] == pytest.approx(expected.curve(name))


def test_the_svm_ranks_almost_as_well_as_it_can(results: Any) -> None:  # noqa: ANN401 - JSON
    lanes = results["parts"]["stream"]["lanes"]
    assert lanes["svm"]["documents"] == TRAINED - 1
    assert (
        lanes["svm"]["measures"]["average_precision"]
        > lanes["perceptron"]["measures"]["average_precision"]
    )


@pytest.mark.parametrize(
    ("most", "seen", "remark"),
    [
        (20_000, TRAINED - 1, f"trained on all {TRAINED - 1} training documents."),
        # every third document
        (50, 39, f"trained on 39 evenly spaced training documents; on all {TRAINED - 1} it"),
    ],
)
def test_the_svm_row_says_how_many_documents_it_saw(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, seen: int, remark: str
) -> None:
    monkeypatch.setattr("pipeline.experiments.topic_ranking.mmp_rcv1.SVM_DOCUMENTS", most)
    shown = wirerank("experiment", "mmp-rcv1", "--data", str(folder), "--out", str(tmp_path / "o"))
    assert shown.exit_code == 0, shown.output
    assert remark in shown.stdout
    actual = orjson.loads((tmp_path / "o" / "results.json").read_bytes())
    for name in ("table-3", "table-4"):
        labels = [row["label"] for row in actual["tables"][name]["rows"]]
        assert labels[-1] == f"linear SVM on {seen} documents (added)"
    assert (
        f"linear SVM on {seen} documents (added)"
        in (tmp_path / "o" / "figure-6-points.csv").read_text()
    )


def test_newsml_stories_give_the_same(results: Any, folder: Path, tmp_path: Path) -> None:  # noqa: ANN401
    """The same words and topics in the other edition, one zip file per day."""
    stories = [orjson.loads(raw) for raw in Rcv1(folder)]
    days = [date(1996, 8, 20) + timedelta(days=i * 5 // len(stories)) for i in range(len(stories))]
    for day in set(days):
        with zipfile.ZipFile(tmp_path / f"{day:%Y%m%d}.zip", "w") as pack:
            for story in (
                story for story, own_day in zip(stories, days, strict=True) if own_day == day
            ):
                pack.writestr(f"{story['id']}newsML.xml", newsml(story, day))
    out = tmp_path / "out"
    result = wirerank("experiment", "mmp-rcv1", "--data", str(tmp_path), "--out", str(out))
    assert result.exit_code == 0, result.output
    actual = orjson.loads((out / "results.json").read_bytes())["parts"]["stream"]
    for key, lane in results["parts"]["stream"]["lanes"].items():
        assert actual["lanes"][key]["measures"] == lane["measures"]


def newsml(story: dict[str, Any], day: date) -> str:
    codes = "".join(f'<code code="{topic}"></code>' for topic in story.get("topics", ()))
    return (
        f'<?xml version="1.0" encoding="iso-8859-1" ?>\n<newsitem itemid="{story["id"]}" '
        f'id="root" date="{day}" xml:lang="en">\n<text>\n<p>{story["text"]}</p>\n</text>\n'
        f'<metadata><codes class="bip:topics:1.0">{codes}</codes></metadata>\n</newsitem>\n'
    )


def test_blocks_change_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collected = []
    for block in (7, 1024):
        monkeypatch.setattr("pipeline.experiments.topic_ranking.stream_reader.BLOCK", block)
        corpus = Corpus(Rcv1(folder), TRAINED, DOCUMENTS, "reuters2000", lambda line: None)
        counted = count(corpus.training("counting"))
        selection = select(corpus.training("selecting"), counted)
        words = words_of(counted.vocabulary.table)
        collected.append((words, selection.chosen.tolist(), selection.before, selection.after))
    assert collected[0] == collected[1]


def test_what_cannot_be_run_is_refused(tmp_path: Path, folder: Path) -> None:
    few = write_standin(tmp_path / "few", 9)
    result = wirerank(
        "experiment", "mmp-rcv1", "--data", f"rcv1:{few}", "--out", str(tmp_path / "a")
    )
    assert result.exit_code == 2
    assert "has 9 documents; expected at least 10" in result.stderr
    some = write_standin(tmp_path / "some", 40)
    (some / "rcv1-v2.topics.qrels").write_text("CCAT 1 1\n")  # of another corpus
    out = ("--out", str(tmp_path / "b"))
    result = wirerank("experiment", "mmp-rcv1", "--data", f"rcv1:{some}", *out)
    assert result.exit_code == 2
    assert "none of the 26 training documents has a topic" in result.stderr
    (some / "rcv1-v2.topics.qrels").write_text("CCAT 2286 1\nECAT 2287 1\n")
    result = wirerank("experiment", "mmp-rcv1", "--data", f"rcv1:{some}", *out, "--anew")
    assert result.exit_code == 2
    assert "none of the 14 test documents has a topic" in result.stderr
