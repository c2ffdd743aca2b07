"""`mmp-reuters21578`: topic ranking on Reuters-21578, by five-fold cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pipeline.experiments.corpus_needs import REUTERS21578
from pipeline.experiments.experiment import (
    Drawing,
    Experiment,
    Findings,
    Part,
    Result,
    Series,
)
from pipeline.experiments.learner_colours import LEARNER_COLOURS
from pipeline.experiments.tables import Table
from pipeline.experiments.topic_ranking import fold_svm
from pipeline.experiments.topic_ranking.figures import (
    draw_losses,
    draw_precision_recall,
    draw_topics_per_document,
)
from pipeline.experiments.topic_ranking.fold_training import train_chosen
from pipeline.experiments.topic_ranking.folds import HELD_OUT, Fold, cross_validation, text_fold
from pipeline.experiments.topic_ranking.methods import (
    OF_THE_PAPER,
    ONLINE,
    PAPER,
    MethodResults,
    TopicMethod,
)
from pipeline.experiments.topic_ranking.result_tables import (
    curves_csv,
    difference_tables,
    mean_curves,
    precision_recall_csv,
    topics_per_document,
    two_tables,
)
from pipeline.experiments.topic_ranking.reuters_documents import (
    STEM,
    ReutersDocuments,
    the_90_topics,
)
from pipeline.reports.plots import COLOURS

FOLDS = 5
PROFILE = "reuters21578"
QUICK_DOCUMENTS = 1000
DATA = "Reuters-21578"
# Tables 1 and 2 of the paper, by the key of the column.
FIGURES = {
    "rocchio": {
        "one_error_percent": 14.48, "coverage": 1.29, "average_precision": 0.90, "max_f1": 0.85,
    },
    "perceptron": {
        "loss1_percent": 15.71, "loss2": 4.87, "loss3_percent": 3.13,
        "one_error_percent": 9.59, "coverage": 4.27, "average_precision": 0.91, "max_f1": 0.89,
    },
    "mmp3": {
        "loss1_percent": 19.13, "loss2": 0.92, "loss3_percent": 0.60,
        "one_error_percent": 14.51, "coverage": 0.96, "average_precision": 0.90, "max_f1": 0.84,
    },
}  # fmt: skip
TOPICS_PER_DOCUMENT = 1.24

# The kinds of vectors that a fold's texts are turned into.
SELECTED, WHOLE, ENRICHED = "selected", "whole", "enriched"
LEAST_DOCUMENTS = 2  # terms of `ENRICHED` in fewer training documents are ignored


class MethodRun(NamedTuple):
    """A method, the kind of its vectors, and the specs of which the best is chosen."""

    method: TopicMethod
    vectors: str
    specs: Sequence[str] = ()  # empty for the SVM
    lanes: Sequence[str] = ()  # the lanes that a stacker combines


MARGINS = (0.1, 0.25, 0.5, 1.0)
RHOS = (0.3, 0.5, 1.0, 2.0)
AROW_SPECS = tuple(f"arow:rho={rho:g}" for rho in RHOS)
# What the stacker combines, and its options; both were chosen on inner splits of training folds
# (docs/measurements/reuters21578.md).
COMBINED = (
    "arow:rho=0.5", "mmp:loss=1,margin=0.5,norm=l2", "perceptron:norm=l2", "rocchio:norm=l2",
)  # fmt: skip
STACKER_SPECS = ("svm-map:refit=1000,window=4000,proof=0",)
MMP_1 = next(method for method in ONLINE if method.key == "mmp1")
MARGIN = TopicMethod("mmp-margin", "MMP, margin, l2", MMP_1.colour, added=True)
AVERAGED = TopicMethod("mmp-average", "MMP, margin, averaged, l2", MMP_1.colour, added=True)
AROW = TopicMethod("arow", "AROW", COLOURS[4], added=True)
AROW_ENRICHED = TopicMethod("arow-enriched", "AROW, enriched", COLOURS[6], added=True)
STACKER = TopicMethod("stacker", "stacker", COLOURS[1], added=True)
STACKER_ENRICHED = TopicMethod("stacker-enriched", "stacker, enriched", COLOURS[1], added=True)
SVM = TopicMethod("svm", "batch SVM", LEARNER_COLOURS["svm"], added=True)
SVM_ENRICHED = TopicMethod(
    "svm-enriched", "batch SVM, enriched", LEARNER_COLOURS["svm"], added=True
)
# The rows of the tables; one more line here adds a lane.
RUNS = (
    *(MethodRun(method, SELECTED, (method.spec,)) for method in OF_THE_PAPER),
    MethodRun(MARGIN, WHOLE, [f"mmp:loss=1,margin={margin:g},norm=l2" for margin in MARGINS]),
    MethodRun(
        AVERAGED, WHOLE,
        [f"mmp:loss=1,margin={margin:g},average=true,norm=l2" for margin in MARGINS],
    ),
    MethodRun(AROW, WHOLE, AROW_SPECS),
    MethodRun(STACKER, WHOLE, STACKER_SPECS, COMBINED),
    MethodRun(SVM, WHOLE),
    MethodRun(AROW_ENRICHED, ENRICHED, AROW_SPECS),
    MethodRun(STACKER_ENRICHED, ENRICHED, STACKER_SPECS, COMBINED),
    MethodRun(SVM_ENRICHED, ENRICHED),
)  # fmt: skip
VECTORS = (SELECTED, WHOLE, ENRICHED)


class MmpReuters21578(Experiment):
    """Tables 1 and 2, figures 3, 4 and 6 of the paper, on its smaller corpus."""

    name = "mmp-reuters21578"
    title = "topic ranking on Reuters-21578, by cross-validation"
    paper = PAPER
    needs = (REUTERS21578,)
    packages = ("matplotlib", "sklearn", "scipy")
    splits = (FOLDS, 1)

    def recorded_settings(self) -> Mapping[str, Any]:
        """The seed, the text settings, and the specs that are tried."""
        return {
            "seed": self.settings.seed,
            "quick": self.settings.quick,
            "folds": FOLDS,
            "profile": PROFILE,
            "weights": "pivoted, statistics of the training folds",
            "held_out": HELD_OUT,
            "lanes": {run.method.key: run.specs for run in RUNS if run.specs},
            "combined": COMBINED,
            "vectors": {run.method.key: run.vectors for run in RUNS},
            "C": fold_svm.COSTS,
        }

    def documents(self) -> ReutersDocuments:
        """The documents; with --quick a sample of them."""
        every = the_90_topics(self.data["reuters21578"])
        quick = self.settings.quick
        return every.sample(QUICK_DOCUMENTS, self.settings.seed) if quick else every

    def parts(self) -> Iterator[Part]:
        """First the counts of the corpus, then a part per fold and kind of vectors."""
        documents = self.documents()
        self.say(f"{DATA}: {len(documents):,} documents, {len(documents.names)} topics")
        yield Part("documents", partial(document_counts, documents))
        for number in range(self.settings.splits):
            fold_of = partial(self.fold, documents, number)
            for vectors in VECTORS:
                yield Part(part_name(number, vectors), partial(train, vectors, fold_of))

    def fold(self, documents: ReutersDocuments, number: int, vectors: str) -> Fold:
        """Fold `number` of the cross-validation, with one kind of vectors."""
        train, test = cross_validation(len(documents), FOLDS, self.settings.seed, number)
        texts, min_df = documents.texts(), 1
        if vectors == ENRICHED:
            texts, min_df = documents.enriched_texts(), LEAST_DOCUMENTS
        topics, known = documents.topics, len(documents.names)
        fold = text_fold(texts, topics, known, PROFILE, train, test, min_df)
        return fold.selected() if vectors == SELECTED else fold

    def findings(self, results: Mapping[str, Result]) -> Findings:
        """The paper's tables and figures, and how one pass compares with the batch learner."""
        numbers = {
            run.method.key: MethodResults(run.method, self._of(results, run)) for run in RUNS
        }
        curves = {
            key: (one.method, mean_curves([fold["curve"] for fold in one.folds]))
            for key, one in numbers.items()
            if "curve" in one.folds[0]
        }
        counts = results["documents"]["topics_per_document"]
        series = [
            Series("figure-4-curves", curves_csv(list(curves.values()))),
            Series("figure-6-points", precision_recall_csv(list(numbers.values()))),
        ]
        return Findings(
            self._tables(numbers, counts), drawings(numbers, curves, counts),
            self._remarks(results), series,
        )  # fmt: skip

    def _tables(
        self, numbers: Mapping[str, MethodResults], counts: Mapping[str, int]
    ) -> list[Table]:
        pairs = [
            (AROW, SVM), (STACKER, SVM), (AROW_ENRICHED, SVM), (STACKER_ENRICHED, SVM),
            (AROW_ENRICHED, SVM_ENRICHED), (STACKER_ENRICHED, SVM_ENRICHED),
        ]  # fmt: skip
        compared = [(numbers[one.key], numbers[other.key]) for one, other in pairs]
        return [
            topics_per_document("figure-3", DATA, counts, TOPICS_PER_DOCUMENT),
            *two_tables(list(numbers.values()), FIGURES, 1, self._data()),
            *difference_tables("svm", "One pass against the batch SVM", compared),
        ]

    def _data(self) -> str:
        count = self.settings.splits
        return f"{DATA}, {f'mean of {count} folds' if count > 1 else 'one fold'}"

    def _of(self, results: Mapping[str, Result], run: MethodRun) -> list[Result]:
        """The results of a method in each fold."""
        names = [part_name(number, run.vectors) for number in range(self.settings.splits)]
        return [results[name]["methods"][run.method.key] for name in names]

    def _remarks(self, results: Mapping[str, Result]) -> list[str]:
        whole, selected = (self._facts(results, vectors) for vectors in (WHOLE, SELECTED))
        return [
            f"The training folds have {whole['terms']:,.0f} terms (paper: 25,061), with "
            f"{whole['distinct']:.1f} distinct terms per document (paper: 49). Rocchio selects "
            f"{selected['terms']:,.0f} terms (paper: 3,468), {selected['distinct']:.1f} per "
            "document (paper: 37).",
            "The added methods use vectors of all terms, of length one. 'Enriched' vectors count "
            "the headline twice, add a term for each of its words, and add the first "
            f"{STEM} letters of longer words as terms. They ignore terms that occur in fewer than "
            f"{LEAST_DOCUMENTS} training documents.",
            f"The stacker combines {'; '.join(COMBINED)}. All five learn in the same pass.",
            "Margin, rho and C are chosen in each fold by the average precision on "
            f"{HELD_OUT:.0%} of its training documents: {'; '.join(self._chosen(results))}.",
            *self._quick(),
        ]

    def _facts(self, results: Mapping[str, Result], vectors: str) -> dict[str, float]:
        """The number of terms of one kind of vectors, averaged over the folds."""
        names = [part_name(number, vectors) for number in range(self.settings.splits)]
        return {
            fact: float(np.mean([results[name]["facts"][fact] for name in names]))
            for fact in ("terms", "distinct")
        }

    def _chosen(self, results: Mapping[str, Result]) -> Iterator[str]:
        """For each method the settings that were chosen, with how many folds chose each."""
        for run in RUNS:
            if len(run.specs) != 1:
                chosen = [
                    str(fold["lane"]) if "lane" in fold else f"C={fold['C']:g}"
                    for fold in self._of(results, run)
                ]
                counts = (f"{one} ({chosen.count(one)}x)" for one in sorted(set(chosen)))
                yield f"{run.method.label}: {', '.join(counts)}"

    def _quick(self) -> Sequence[str]:
        remark = f"With --quick only {QUICK_DOCUMENTS:,} documents and one fold are used."
        return [remark] if self.settings.quick else []


