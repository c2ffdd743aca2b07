"""The terms of a training part that is read in blocks: counted first, then selected by Rocchio.

As in the 2002 paper, document frequencies and the pivot are those of the whole training part, words
that occur in a single training document are left out, and lanes see only the selected terms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from learners.arrays import Longs
from learners.prototypes.rocchio import Rocchio, select_terms
from learners.segment import Segment, Steps
from pipeline.corpora import SourceError
from pipeline.log.block import Block
from pipeline.text.feature_settings import FeatureSettings
from pipeline.text.features import DISTINCT, Vocabulary
from pipeline.text.terms import copied

MAX_TERMS = 1 << 20  # of the training part, rare ones included; the rarest beyond are dropped
LEAST_DOCUMENTS = 2  # terms in fewer training documents are left out

Labels = Sequence[Sequence[int] | None]  # topics per document; None if it is not labelled


class Counted(NamedTuple):
    """The counts of one reading of the training part."""

    vocabulary: Vocabulary  # frozen, without the terms of a single document
    topics: list[str]  # those that occur, sorted
    documents: int
    labelled: int
    sizes: Counter[int]  # documents by number of topics


class Selection(NamedTuple):
    """The selected terms, and the mean number of terms per document before and after."""

    chosen: Longs
    before: float
    after: float


def count(blocks: Iterable[Block]) -> Counted:
    """Count the terms and topics of the training documents."""
    vocabulary = Vocabulary(FeatureSettings(max_terms=MAX_TERMS))
    carriers, sizes = Counter[str](), Counter[int]()
    documents = 0
    for block in blocks:
        for _ in vocabulary.vectors(block.counts, block.ready):
            pass
        for entry in block.entries:
            if entry.topics is not None:
                carriers.update(entry.topics)
                sizes[len(entry.topics)] += 1
        documents += len(block.entries)
    if not carriers:
        raise SourceError(
            f"none of the {documents:,} training documents has a topic; check that the file of "
            "topics belongs to these documents"
        )
    settled = settle(vocabulary, LEAST_DOCUMENTS)
    return Counted(settled, sorted(carriers), documents, sizes.total(), sizes)


def settle(counted: Vocabulary, least: int) -> Vocabulary:
    """A frozen vocabulary of the terms in at least `least` documents, with their statistics.

    The pivot is the mean number of these terms per document: the sum of their document frequencies
    divided by the number of documents, as if no other term had been seen.
    """
    state = counted.state()
    df = state["df"].astype(np.int64)
    keep = np.flatnonzero(df >= least)
    table = copied(counted.table, keep, 0, 0)
    tally = state["tally"].astype(np.int64)
    tally[DISTINCT] = df[keep].sum()
    settled = Vocabulary(FeatureSettings(max_terms=MAX_TERMS))
    settled.restore(
        {
            "ends": table.ends[: len(keep) + 1],
            "letters": table.letters[: table.ends[len(keep)]],
            **{name: state[name][keep] for name in ("df", "uses", "last_use")},
            "tally": tally,
            "frozen": np.array(True),
        }
    )
    return settled


def select(blocks: Iterable[Block], counted: Counted) -> Selection:
    """Train Rocchio on all terms, and select the terms to which it gives weight."""
    selector = Rocchio(refresh=0)
    topics, vocabulary = counted.topics, counted.vocabulary
    nothing = selector.new_scores(0, len(topics))  # nothing is ranked
    for block in blocks:
        labels = labels_of(block, topics)
        for piece in vocabulary.vectors(block.counts, block.ready):
            steps = learning_steps(labels, len(topics))
            selector.follow(Segment(piece.rows, steps, len(vocabulary), len(topics)), nothing)
    selector.make()
    chosen = select_terms(selector.weights)
    if not len(chosen):
        raise SourceError(
            "no term of the training documents is related to their topics; check that the file of "
            "topics belongs to these documents"
        )
    df, documents = vocabulary.state()["df"].astype(np.int64), counted.documents
    return Selection(chosen, int(df.sum()) / documents, int(df[chosen].sum()) / documents)


def labels_of(block: Block, topics: Sequence[str]) -> list[list[int] | None]:
    """The numbers of the topics of each document; topics that are not in `topics` are left out."""
    number = {topic: i for i, topic in enumerate(topics)}
    return [
        None if entry.topics is None else [number[t] for t in entry.topics if t in number]
        for entry in block.entries
    ]


def learning_steps(labels: Labels, topics: int) -> Steps:
    """Steps that learn every labelled document and rank none."""
    return steps_of(labels, topics, (True,))


def ranking_steps(labels: Labels, topics: int) -> Steps:
    """Steps that rank every labelled document and learn none."""
    return steps_of(labels, topics, (False,))


def rounds(labels: Labels, topics: int) -> Steps:
    """Steps that rank every labelled document and then learn it."""
    return steps_of(labels, topics, (False, True))


def steps_of(labels: Labels, topics: int, learn: tuple[bool, ...]) -> Steps:
    """The same steps for each labelled document: for each item of `learn`, learn it or rank it."""
    labelled = [(row, of_row) for row, of_row in enumerate(labels) if of_row is not None]
    lengths = [len(of_row) if step else 0 for _, of_row in labelled for step in learn]
    every = [topic for _, of_row in labelled for topic in of_row] if any(learn) else []
    known = np.full(len(learn) * len(labelled), topics, np.int32)
    return Steps(
        np.repeat(np.array([row for row, _ in labelled], np.int32), len(learn)),
        np.tile(np.array(learn, np.bool_), len(labelled)),
        known,
        np.cumsum([0, *lengths]).astype(np.int64),
        np.array(every, np.int32),
        known,
    )
