"""`svm-map`: rankers trained for average precision, compared with the functions they combine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from pipeline.corpora.letor import read_letor
from pipeline.corpora.trec import read_trec, trec_files
from pipeline.experiments.experiment import (
    Drawing,
    Experiment,
    Findings,
    Need,
    Part,
    Result,
)
from pipeline.experiments.figures import Panel, draw_dots
from pipeline.experiments.query_ranking.methods import RetrievalMethod, methods_for, result_of
from pipeline.experiments.query_ranking.result_tables import dots_of, table_of
from pipeline.retrieval.evaluation_protocols import (
    PARTS,
    EvaluationProtocol,
    folds,
    halves,
    random_splits,
    trials,
)
from pipeline.retrieval.model_selection import FORMS, ModelSelector, Split
from pipeline.retrieval.query_sets import QuerySet
from pipeline.retrieval.trainers import COSTS, GAP, MOST_SEARCHES

PAPER = "Yue, Finley, Radlinski and Joachims 2007, SIGIR"
MOST_RANDOM_SPLITS = 10
QUICK_QUERIES = 40

LETOR = Need(
    "letor",
    "a LETOR file, or the folder or archive of its parts S1.txt to S5.txt",
    r"letor|mq200\d|mslr",
    read_letor,
)
TREC = Need(
    "trec",
    "TREC runs and judgements, written RUNS,QRELS; RUNS is a folder, file or pattern",
    r"(?!)",  # never matches: names of files do not show which judgements belong to which runs
    lambda path: trec_files(str(path)),
    lambda path: [*(files := trec_files(str(path))).runs, files.judgements],
)


class SvmMap(Experiment):
    """Tables 6, 7, 9 and 10 of the paper, on other query-document sets."""

    name = "svm-map"
    title = "rankers trained for average precision, compared with the functions they combine"
    paper = PAPER
    needs = (LETOR, TREC)
    packages = ("matplotlib", "scipy", "sklearn")
    splits = (50, 2)

    def recorded_settings(self) -> Mapping[str, Any]:
        """The seed, and the grids from which settings are chosen."""
        return {
            "seed": self.settings.seed,
            "quick": self.settings.quick,
            "forms": [form.text() for form in FORMS],
            "costs": COSTS,
            "gap": GAP,
            "most_searches": MOST_SEARCHES,
        }

    @cached_property
    def _selectors(self) -> Mapping[str, ModelSelector]:
        selectors = {}
        for kind, path in self.data.items():
            queries = read_letor(path) if kind == "letor" else read_trec(str(path))
            if self.settings.quick:
                queries = first_of(queries, QUICK_QUERIES)
            selectors[kind] = ModelSelector(queries)
        for line in self._left_out():
            self.say(line)
        return selectors

    def _left_out(self) -> list[str]:
        return trec_files(str(self.data["trec"])).remarks() if "trec" in self.data else []

    def _methods(self, kind: str) -> Sequence[RetrievalMethod]:
        return methods_for(self._selectors[kind], self.settings.quick)

    @cached_property
    def _protocols(self) -> Sequence[tuple[str, EvaluationProtocol]]:
        """The protocols, each with the kind of data that it is for."""
        count, seed = self.settings.splits, self.settings.seed
        protocols: list[tuple[str, EvaluationProtocol]] = []
        if "letor" in self.data:
            queries = self._selectors["letor"].queries
            most = min(count, MOST_RANDOM_SPLITS)
            protocols.append(("letor", folds(queries) or random_splits(queries, most, seed)))
        if "trec" in self.data:
            queries = self._selectors["trec"].queries
            protocols += [("trec", halves(queries, seed)), ("trec", trials(queries, count, seed))]
        return protocols

    def parts(self) -> Iterator[Part]:
        """Every method on every split of every protocol."""
        for kind, protocol in self._protocols:
            for split in protocol.splits:
                for method in self._methods(kind):
                    run = partial(self._run, kind, method, split)
                    yield Part(part_name(kind, protocol, split, method), run)

    def _run(self, kind: str, method: RetrievalMethod, split: Split) -> Result:
        return result_of(method, self._selectors[kind], split, 2 if self.settings.quick else 1)

    def findings(self, results: Mapping[str, Result]) -> Findings:
        """A table per protocol, and one figure of all."""
        tables, panels = [], []
        for kind, protocol in self._protocols:
            methods = self._methods(kind)
            by_method = {
                method.key: [
                    results[part_name(kind, protocol, split, method)] for split in protocol.splits
                ]
                for method in methods
            }
            title = f"{TITLES[kind]}: {protocol.title}"
            tables.append(table_of(f"{kind}-{protocol.name}", title, methods, by_method))
            panels.append(Panel(title, dots=dots_of(methods, by_method)))
        drawing = Drawing("map", partial(draw_dots, "Mean average precision", "MAP", panels))
        return Findings(tables, [drawing], self._remarks())

    def _remarks(self) -> list[str]:
        remarks = []
        for kind, selector in self._selectors.items():
            queries = selector.queries
            known = len(queries.with_relevant())
            remarks.append(
                f"{kind}: {len(queries):,} queries, {known:,} of them with relevant documents; "
                f"{len(queries.documents):,} documents, scored by {len(queries.functions)} "
                "functions. Means leave out queries without relevant documents; the column 'MAP, "
                "none = 0' counts such a query as 0."
            )
        if self.settings.quick:
            remarks.append(
                f"With --quick at most {QUICK_QUERIES} queries are used: the first queries of each "
                "part that have relevant documents."
            )
        if "letor" in self._selectors:
            remarks += remarks_on_parts(self._selectors["letor"].queries)
        return [*remarks, *self._left_out(), *REMARKS]


TITLES = {"letor": "LETOR", "trec": "TREC runs"}
REMARKS = (
    "W and L (wins and losses) count the queries on which the average precision of SVM-map is "
    "higher or lower than that of the row. p is the p value of the two-tailed Wilcoxon signed-rank "
    "test; ** marks values below 0.05.",
    "The paper's numbers are for other data: topics 451 to 550 on WT10g, 50 trials of 10, 5 and 35 "
    "queries. MAP with Indri functions on TREC 9 and TREC 10: SVM-map 0.242 and 0.236; best "
    "function 0.204 (39/11 **) and 0.181 (37/13 **), second best 0.199 and 0.174, third best 0.188 "
    "and 0.174.",
    "NDCG uses gains 2^grade - 1 and discounts log2(place + 1).",
)


def part_name(
    kind: str, protocol: EvaluationProtocol, split: Split, method: RetrievalMethod
) -> str:
    """The name of the part of a method on a split."""
    return f"{kind} {protocol.name} {split.name} {method.key}"


def first_of(queries: QuerySet, count: int) -> QuerySet:
    """The first queries of each part that have relevant documents, `count` in total.

    A part without relevant documents keeps its first queries, because the folds need all parts. If
    no query has a relevant document, all queries are returned.
    """
    known = queries.with_relevant()
    if not len(known):
        return queries
    parts = np.array(queries.parts)
    names = list(dict.fromkeys(queries.parts))
    each = count // len(names) or 1
    chosen = []
    for name in names:
        of_part = np.flatnonzero(parts == name)
        with_relevant = np.intersect1d(of_part, known)
        chosen.append((with_relevant if len(with_relevant) else of_part)[:each])
    return queries.select(np.concatenate(chosen))


def remarks_on_parts(queries: QuerySet) -> list[str]:
    """Remarks on missing or empty parts, from which LETOR's folds are made."""
    there = set(queries.parts)
    if missing := [part for part in PARTS if part not in there]:
        if len(missing) == len(PARTS):
            return []  # another data set, without such parts
        return [
            f"letor: {', '.join(missing)} has no queries, so LETOR's five folds cannot be made. "
            "Random splits are used instead."
        ]
    known = {queries.parts[query] for query in queries.with_relevant()}
    if not (empty := [part for part in PARTS if part not in known]):
        return []
    return [
        f"letor: no query of {', '.join(empty)} has a relevant document. As a test part it gives "
        "no measures; as a validation part it chooses the first form and the smallest C."
    ]