def drawings(
    numbers: Mapping[str, MethodResults],
    curves: Mapping[str, tuple[TopicMethod, Result]],
    counts: Mapping[str, int],
) -> list[Drawing]:
    """Figures 3, 4 and 6, and figure 4 again with the added methods."""
    four = [curves[method.key] for method in ONLINE]
    added = [curves[method.key] for method in (MMP_1, MARGIN, AROW, AROW_ENRICHED)]
    shown = [numbers[method.key] for method in (*OF_THE_PAPER, MARGIN, SVM, AROW_ENRICHED)]
    titles = [f"{DATA}: learning curves{more}" for more in (" (figure 4)", ", added methods")]
    return [
        Drawing("figure-3", partial(draw_topics_per_document, DATA, counts)),
        Drawing("figure-4", partial(draw_losses, titles[0], four)),
        Drawing("figure-4-added", partial(draw_losses, titles[1], added)),
        Drawing(
            "figure-6",
            partial(draw_precision_recall, f"{DATA}: precision and recall (figure 6)", shown),
        ),
    ]


def part_name(number: int, vectors: str) -> str:
    """The name of the part with all methods of one kind of vectors in a fold."""
    return f"fold {number + 1} {vectors}"


def document_counts(documents: ReutersDocuments) -> Result:
    """The number of documents, of topics, and of documents by number of topics."""
    counts = np.bincount([len(topics) for topics in documents.topics])
    return {
        "documents": len(documents),
        "topics": len(documents.names),
        "topics_per_document": {str(n): int(count) for n, count in enumerate(counts) if count},
    }


def train(vectors: str, fold_of: Callable[[str], Fold]) -> Result:
    """Train all methods with this kind of vectors on one fold."""
    fold = fold_of(vectors)
    facts = {"terms": fold.terms, "distinct": len(fold.train.rows.terms) / len(fold.train)}
    methods = {
        run.method.key: train_chosen(run.specs, fold, run.lanes)
        if run.specs
        else fold_svm.train_svm(fold)
        for run in RUNS
        if run.vectors == vectors
    }
    return {"facts": facts, "methods": methods}
