"""`mmp-rcv1`: topic ranking on RCV1, a year of newswire, in one pass (tables 3 and 4)."""

from __future__ import annotations

import resource
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pipeline.corpora import SourceError
from pipeline.corpora.rcv1 import Rcv1, trained_of
from pipeline.experiments.experiment import (
    Drawing,
    Experiment,
    Findings,
    Need,
    Part,
    Result,
    Series,
)
from pipeline.experiments.learner_colours import LEARNER_COLOURS
from pipeline.experiments.tables import Column, Number, Row, Table
from pipeline.experiments.topic_ranking.figures import (
    draw_losses,
    draw_precision_recall,
    draw_topics_per_document,
)
from pipeline.experiments.topic_ranking.methods import (
    OF_THE_PAPER,
    PAPER,
    MethodResults,
    TopicMethod,
)
from pipeline.experiments.topic_ranking.result_tables import (
    curves_csv,
    precision_recall_csv,
    topics_per_document,
    two_tables,
)
from pipeline.experiments.topic_ranking.stream_reader import Corpus
from pipeline.experiments.topic_ranking.stream_svm import COST, SampledSvm
from pipeline.experiments.topic_ranking.stream_training import (
    LearnerGroup,
    StreamLane,
    Vectors,
    results_of,
    run_groups,
)
from pipeline.experiments.topic_ranking.stream_vocabulary import (
    LEAST_DOCUMENTS,
    Counted,
    Selection,
    count,
    select,
)
from pipeline.log.block import Block
from pipeline.reports.plots import COLOURS
from pipeline.text.feature_settings import FeatureSettings
from pipeline.text.features import Vocabulary

KIND = "rcv1"
DATA = "Reuters-2000"
TOPICS_PER_DOCUMENT = 3.20
PROFILE = "reuters2000"
QUICK = 6000  # documents
FEWEST = 10
PEAK_PER_MIB = 1024 if sys.platform == "linux" else 2**20  # Linux counts in KiB, others in bytes
# One SVM per topic on half a million documents would take hours and all of them in memory.
SVM_DOCUMENTS = 20_000

MMP = "mmp:loss=1,margin=0.5,norm=l2"
ADDED = (
    TopicMethod("mmp-margin", "MMP, margin, l2", COLOURS[0], MMP, added=True),
    TopicMethod(
        "mmp-average", "MMP, margin, averaged, l2", COLOURS[2], f"{MMP},average=true", added=True
    ),
    TopicMethod("arow", "AROW", COLOURS[4], "arow", added=True),
)
# All terms, weighted by the statistics of the documents so far: no reading ahead.
RUNNING = TopicMethod("running", "AROW, running statistics", COLOURS[6], "arow", added=True)
SVM = TopicMethod("svm", "linear SVM", LEARNER_COLOURS["svm"], added=True)
METHODS = (*OF_THE_PAPER, *ADDED, RUNNING, SVM)

# The legible numbers of tables 3 and 4, as printed.
PRINTED = {
    "rocchio": {
        "loss1_percent": 70.71, "loss2": 12.42, "loss3_percent": 3.33,
        "one_error_percent": 24.42, "coverage": 9.89, "average_precision": 0.73, "max_f1": 0.63,
    },
    "perceptron": {
        "loss1_percent": 38.86, "loss2": 10.43, "loss3_percent": 2.64,
        "one_error_percent": 6.04, "coverage": 9.45, "average_precision": 0.87, "max_f1": 0.86,
    },
    "mmp3": {
        "loss1_percent": 34.57, "loss2": 2.90, "loss3_percent": 0.75,
        "one_error_percent": 6.49, "coverage": 3.98, "average_precision": 0.91, "max_f1": 0.87,
    },
}  # fmt: skip
CORPUS_COLUMNS = (
    Column("trained", "training", 0),
    Column("tested", "test", 0),
    Column("topics", "topics", 0),
    Column("words", "words", 0),
    Column("selected", "selected", 0),
    Column("before", "terms per document", 1),
    Column("after", "selected per document", 1),
)
# "words" counts the words that occur more than once.
CORPUS_PRINTED = {
    "trained": 521_439, "tested": 287_944, "topics": 102,
    "words": 225_329, "selected": 9_325, "before": 137, "after": 121,
}  # fmt: skip


