"""`feature-focus-words`: index learning that predicts words from their neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple

from pipeline.corpora.word_prediction import TextWords
from pipeline.experiments.experiment import Drawing, Experiment, Findings, Need, Part, Result
from pipeline.experiments.figures import Dot, Panel, draw_dots, draw_lines
from pipeline.experiments.index_learning import ablations
from pipeline.experiments.index_learning.lane_training import train_lane
from pipeline.experiments.index_learning.paper_numbers import PAPER, WORDS, WORDS_UNCONSTRAINED
from pipeline.experiments.index_learning.result_tables import COLUMNS, over_splits
from pipeline.experiments.index_learning.train_test_split import Split, random_split
from pipeline.experiments.index_learning.word_examples import without_rare, words_as_examples
from pipeline.experiments.learner_colours import LEARNER_COLOURS
from pipeline.experiments.tables import Row, Table

TEST_SHARE = 0.1
QUICK_WORDS = 50_000
SEEN = 3  # a feature that occurs less often in training is rare

TEXT = Need(
    "text", "a text, such as Jane Austen's six novels: .txt files, or an archive of them",
    r"austen", TextWords,
)  # fmt: skip


class WordMethod(NamedTuple):
    """A row of the comparison: a lane and its number of training passes."""

    key: str
    label: str
    learner: str
    spec: str
    passes: int


METHODS = (
    WordMethod("ff-0", "FF margin 0, 1 pass", "feature-focus", "feature-focus:margin=0", 1),
    WordMethod("ff-0.1", "FF margin 0.1, 4 passes", "feature-focus", "feature-focus:margin=0.1", 4),
    WordMethod("ff-0.5", "FF margin 0.5, 4 passes", "feature-focus", "feature-focus:margin=0.5", 4),
    WordMethod("frequency", "FreqBaseline", "frequency", "frequency", 1),
)

INDEXED = tuple(method for method in METHODS if method.learner == "feature-focus")


class FeatureFocusWords(Experiment):
    """The last part of figure 10 of the paper, and figures 11 to 13 on words."""

    name = "feature-focus-words"
    title = "index learning that predicts words from their neighbours"
    paper = PAPER
    needs = (TEXT,)
    packages = ("matplotlib",)

    def recorded_settings(self) -> Mapping[str, Any]:
        """The seed, the number of words that are read, and the features."""
        settings = self.settings
        return {
            "seed": settings.seed,
            "quick": settings.quick,
            "words": QUICK_WORDS if settings.quick else "all",
            "test_share": TEST_SHARE,
            "features": "runs of 1 to 3 of the 3 words on either side, length one",
        }

    def parts(self) -> Iterator[Part]:
        """All methods, one split after another; the settings on the first split only."""

        @lru_cache(maxsize=1)
        def all_words() -> Split:
            words = words_as_examples(self.data["text"], QUICK_WORDS if self.settings.quick else 0)
            features = len(words.train.rows.terms) / len(words.train)
            self.say(
                f"{len(words.train):,} words, {len(words.classes):,} classes, {words.terms:,} "
                f"features, {features:.1f} per word"
            )
            return words

        @lru_cache(maxsize=1)
        def split_of(number: int) -> Split:
            whole = all_words()
            train, test = random_split(len(whole.train), TEST_SHARE, self.settings.seed, number)
            select = whole.train.select
            return Split(select(train), select(test), whole.terms, whole.classes)

        for number in range(self.settings.splits):
            for method in METHODS:
                run = ablations.LaneRun(method.key, method.spec, method.passes)
                yield Part(part_name(number, method.key), later(run, split_of, number))
            if number == 0:
                for run in self._settings_runs():
                    yield Part(part_name(0, run.key), later(run, split_of, 0))
                if not self.settings.quick:
                    yield from self._without_rare(split_of)

    def _without_rare(self, split_of: Callable[[int], Split]) -> Iterator[Part]:
        @lru_cache(maxsize=1)
        def frequent(number: int) -> Split:
            return without_rare(split_of(number), SEEN)

        for method in INDEXED:
            run = ablations.LaneRun(method.key, method.spec, method.passes)
            yield Part(part_name(0, f"seen {SEEN} {method.key}"), later(run, frequent, 0))

    def _settings_runs(self) -> list[ablations.LaneRun]:
        runs = [] if self.settings.quick else ablations.constraint_runs(0.0, 1)
        return runs + ([ablations.unconstrained_run(0.0)] if self.settings.unconstrained else [])

    def findings(self, results: Mapping[str, Result]) -> Findings:
        """The comparison, and the effect of d_max, w_min and both together."""
        of = partial(self._of, results)
        count = self.settings.splits
        title = f"Words: {count} random split{'s' if count > 1 else ''} of 90% / 10%"
        rows = [Row(m.label, over_splits(of(m.key)), WORDS[m.key]) for m in METHODS]
        tables = [Table("comparison-words", title, COLUMNS, rows)]
        drawings = [Drawing("comparison-r1", partial(draw_comparison, title, rows))]
        if self.settings.unconstrained:
            by_key = {"default": of("ff-0")[:1], "unconstrained": of("unconstrained")}
            labels = {"default": "default options", "unconstrained": "w_min 0, no d_max"}
            rows = [
                Row(labels[key], over_splits(of_key, 0), WORDS_UNCONSTRAINED[key])
                for key, of_key in by_key.items()
            ]
            title = "Words, first split, margin 0, 1 pass: no constraints (figure 11)"
            tables.append(Table("unconstrained-words", title, COLUMNS, rows))
        if not self.settings.quick:
            tables.append(rare_table(of))
            self._settings(lambda key: of(key)[:1], tables, drawings)
        return Findings(tables, drawings, self._remarks())

    def _of(self, results: Mapping[str, Result], key: str) -> list[Result]:
        names = (part_name(number, key) for number in range(self.settings.splits))
        return [results[name] for name in names if name in results]

    def _settings(
        self, of: ablations.ResultsByKey, tables: list[Table], drawings: list[Drawing]
    ) -> None:
        title = "Words, first split, margin 0, 1 pass: "
        light = ablations.w_min_table("words", title + "w_min", of, "ff-0", 1)
        degree = ablations.d_max_table("words", title + "d_max", of, "ff-0")
        tables += [light, degree]
        for name, table, values, words in (
            ("w-min", light, ablations.W_MINS, "w_min: connections lighter than this are dropped"),
            ("d-max", degree, ablations.D_MAXES, "d_max: connections that vote per feature"),
        ):
            panels = [ablations.settings_panel("Words, first split", table, values)]
            title = "Feature Focus, margin 0, 1 pass"
            drawings.append(Drawing(name, partial(draw_lines, title, words, "R1", panels)))

    def _remarks(self) -> list[str]:
        quick = (
            f"With --quick the first {QUICK_WORDS:,} words are used; the paper's numbers are for "
            "all words."
        )
        return ([quick] if self.settings.quick else []) + [
            "The paper counts 749,000 instances, 17,400 classes and 299,000 features in its text. "
            "It does not say how it separates words, which conjunctions of words it uses, or how "
            "rare a feature may be.",
            "Times are processor time of this machine; the paper's are of a 2.4 GHz Opteron.",
        ]


def rare_table(of: ablations.ResultsByKey) -> Table:
    """The comparison without rare features; the paper's counts suggest that it left them out."""
    by_method = {method: of(f"seen {SEEN} {method.key}") for method in INDEXED}
    (features,) = {result["features"] for results in by_method.values() for result in results}
    title = (
        f"Words, first split: only the {features:,} features that occur at least {SEEN} times in "
        "training (the paper has 299,000 features)"
    )
    rows = [Row(m.label, over_splits(results), WORDS[m.key]) for m, results in by_method.items()]
    return Table("frequent-features-words", title, COLUMNS, rows)


def draw_comparison(title: str, rows: list[Row]) -> Any:  # noqa: ANN401 - a figure
    """R1 of all methods."""
    dots = [
        Dot(row.label, LEARNER_COLOURS[method.learner], row.ours["r1"], row.paper.get("r1"))
        for row, method in zip(rows, METHODS, strict=True)
        if method.learner != "frequency"  # far to the left of all others
    ]
    measure = "R1: share of test words ranked first"
    return draw_dots("Index learning of words", measure, [Panel(title, dots=dots)])


def part_name(number: int, key: str) -> str:
    """The name of the part that computes `key` on a split."""
    return f"words split {number + 1} {key}"


def later(
    run: ablations.LaneRun, split_of: Callable[[int], Split], number: int
) -> Callable[[], Result]:
    """Return a function that makes the vectors of a split only when it is called."""

    def train() -> Result:
        split = split_of(number)
        result = train_lane(run.spec, split, run.passes, run.on_training)
        return {**result, "features": split.terms}

    return train
