"""`python -m tests.bench.quality.decisions`: the sets that lanes assign, beside other ways.

Lanes follow each corpus once; sets of its last 30 % are measured, with labels still coming after
each set. Beside them:

- the best single threshold on scores, chosen in hindsight on the measured documents themselves;
- a fixed number of topics per document, the one that was best so far;
- a linear SVM per topic, trained on the first 70 %, with the better of one threshold for all topics
  and one for each topic, tuned by cross-validation, for each measure on its own.

Topics that do not occur in the first 70 % are left out. The macro F1 leaves out those that do not
occur in the measured part, too.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from learners.arrays import Bools, Floats
from learners.decisions.decided import CANDIDATES
from pipeline import Replay
from tests.bench.quality.__main__ import corpora_at_hand
from tests.bench.quality.held_out import Corpus, read_corpus
from tests.bench.quality.peers import analyzers_for, matrices, svm_scores

GOALS = ("f1", "micro", "macro")
PRECISIONS = (0.7, 0.8, 0.9, 0.95)
FOLDS = 3
HEADER = "| {:<34} | micro F1 | macro F1 | sample F1 | subset acc. % | Hamming % |"
ROW = "| {:<34} | {:.4f} | {:.4f} | {:.4f} | {:.2f} | {:.3f} |"


class Sets(NamedTuple):
    """How good assigned sets are."""

    micro_f1: float
    macro_f1: float
    sample_f1: float
    subset_accuracy: float  # percent
    hamming_loss: float  # percent


def measure(assigned: Bools, relevant: Bools) -> Sets:
    """Measure sets: documents x topics."""
    right = assigned & relevant

    def f1(axis: int | None) -> Floats:
        sizes = np.asarray(assigned.sum(axis) + relevant.sum(axis), float)
        return np.where(sizes > 0, 2.0 * right.sum(axis) / np.maximum(sizes, 1), 1.0)

    occurs = relevant.any(axis=0)
    return Sets(
        float(f1(None)),
        float(f1(0)[occurs].mean()),
        float(f1(1).mean()),
        100.0 * float((assigned == relevant).all(axis=1).mean()),
        100.0 * float((assigned != relevant).mean()),
    )


class Run(NamedTuple):
    """What a lane emitted for the last documents, and what was true: documents x topics."""

    assigned: Bools
    relevant: Bools
    scores: Floats  # -inf where a topic was no candidate
    probabilities: Floats
    second_half: slice


def follow(corpus: Corpus, spec: str) -> Run:
    """Let a lane follow a corpus, labels included; return the sets of all documents."""
    events = [*corpus.learned, *corpus.held_out]
    column = {name: i for i, name in enumerate(corpus.topics)}
    shape = (len(events), len(column))
    assigned, relevant = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
    scores, probabilities = np.full(shape, -np.inf), np.zeros(shape)
    for row, document in enumerate(Replay(events, [spec], top=CANDIDATES)):
        decision = document.decisions[spec]
        for topic, score in document.rankings[spec]:
            if topic in column:
                scores[row, column[topic]] = score
                probabilities[row, column[topic]] = decision.probabilities[topic]
                assigned[row, column[topic]] = topic in decision.assigned
        relevant[row, [column[t] for t in document.topics or () if t in column]] = True
    return Run(assigned, relevant, scores, probabilities, slice(len(events) // 2, None))


def best_threshold(scores: Floats, relevant: Bools) -> Sets:
    """The best of each measure over single thresholds, known only in hindsight."""
    finite = scores[np.isfinite(scores)]
    cuts = np.quantile(finite, np.linspace(0.5, 1.0, 200))
    return best_of([measure(scores >= cut, relevant) for cut in cuts])


def best_of(found: Sequence[Sets]) -> Sets:
    """The best of each measure on its own."""
    micro, macro, sample, subsets, hamming = zip(*found, strict=True)
    return Sets(max(micro), max(macro), max(sample), max(subsets), min(hamming))


def learned_cut(scores: Floats, relevant: Bools) -> Bools:
    """As many topics for every document as had the highest mean F1 so far."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, :CANDIDATES]
    hits = np.take_along_axis(relevant, order, axis=1)
    sizes = np.arange(1, order.shape[1] + 1) + relevant.sum(1)[:, None]
    total = np.zeros(order.shape[1])
    assigned = np.zeros(scores.shape, np.bool_)
    for row, f1 in enumerate(2.0 * np.cumsum(hits, axis=1) / sizes):
        assigned[row, order[row, : int(total.argmax()) + 1]] = True
        total += f1
    return assigned


