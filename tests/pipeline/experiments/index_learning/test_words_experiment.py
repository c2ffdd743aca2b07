"""`wirerank experiment feature-focus-words`; its examples equal the events of the source."""

from __future__ import annotations

import math
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from learners.slow.feature_focus import SlowFeatureFocus
from pipeline.corpora import SourceError, open_source
from pipeline.experiments.index_learning.train_test_split import Split
from pipeline.experiments.index_learning.word_examples import without_rare, words_as_examples
from tests.support.command_line import wirerank
from tests.support.small_corpora import write_text

pytest.importorskip("matplotlib", reason="pip install 'wirerank[experiments]'")
NAME = "feature-focus-words"


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_text(tmp_path_factory.mktemp("text") / "novel.txt")


def events(text: Path) -> list[tuple[dict[str, int], str]]:
    every = (orjson.loads(raw) for raw in open_source(f"text:{text}"))
    return [(event["features"], event["topics"][0]) for event in every]


def test_examples_are_the_events_of_the_source(text: Path) -> None:
    actual, expected = words_as_examples(text), events(text)
    assert len(actual.train) == len(expected)
    numbers: dict[str, int] = {}
    of_number: dict[int, str] = {}
    for i, (features, word) in enumerate(expected):
        terms, values = actual.train.rows.row(i)
        assert actual.classes[actual.train.labels[i]] == word
        assert len(terms) == len(features)
        assert np.sum(values**2) == pytest.approx(1.0)
        for term, name in zip(terms.tolist(), features, strict=True):
            assert numbers.setdefault(name, term) == term  # one number for one feature, and back
            assert of_number.setdefault(term, name) == name
    assert actual.terms == len(numbers)
    assert any(len(name) == 255 for _, name in expected)  # the longest that a word can be


def test_rare_features_are_those_of_training(text: Path) -> None:
    every = words_as_examples(text)
    half = len(every.train) // 2
    first, second = (every.train.select(n) for n in np.split(np.arange(len(every.train)), [half]))
    split = Split(first, second, every.terms, every.classes)
    seen = Counter(name for features, _ in events(text)[:half] for name in features)
    actual = without_rare(split, 3)
    assert actual.terms == sum(count >= 3 for count in seen.values())
    for i, (features, _) in enumerate(events(text)[half:]):
        kept = sum(seen[name] >= 3 for name in features)
        terms, values = actual.test.rows.row(i)
        assert len(terms) == kept
        assert values.tolist() == pytest.approx([1.0 / math.sqrt(kept)] * kept if kept else [])


def run(text: Path, out: Path, *more: str) -> dict[str, Any]:
    result = wirerank("experiment", NAME, "--data", f"text:{text}", "--out", str(out), *more)
    assert result.exit_code == 0, result.output
    results: dict[str, Any] = orjson.loads((out / "results.json").read_bytes())
    return results


def test_r1_is_that_of_plain_twins(text: Path, tmp_path: Path) -> None:
    results = run(text, tmp_path, "--splits", "1", "--unconstrained")
    every = events(text)
    order = np.random.default_rng([0, 0]).permutation(len(every)).tolist()
    cut = round(0.1 * len(every))
    classes = list(dict.fromkeys(word for _, word in every))
    # A class has its number where its word comes first, alone in a sentence or not.
    twin, seen = SlowFeatureFocus(), Counter[str]()
    unit = [({name: 1.0 / math.sqrt(len(f)) for name in f}, word) for f, word in every]
    for i in order[cut:]:
        twin.learn(unit[i][0], [unit[i][1]], classes)
        seen[unit[i][1]] += 1
    right = frequent = 0
    for i in order[:cut]:
        votes = twin.votes(unit[i][0])
        best = max(votes, key=lambda word: (votes[word], -classes.index(word)), default=None)
        right += best == unit[i][1]
        frequent += max(classes, key=lambda word: seen[word]) == unit[i][1]
    rows = {one["label"]: one["ours"] for one in results["tables"]["comparison-words"]["rows"]}
    assert rows["FF margin 0, 1 pass"]["r1"]["value"] == pytest.approx(right / cut)
    assert rows["FreqBaseline"]["r1"]["value"] == pytest.approx(frequent / cut)
    assert 0 < right < cut
    free = results["tables"]["unconstrained-words"]["rows"]
    assert [one["paper"]["r1"]["value"] for one in free] == [0.274, 0.276]
    for name in (
        "comparison-r1.png",
        "w-min.svg",
        "d-max.png",
        "comparison-words.csv",
        "frequent-features-words.csv",
    ):
        assert (tmp_path / name).stat().st_size > 0


def test_an_archive_is_read_as_its_folder_is(text: Path, tmp_path: Path) -> None:
    archive = tmp_path / "texts.tar.xz"
    with tarfile.open(archive, "w:xz") as tar:
        tar.add(text, "novels/novel.txt")
        tar.add(__file__, "novels/readme.py")
    assert list(open_source(f"text:{archive}")) == list(open_source(f"text:{text}"))
    with tarfile.open(archive, "w:xz") as tar:
        tar.add(__file__, "novels/readme.py")
    with pytest.raises(SourceError, match="expected a text file"):
        open_source(f"text:{archive}")


@pytest.mark.parametrize(
    ("text", "message"), [("", "no words"), ("Stop. Go! Now?", "0 words with")]
)
def test_a_text_with_nothing_to_predict_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.txt").write_text(text)
    run = wirerank("experiment", NAME, "--data", f"text:{tmp_path}", "--out", str(tmp_path / "out"))
    assert run.exit_code == 2
    assert message in run.stderr
    assert "expected a text" in run.stderr
