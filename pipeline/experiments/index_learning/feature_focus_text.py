"""`feature-focus-text`: index learning against classifiers on 20 Newsgroups and Reuters-21578."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

from learners.specs import LEARNERS
from pipeline.corpora.newsgroups import Newsgroups
from pipeline.experiments.corpus_needs import REUTERS21578
from pipeline.experiments.experiment import (
    Drawing,
    Experiment,
    Findings,
    Need,
    Part,
    Result,
)
from pipeline.experiments.figures import Dot, Panel, draw_dots, draw_lines
from pipeline.experiments.index_learning import ablations, one_vs_rest_svm, top_down_svm
from pipeline.experiments.index_learning.independent import THRESHOLDS, train_independent
from pipeline.experiments.index_learning.lane_training import (
    MOST_PASSES,
    PATIENCE,
    train_chosen,
    train_lane,
    train_until_steady,
)
from pipeline.experiments.index_learning.paper_numbers import COMPARISON, OPTIONS, PAPER
from pipeline.experiments.index_learning.result_tables import COLUMNS, chosen_settings, over_splits
from pipeline.experiments.index_learning.taxonomy import taxonomy
from pipeline.experiments.index_learning.text_corpora import (
    LARGEST,
    Texts,
    newsgroups,
    reuters_largest,
)
from pipeline.experiments.index_learning.train_test_split import Split, random_split, text_split
from pipeline.experiments.learner_colours import LEARNER_COLOURS
from pipeline.experiments.sign_test import sign_test
from pipeline.experiments.tables import Column, Number, Row, Table

PROFILE = "reuters21578"
PASSES, QUICK_PASSES = 10, 2
QUICK_DOCUMENTS = 1500
MARGIN = 0.5  # the paper's best on both corpora
CHOSEN_AMONG = (0.0, 0.1, 0.5)
HELD_OUT = 0.2  # share of the training examples on which settings are chosen
TEST_SHARE = {"newsgroups": 0.2, "reuters21578": 0.1}
COMMITTEE = "committee:size=10,seed={seed}"

NEWSGROUPS = Need(
    "newsgroups", "20 Newsgroups: one folder of posts per group, or its archive",
    r"20_?news|newsgroups", Newsgroups,
)  # fmt: skip
TITLES = {
    "newsgroups": "20 Newsgroups",
    "reuters21578": f"Reuters-21578, {LARGEST} largest classes",
}


class TextMethod(NamedTuple):
    """A row of the comparison: the part whose results it shows, after one of the part's passes."""

    key: str
    label: str
    learner: str
    part: str
    after: int = -1  # index of the pass


METHODS = (
    TextMethod("ff-0", "FF margin 0, 1 pass", "feature-focus", ablations.margin_key(0.0), 0),
    TextMethod("ff-0.5", "FF margin 0.5, 1 pass", "feature-focus", ablations.margin_key(MARGIN), 0),
    TextMethod("ff-chosen", "FF margin and passes chosen", "feature-focus", "chosen"),
    TextMethod("perceptron", "perceptron", "perceptron", "perceptron"),
    TextMethod("committee", "committee of 10", "committee", "committee"),
    TextMethod("svm", "linear SVM", "svm", "svm"),
    TextMethod("top-down", "top-down SVM", "top-down", "top-down"),
    TextMethod("independent", "IND", "independent", "independent"),
    TextMethod("frequency", "FreqBaseline", "frequency", "frequency"),
)
UNTIL_STEADY = ("perceptron", "committee")
WITH_CHOICES = ("chosen", "svm", "top-down", "independent")