def svm_sets(corpus: Corpus, analyzer: str, cost: float = 1.0) -> Sets:
    """One linear SVM per topic; thresholds are tuned by cross-validation on the first part."""
    X, held_out, Y = matrices(corpus, analyzer)
    fold = np.arange(X.shape[0]) % FOLDS
    validated = np.empty(Y.shape)
    for part in range(FOLDS):
        inside, outside = np.flatnonzero(fold != part), np.flatnonzero(fold == part)
        validated[outside] = svm_scores(X[inside], csr_matrix(Y[inside]), X[outside], cost)
    truth, scores = np.asarray(Y.todense(), np.bool_), svm_scores(X, Y, held_out, cost)
    cuts = np.linspace(-1.5, 1.0, 101)

    def f1_at(cut: float) -> float:
        return measure(validated >= cut, truth).micro_f1

    one = np.full(truth.shape[1], max(cuts, key=f1_at))
    each = np.array([best_cut(validated[:, t], truth[:, t], cuts) for t in range(truth.shape[1])])
    return best_of([measure(scores >= cut, corpus.relevant) for cut in (one, each)])


def best_cut(scores: Floats, truth: Bools, cuts: Floats) -> float:
    """The threshold of a topic that gives the best F1."""

    def f1_at(cut: float) -> float:
        chosen = scores >= cut
        return 2.0 * float((chosen & truth).sum()) / max(1, int(chosen.sum() + truth.sum()))

    return float(max(cuts, key=f1_at))


def calibration_error(likely: Floats, relevant: Bools, bins: int = 15) -> float:
    """The expected calibration error of some probabilities."""
    place = np.minimum((likely * bins).astype(int), bins - 1)
    gaps = [abs((likely - relevant)[place == i].sum()) for i in range(bins)]
    return float(sum(gaps) / max(1, len(likely)))


def show(name: str, sets: Sets) -> None:
    """Print a row of the table."""
    print(ROW.format(name, *sets), flush=True)


def run_corpus(corpus: Corpus, lane: str, with_svm: bool) -> None:
    """Print the tables of a corpus."""
    count = len(corpus.learned) + len(corpus.held_out)
    print(f"\n## {corpus.name}\n\n{count:,} documents, {len(corpus.topics):,} topics\n")
    print(HEADER.format("method") + "\n|---|---|---|---|---|---|")
    late = slice(len(corpus.learned), None)
    runs = {goal: follow(corpus, f"{lane}:assign={goal}") for goal in GOALS}
    for goal, run in runs.items():
        show(f"{lane}:assign={goal}", measure(run.assigned[late], run.relevant[late]))
    run = runs["micro"]
    cut = learned_cut(run.scores, run.relevant)
    show("the same scores, learned cut", measure(cut[late], run.relevant[late]))
    show("one threshold, best in hindsight", best_threshold(run.scores[late], run.relevant[late]))
    if with_svm:
        for analyzer in analyzers_for(corpus):
            show(f"LinearSVC, {analyzer}", svm_sets(corpus, analyzer))
    half = run.second_half
    asked = np.isfinite(run.scores[half])
    error = calibration_error(run.probabilities[half][asked], run.relevant[half][asked])
    print(f"\ncalibration error of the second half: {error:.4f}")
    for wanted in PRECISIONS:
        got = follow(corpus, f"{lane}:assign=precision:{wanted}")
        chosen, true = got.assigned[half], got.relevant[half]
        right = (chosen & true).sum()
        precision, recall = right / max(1, chosen.sum()), right / max(1, true.sum())
        print(f"precision {wanted}: {precision:.3f}, with a recall of {recall:.3f}", flush=True)


def main() -> None:
    """Run the corpora that are named, or those at hand."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sources", nargs="*", help="NAME=SOURCE, as `wirerank replay` takes it")
    parser.add_argument("--lane", default="soft-arow", help="the lane that assigns topics")
    parser.add_argument("--no-svm", action="store_true", help="leave out LinearSVC, which is slow")
    arguments = parser.parse_args()
    named = (one.partition("=") for one in arguments.sources)
    sources = {name: source for name, _, source in named} or corpora_at_hand()
    for name, source in sources.items():
        run_corpus(read_corpus(name, source), arguments.lane, not arguments.no_svm)


if __name__ == "__main__":
    main()