class MmpRcv1(Experiment):
    """Tables 3 and 4, figures 5 and 6 of the paper: documents in order of time, read from files."""

    name = "mmp-rcv1"
    title = "topic ranking on Reuters-2000: two thirds are learned in one pass, a third is ranked"
    paper = PAPER
    needs = (
        Need(
            KIND,
            "the token files of LYRL2004 with rcv1-v2.topics.qrels, or the NewsML stories of RCV1",
            # A folder may have any name; an archive must have one of these names.
            r"rcv1|lyrl|reuters.?2000|^[^.]*$",
            Rcv1,
        ),
    )
    packages = ("matplotlib", "scipy", "sklearn")
    splits = (1, 1)

    def recorded_settings(self) -> Mapping[str, Any]:
        """The settings of the vectors, and the lanes."""
        return {
            "quick": self.settings.quick,
            "documents": QUICK if self.settings.quick else "all",
            "profile": PROFILE,
            "least_documents": LEAST_DOCUMENTS,
            "lanes": {method.key: method.spec for method in METHODS if method.spec},
            "svm": {"documents": SVM_DOCUMENTS, "C": COST},
        }

    def parts(self) -> Iterator[Part]:
        """A single part: all lanes share the same passes over the corpus."""
        yield Part("stream", self._run)

    def _run(self) -> Result:
        corpus = self._corpus()
        began = time.perf_counter()
        counted = count(corpus.training("counting terms"))
        selection = select(corpus.training("selecting terms"), counted)
        prepared = time.perf_counter()
        machines = SampledSvm(SVM, -(-counted.labelled // SVM_DOCUMENTS), self.say)
        groups = [
            LearnerGroup(
                Vectors(counted.vocabulary, selection.chosen),
                [*map(StreamLane, (*OF_THE_PAPER, *ADDED)), machines],
                counted.topics,
            ),
            LearnerGroup(
                Vectors(Vocabulary(FeatureSettings())), [StreamLane(RUNNING)], counted.topics
            ),
        ]
        training, testing = corpus.both("learning", "testing")
        test_labels = LabelCounts(set(counted.topics), Counter(counted.sizes))
        run_groups(groups, training, test_labels.count(testing))
        tested = groups[0].learners[0].tested
        if not tested.rounds_with_topics:
            raise SourceError(
                f"none of the {corpus.total - corpus.trained:,} test documents has a topic that "
                "training documents have; check that the file of topics belongs to these documents"
            )
        return {
            "lanes": results_of(groups),
            "corpus": corpus_facts(corpus, counted, selection, tested.rounds),
            "topics": counted.topics,
            "discarded": dict(sorted(test_labels.unknown.items())),
            "topics_per_document": {
                str(n): count for n, count in sorted(test_labels.sizes.items())
            },
            "seconds": {
                "terms": prepared - began,
                "lanes": time.perf_counter() - prepared - machines.seconds,
                "svm": machines.seconds,
            },
            "peak_memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / PEAK_PER_MIB,
        }

    def _corpus(self) -> Corpus:
        source = Rcv1(self.data[KIND])
        total = source.total
        if self.settings.quick:
            total = min(total, QUICK)
        if total < FEWEST:
            raise SourceError(
                f"{self.data[KIND]} has {total} documents; expected at least {FEWEST}"
            )
        self.say(f"{source.total:,} documents in order of time; {total:,} of them are used")
        return Corpus(source, trained_of(total), total, PROFILE, self.say)

    def findings(self, results: Mapping[str, Result]) -> Findings:
        """The paper's tables and figures, and the size of the corpus beside the paper's."""
        result = results["stream"]
        seen = result["lanes"][SVM.key]["documents"]
        svm = SVM._replace(label=f"{SVM.label} on {seen:,} documents")
        methods = [svm if method is SVM else method for method in METHODS]
        numbers = [MethodResults(method, [result["lanes"][method.key]]) for method in methods]
        online = [method for method in METHODS if "curve" in result["lanes"][method.key]]
        curves = [(method, result["lanes"][method.key]["curve"]) for method in online]
        of_the_paper = [one for one in curves if not one[0].added]
        of_added = [one for one in curves if one[0].added or one[0].key == "mmp1"]
        counts = result["topics_per_document"]
        tables = [
            topics_per_document("figure-3", DATA, counts, TOPICS_PER_DOCUMENT),
            *two_tables(numbers, PRINTED, 3, DATA),
            corpus_table(result["corpus"]),
        ]
        learning = f"{DATA}: learning curves"
        both = f"{DATA}: precision and recall (figure 6)"
        drawings = [
            Drawing("figure-3", partial(draw_topics_per_document, DATA, counts)),
            Drawing("figure-5", partial(draw_losses, f"{learning} (figure 5)", of_the_paper)),
            Drawing("figure-5-added", partial(draw_losses, f"{learning}, added methods", of_added)),
            Drawing("figure-6", partial(draw_precision_recall, both, numbers)),
        ]
        series = [
            Series("figure-5-curves", curves_csv(curves)),
            Series("figure-6-points", precision_recall_csv(numbers)),
        ]
        return Findings(tables, drawings, self._remarks(result), series)

    def _remarks(self, result: Result) -> list[str]:
        seconds, facts = result["seconds"], result["corpus"]
        documents = facts["trained"] + facts["tested"] + facts["unlabelled"]
        speed = documents / seconds["lanes"]
        remarks = [
            "The term statistics and the selected terms are those of the training part. It is read "
            "twice for them before the one pass in which the lanes learn; the lanes keep no "
            f"documents in memory. The row '{RUNNING.title}' needs no such reading: it uses all "
            "terms and the statistics of the documents so far.",
            f"The linear SVM (one per topic, C = {COST:g}, on vectors of length one) was trained "
            f"on {seen_by_svm(result['lanes'][SVM.key]['documents'], facts['trained'])}.",
            f"Time: terms {seconds['terms']:,.0f} s; lanes {seconds['lanes']:,.0f} s "
            f"({speed:,.0f} documents per second); SVM {seconds['svm']:,.0f} s. Peak memory: "
            f"{result['peak_memory_mib']:,.0f} MiB.",
        ]
        if result["discarded"]:
            topics = ", ".join(f"{code} ({n:,})" for code, n in result["discarded"].items())
            remarks.append(
                "Topics that only test documents have are discarded, as the paper does with GMIL. "
                f"They are, with the number of documents of each: {topics}."
            )
        if facts["unlabelled"]:
            remarks.append(
                f"{facts['unlabelled']:,} documents have no topics; they are neither learned nor "
                "tested."
            )
        if self.settings.quick:
            remarks.append(f"With --quick only the first {QUICK:,} documents are used.")
        return remarks


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """Counts the labels of the test documents while they are read."""

    topics: set[str]  # of training documents
    sizes: Counter[int]  # documents by number of topics
    unknown: Counter[str] = field(default_factory=Counter)  # topics that training does not have

    def count(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """Yield the same blocks, and count their labels."""
        for block in blocks:
            for entry in block.entries:
                if entry.topics is not None:
                    self.sizes[len(entry.topics)] += 1
                    self.unknown.update(set(entry.topics) - self.topics)
            yield block


def seen_by_svm(documents: int, trained: int) -> str:
    """How many training documents the SVM learns, and why not all."""
    if documents == trained:
        return f"all {documents:,} training documents"
    return (
        f"{documents:,} evenly spaced training documents; on all {trained:,} it would take hours "
        "and need all of them in memory"
    )


def corpus_facts(
    corpus: Corpus, counted: Counted, selection: Selection, tested: int
) -> dict[str, float]:
    """The numbers by which the paper describes its corpus."""
    return {
        "trained": counted.labelled,
        "tested": tested,
        "unlabelled": corpus.total - counted.labelled - tested,
        "topics": len(counted.topics),
        "words": len(counted.vocabulary),
        "selected": len(selection.chosen),
        "before": selection.before,
        "after": selection.after,
    }


def corpus_table(facts: Mapping[str, float]) -> Table:
    """The size of the corpus beside the paper's."""
    ours = {column.key: Number(facts[column.key]) for column in CORPUS_COLUMNS}
    paper = {key: Number(value) for key, value in CORPUS_PRINTED.items()}
    return Table(
        "corpus", "The corpus, and the terms per training document", CORPUS_COLUMNS,
        [Row("documents", ours, paper)],
    )  # fmt: skip