class FeatureFocusText(Experiment):
    """Figure 9 of the paper on two of its corpora, and its figures 11 to 17 and 19."""

    name = "feature-focus-text"
    title = "index learning compared with classifiers on texts"
    paper = PAPER
    needs = (NEWSGROUPS, REUTERS21578)
    packages = ("matplotlib", "sklearn", "scipy")

    def recorded_settings(self) -> Mapping[str, Any]:
        """Seed, text settings, and the grids of settings that are searched."""
        return {
            "seed": self.settings.seed,
            "quick": self.settings.quick,
            "profile": PROFILE,
            "weights": "pivoted, statistics of the training part, length one",
            "reuters21578": f"classes={LARGEST},labels=last",
            "test_share": TEST_SHARE,
            "held_out": HELD_OUT,
            "passes": self._passes,
            "margins": ablations.MARGINS,
            "perceptron": {"patience": PATIENCE, "most_passes": MOST_PASSES},
            "C": one_vs_rest_svm.COSTS,
            "p_ind": THRESHOLDS,
            "p_min": top_down_svm.LEAST_PROBABILITIES,
        }

    @property
    def _passes(self) -> int:
        return QUICK_PASSES if self.settings.quick else PASSES

    def parts(self) -> Iterator[Part]:
        """All methods on each corpus, one split after another."""
        corpora = {kind: self._texts(kind) for kind in self.data}
        for kind, corpus in corpora.items():
            self.say(
                f"{TITLES[kind]}: {len(corpus.texts):,} documents, {len(corpus.classes)} classes"
            )

        @lru_cache(maxsize=1)
        def split_of(kind: str, number: int) -> Split:
            corpus = corpora[kind]
            count, share = len(corpus.texts), TEST_SHARE[kind]
            train, test = random_split(count, share, self.settings.seed, number)
            return text_split(corpus.texts, corpus.labels, corpus.classes, PROFILE, train, test)

        for number in range(self.settings.splits):
            for kind, corpus in corpora.items():
                for key, run in self._runs(corpus.classes, number).items():
                    yield Part(part_name(kind, number, key), later(run, split_of, kind, number))

    def _texts(self, kind: str) -> Texts:
        path = self.data[kind]
        texts = newsgroups(path) if kind == "newsgroups" else reuters_largest(path)
        quick = self.settings.quick
        return texts.sample(QUICK_DOCUMENTS, self.settings.seed) if quick else texts

    def _runs(self, classes: Sequence[str], number: int) -> dict[str, Callable[[Split], Result]]:
        """The computations on a split, by key."""
        runs: dict[str, Callable[[Split], Result]] = {}

        def add(lanes: Sequence[ablations.LaneRun]) -> None:
            for key, spec, passes, on_training in lanes:
                runs[key] = partial(train_one, spec, passes, on_training)

        add(ablations.margin_runs(self._passes))
        specs = [f"feature-focus:margin={margin:g}" for margin in CHOSEN_AMONG]
        passes = self._passes
        runs["chosen"] = lambda split: train_chosen(specs, split, passes, HELD_OUT)
        runs["perceptron"] = partial(train_until_steady, "perceptron")
        if "committee" in LEARNERS:
            spec = COMMITTEE.format(seed=self.settings.seed + number)
            runs["committee"] = partial(train_until_steady, spec)
        runs["svm"] = lambda split: one_vs_rest_svm.train_svm(split, HELD_OUT)
        if any(node.children for node in taxonomy(classes).children):
            runs["top-down"] = lambda split: top_down_svm.train_top_down(split, HELD_OUT)
        runs["independent"] = lambda split: train_independent(split, HELD_OUT)
        runs["frequency"] = partial(train_one, "frequency", 1, False)
        if not self.settings.quick:
            add(ablations.constraint_runs(MARGIN, ablations.FEW_PASSES))
            add([ablations.unconstrained_run(MARGIN), *ablations.option_runs(MARGIN)])
        return runs

    def findings(self, results: Mapping[str, Result]) -> Findings:
        """The comparison of each corpus, the sign tests, and the effect of the settings."""
        of = {kind: partial(self._of, results, kind) for kind in self.data}
        comparisons = {kind: self._comparison(kind, of[kind]) for kind in self.data}
        tables = [*comparisons.values(), self._sign_tests(of)]
        drawings = [Drawing("comparison-r1", partial(self._draw_comparison, comparisons, "r1"))]
        drawings += [Drawing("comparison-r5", partial(self._draw_comparison, comparisons, "r5"))]
        passes = {
            kind: ablations.passes_table(
                kind, f"{TITLES[kind]}: R1 after each pass", of[kind], self._passes
            )
            for kind in self.data
        }
        tables += passes.values()
        drawings.append(
            Drawing(
                "passes",
                lambda: draw_lines(
                    "Margins and passes (figures 14 and 19)", "passes", "R1",
                    [ablations.passes_panel(TITLES[k], table) for k, table in passes.items()],
                ),
            )
        )  # fmt: skip
        if not self.settings.quick:
            self._ablations(of, tables, drawings)
        return Findings(tables, drawings, self._remarks())

    def _of(self, results: Mapping[str, Result], kind: str, key: str) -> list[Result]:
        names = (part_name(kind, number, key) for number in range(self.settings.splits))
        return [results[name] for name in names if name in results]

    def _comparison(self, kind: str, of: ablations.ResultsByKey) -> Table:
        share = TEST_SHARE[kind]
        title = f"{TITLES[kind]}: {self._splits_in_words}, {1 - share:.0%} / {share:.0%}"
        paper = COMPARISON[kind]
        rows = [
            Row(method.label, over_splits(of(method.part), method.after), paper.get(method.key, {}))
            for method in METHODS
            if of(method.part)
        ]
        notes = [
            f"Settings of {part}, chosen on held-out training examples: {chosen_settings(of(part))}"
            for part in WITH_CHOICES
            if of(part)
        ]
        notes += [
            f"The {part} was trained for {min(passes)} to {max(passes)} passes."
            for part in UNTIL_STEADY
            if (passes := [result["passes"][-1]["passes"] for result in of(part)])
        ]
        return Table(f"comparison-{kind}", title, COLUMNS, rows, notes)

    @property
    def _splits_in_words(self) -> str:
        count = self.settings.splits
        part = " of a sample of the data" if self.settings.quick else ""
        return f"{count} random split{'s' if count > 1 else ''}{part}"

    def _sign_tests(self, of: Mapping[str, ablations.ResultsByKey]) -> Table:
        """FF with margin 0.5 after one pass, compared with the best other method."""
        rows = []
        for kind, results in of.items():
            others = [m for m in METHODS if m.learner != "feature-focus" and results(m.part)]
            best = max(others, key=lambda m: over_splits(results(m.part), m.after)["r1"].value)
            for key in ("r1", "r5"):
                ours = [one["passes"][0][key] for one in results(ablations.margin_key(MARGIN))]
                theirs = [one["passes"][best.after][key] for one in results(best.part)]
                test = sign_test(ours, theirs)
                numbers = {name: Number(float(value)) for name, value in test._asdict().items()}
                label = f"{TITLES[kind]}, {key.upper()}: FF against {best.label}"
                rows.append(Row(label, numbers))
        columns = [Column(name, name, 0) for name in ("wins", "losses", "ties")]
        title = (
            "Two-sided sign test over the splits: FF (margin 0.5, 1 pass) against the best other "
            "method"
        )
        return Table("sign-test", title, [*columns, Column("p", "p value", 4)], rows)

    def _draw_comparison(self, tables: Mapping[str, Table], key: str) -> Any:  # noqa: ANN401
        learner = {method.label: method.learner for method in METHODS}
        panels = []
        for kind, table in tables.items():
            dots = []
            for row in table.rows:
                if (name := learner[row.label]) != "frequency":  # far to the left of all others
                    ours, paper = row.ours[key], row.paper.get(key)
                    dots.append(Dot(row.label, LEARNER_COLOURS[name], ours, paper))
            panels.append(Panel(TITLES[kind], dots=dots))
        place = "first" if key == "r1" else "among the first five"
        measure = f"{key.upper()}: share of test examples whose class is ranked {place}"
        title = f"Index learning compared with classifiers: {key.upper()}, {self._splits_in_words}"
        return draw_dots(title, measure, panels)

    def _ablations(
        self, of: Mapping[str, ablations.ResultsByKey], tables: list[Table], drawings: list[Drawing]
    ) -> None:
        default = ablations.margin_key(MARGIN)
        light, degree, options = {}, {}, {}
        for kind, results in of.items():
            title = f"{TITLES[kind]}, margin {MARGIN:g}: "
            light[kind] = ablations.w_min_table(
                kind, title + "w_min", results, default, ablations.FEW_PASSES
            )
            degree[kind] = ablations.d_max_table(kind, title + "d_max", results, default)
            options[kind] = ablations.options_table(
                kind, title + "options, Boolean features, IND", results, default, OPTIONS[kind]
            )
        tables += [*light.values(), *degree.values(), *options.values()]
        for name, by_kind, values, words in (
            ("w-min", light, ablations.W_MINS, "w_min: connections lighter than this are dropped"),
            ("d-max", degree, ablations.D_MAXES, "d_max: connections that vote per feature"),
        ):
            panels = [
                ablations.settings_panel(TITLES[kind], table, values)
                for kind, table in by_kind.items()
            ]
            title = f"Feature Focus, margin {MARGIN:g}, 1 pass"
            drawings.append(Drawing(name, partial(draw_lines, title, words, "R1", panels)))
        panels = [ablations.options_panel(TITLES[kind], table) for kind, table in options.items()]
        title = "Options of Feature Focus, 1 pass (figures 11 and 15 to 17)"
        drawings.append(Drawing("options", partial(draw_dots, title, "R1", panels)))

    def _remarks(self) -> list[str]:
        remarks = []
        if self.settings.quick:
            remarks.append(
                f"With --quick {QUICK_DOCUMENTS:,} documents of each corpus are used; the paper's "
                "numbers are for all documents."
            )
        remarks += [
            "Settings are chosen on 20 % of the training examples; the paper chooses them on the "
            "test examples. The training time does not include this search.",
            "Times are processor time of this machine; the paper's are of a 2.4 GHz Opteron.",
            "The training of the perceptron ends when the share of training examples ranked "
            f"wrongly has not fallen for {PATIENCE} passes, or after {MOST_PASSES} passes.",
        ]
        if "newsgroups" in self.data:
            remarks.append(
                "20 Newsgroups: the paper used the vectors and splits of Rennie et al. (20,000 "
                "posts). Here a post is its subject and body, with a stop list, all numbers folded "
                "into one term, log tf and idf."
            )
            remarks.append(
                "The paper has no top-down row for 20 Newsgroups. Here the taxonomy follows the "
                "names of the groups, with C = 1 at every node."
            )
        if "reuters21578" in self.data:
            remarks.append(
                "Reuters-21578: all stories with at least one of the ten largest classes. A story "
                "with several of them keeps the last one, so that each story has one class as in "
                "the paper. These classes have no taxonomy, so there is no top-down row."
            )
        if "committee" not in LEARNERS:
            remarks.append(
                "The committee of perceptrons is left out, because this version has no such lane."
            )
        missing = [TITLES[need.kind] for need in self.needs if need.kind not in self.data]
        remarks += [f"{title} was not found in --data, so it is left out." for title in missing]
        return remarks


def train_one(spec: str, passes: int, on_training: bool, split: Split) -> Result:
    """Train a lane; `train_lane` with the split as the last argument, for `partial`."""
    return train_lane(spec, split, passes, on_training)


def part_name(kind: str, number: int, key: str) -> str:
    """The name of the part that computes `key` on a split."""
    return f"{kind} split {number + 1} {key}"


def later(
    run: Callable[[Split], Result], split_of: Callable[[str, int], Split], kind: str, number: int
) -> Callable[[], Result]:
    """Return a function that makes the vectors of a split only when it is called."""
    return lambda: run(split_of(kind, number))
