"""The terms of a training part that is only read, never held: counted, then selected by Rocchio.

As in the 2002 paper, document frequencies and the pivot are those of the whole training part, words
of a single training document are left out, and lanes see the selected terms alone.
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
from pipeline.text.features import DISTINCT, FeatureSettings, Vocabulary
from pipeline.text.terms import copied

MAX_TERMS = 1 << 20  # of the training part, rare ones included; beyond that the rarest are dropped
LEAST_DOCUMENTS = 2  # that a term must occur in

Labels = Sequence[Sequence[int] | None]  # of each document; None if nobody has labelled it


class Counted(NamedTuple):
    """What one reading of the training part tells."""

    vocabulary: Vocabulary  # frozen, without the terms of a single document
    topics: list[str]  # that occur, sorted
    documents: int
    labelled: int
    sizes: Counter[int]  # documents with so many topics


class Selection(NamedTuple):
    """The terms that lanes see, and how many a training document has before and after."""

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
    """The terms of at least so many documents with their statistics, frozen.

    The pivot is the mean number of these terms in a document: the sum of their document frequencies
    over the number of documents, as if no other term had ever been seen.
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
    """Train Rocchio on all terms, and choose those that it holds to matter."""
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
        raise SourceError("no term of the training documents says anything about their topics")
    df, documents = vocabulary.state()["df"].astype(np.int64), counted.documents
    return Selection(chosen, int(df.sum()) / documents, int(df[chosen].sum()) / documents)


def labels_of(block: Block, topics: Sequence[str]) -> list[list[int] | None]:
    """The topics of each document by number; those that are not among `topics` are left out."""
    number = {topic: i for i, topic in enumerate(topics)}
    return [
        None if entry.topics is None else [number[t] for t in entry.topics if t in number]
        for entry in block.entries
    ]


def learning_steps(labels: Labels, topics: int) -> Steps:
    """Learn every labelled document, and rank none."""
    return steps_of(labels, topics, (True,))


def ranking_steps(labels: Labels, topics: int) -> Steps:
    """Rank every labelled document, and learn none."""
    return steps_of(labels, topics, (False,))


def rounds(labels: Labels, topics: int) -> Steps:
    """Rank every labelled document, then learn it."""
    return steps_of(labels, topics, (False, True))


def steps_of(labels: Labels, topics: int, learn: tuple[bool, ...]) -> Steps:
    """The same steps for each labelled document; its labels come with the one that learns."""
    labelled = [(row, mine) for row, mine in enumerate(labels) if mine is not None]
    lengths = [len(mine) if step else 0 for _, mine in labelled for step in learn]
    every = [topic for _, mine in labelled for topic in mine] if any(learn) else []
    known = np.full(len(learn) * len(labelled), topics, np.int32)
    return Steps(
        np.repeat(np.array([row for row, _ in labelled], np.int32), len(learn)),
        np.tile(np.array(learn, np.bool_), len(labelled)),
        known,
        np.cumsum([0, *lengths]).astype(np.int64),
        np.array(every, np.int32),
        known,
    )
