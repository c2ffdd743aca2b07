"""`svm-map`: rankers trained for average precision against the functions they combine."""

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
    "a LETOR file, or the folder or archive of its parts S1.txt .. S5.txt",
    r"letor|mq200\d|mslr",
    read_letor,
)
TREC = Need(
    "trec",
    "TREC runs and judgements, written RUNS,QRELS; RUNS a folder, file or pattern",
    r"(?!)",  # nothing in a folder says by its name which runs belong to which judgements
    lambda path: trec_files(str(path)),
    lambda path: [*(found := trec_files(str(path))).runs, found.judgements],
)


class SvmMap(Experiment):
    """Tables 6, 7, 9 and 10 of the paper, on the query-document sets that are given."""

    name = "svm-map"
    title = "rankers trained for average precision, and the functions they combine"
    paper = PAPER
    needs = (LETOR, TREC)
    packages = ("matplotlib", "scipy", "sklearn")
    splits = (50, 2)

    def recorded_settings(self) -> Mapping[str, Any]:
        """The seed, and what settings are chosen from."""
        return {
            "seed": self.settings.seed,
            "quick": self.settings.quick,
            "forms": [form.words() for form in FORMS],
            "costs": COSTS,
            "gap": GAP,
            "most_searches": MOST_SEARCHES,
        }

    @cached_property
    def _benches(self) -> Mapping[str, ModelSelector]:
        found = {}
        for kind, path in self.data.items():
            queries = read_letor(path) if kind == "letor" else read_trec(str(path))
            if self.settings.quick:
                queries = first_of(queries, QUICK_QUERIES)
            found[kind] = ModelSelector(queries)
        for line in self._left_out():
            self.say(line)
        return found

    def _left_out(self) -> list[str]:
        return trec_files(str(self.data["trec"])).remarks() if "trec" in self.data else []

    def _methods(self, kind: str) -> Sequence[RetrievalMethod]:
        return methods_for(self._benches[kind], self.settings.quick)

    @cached_property
    def _protocols(self) -> Sequence[tuple[str, EvaluationProtocol]]:
        """With the kind of data that each is for."""
        count, seed = self.settings.splits, self.settings.seed
        found: list[tuple[str, EvaluationProtocol]] = []
        if "letor" in self.data:
            queries = self._benches["letor"].queries
            some = min(count, MOST_RANDOM_SPLITS)
            found.append(("letor", folds(queries) or random_splits(queries, some, seed)))
        if "trec" in self.data:
            queries = self._benches["trec"].queries
            found += [("trec", halves(queries, seed)), ("trec", trials(queries, count, seed))]
        return found

    def parts(self) -> Iterator[Part]:
        """Every method on every split."""
        for kind, protocol in self._protocols:
            for split in protocol.splits:
                for method in self._methods(kind):
                    run = partial(self._run, kind, method, split)
                    yield Part(part_name(kind, protocol, split, method), run)

    def _run(self, kind: str, method: RetrievalMethod, split: Split) -> Result:
        return result_of(method, self._benches[kind], split, 2 if self.settings.quick else 1)

    def findings(self, results: Mapping[str, Result]) -> Findings:
        """A table for each protocol, and a picture of all."""
        tables, panels = [], []
        for kind, protocol in self._protocols:
            methods = self._methods(kind)
            found = {
                method.key: [
                    results[part_name(kind, protocol, split, method)] for split in protocol.splits
                ]
                for method in methods
            }
            title = f"{TITLES[kind]}: {protocol.title}"
            tables.append(table_of(f"{kind}-{protocol.name}", title, methods, found))
            panels.append(Panel(title, dots=dots_of(methods, found)))
        drawing = Drawing("map", partial(draw_dots, "Mean average precision", "MAP", panels))
        return Findings(tables, [drawing], self._remarks())

    def _remarks(self) -> list[str]:
        said = []
        for kind, bench in self._benches.items():
            queries = bench.queries
            known = len(queries.with_relevant())
            said.append(
                f"{kind}: {len(queries):,} queries, {known:,} of them with relevant documents; "
                f"{len(queries.documents):,} documents of {len(queries.functions)} functions. "
                "Queries without relevant documents are in no mean, except where a column says "
                "that they count as 0."
            )
        if self.settings.quick:
            said.append(
                f"With --quick at most {QUICK_QUERIES} queries are used, the first with relevant "
                "documents of each part."
            )
        if "letor" in self._benches:
            said += remarks_on_parts(self._benches["letor"].queries)
        return [*said, *self._left_out(), *REMARKS]


TITLES = {"letor": "LETOR", "trec": "TREC runs"}
REMARKS = (
    "W and L count the queries on which SVM-map has a higher or lower average precision than the "
    "row; p is that of the two-tailed Wilcoxon signed-rank test, ** says that it is below 0.05.",
    "The paper's numbers are of other data (topics 451 to 550 on WT10g; 50 trials of 10, 5 and 35 "
    "queries). Indri functions, TREC 9 and TREC 10: SVM-map 0.242 and 0.236; best function 0.204 "
    "(39/11 **) and 0.181 (37/13 **), second 0.199 and 0.174, third 0.188 and 0.174.",
    "NDCG has gains 2^grade - 1 and discounts log2(place + 1).",
)


def part_name(
    kind: str, protocol: EvaluationProtocol, split: Split, method: RetrievalMethod
) -> str:
    """What a result is kept under."""
    return f"{kind} {protocol.name} {split.name} {method.key}"


def first_of(queries: QuerySet, count: int) -> QuerySet:
    """The first queries with relevant documents of each part; all, if none has such documents.

    Of a part without any the first queries as they are: the folds need all parts.
    """
    known = queries.with_relevant()
    if not len(known):
        return queries
    parts = np.array(queries.parts)
    names = list(dict.fromkeys(queries.parts))
    each = count // len(names) or 1
    chosen = []
    for name in names:
        mine = np.flatnonzero(parts == name)
        with_relevant = np.intersect1d(mine, known)
        chosen.append((with_relevant if len(with_relevant) else mine)[:each])
    return queries.some(np.concatenate(chosen))


def remarks_on_parts(queries: QuerySet) -> list[str]:
    """What is not as it should be with the parts that LETOR's folds are made of."""
    there = set(queries.parts)
    if missing := [part for part in PARTS if part not in there]:
        if len(missing) == len(PARTS):
            return []  # another set, which has no such parts
        return [
            f"letor: no queries in {', '.join(missing)}, so there are no five folds: splits are "
            "random."
        ]
    known = {queries.parts[query] for query in queries.with_relevant()}
    if not (empty := [part for part in PARTS if part not in known]):
        return []
    return [
        f"letor: no query of {', '.join(empty)} has a relevant document. Such a part measures "
        "nothing, and where it is to choose, the first form and the smallest C are taken."
    ]
