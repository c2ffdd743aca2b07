"""Texts as vectors, weighted by the document statistics of the training texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from learners.arrays import Longs
from learners.segment import Rows
from pipeline.events.event import Event
from pipeline.log.block import make_block
from pipeline.text.feature_settings import FeatureSettings
from pipeline.text.features import Vocabulary
from pipeline.text.tokenizer import Tokenizer

MAX_TERMS = 1 << 22  # more than any corpus of the papers has, so no term is ever dropped


def training_and_test_vectors(
    texts: Sequence[str], profile: str, train: Longs, test: Longs, min_df: int = 1
) -> tuple[Rows, Rows, int]:
    """The vectors of the training texts, those of the test texts, and the number of terms.

    `train` and `test` are positions in `texts`. Terms in fewer than `min_df` training texts are
    ignored.
    """
    tokenizer = Tokenizer(profile)
    vocabulary = Vocabulary(FeatureSettings(max_terms=MAX_TERMS, min_df=min_df))

    def vectors(numbers: Longs) -> Rows:
        events = [Event(int(i), texts[i], None, None, None) for i in numbers]
        block = make_block(events, tokenizer)
        (piece,) = vocabulary.vectors(block.counts, block.ready)
        return piece.rows

    vectors(train)  # counts the statistics, which are then frozen for both parts
    vocabulary.freeze()
    return vectors(train), vectors(test), len(vocabulary)


def select_rows(rows: Rows, numbers: Longs) -> Rows:
    """Copy the rows with these numbers, in this order."""
    lengths = np.diff(rows.starts)[numbers]
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    places = np.arange(starts[-1]) + np.repeat(rows.starts[numbers] - starts[:-1], lengths)
    return Rows(starts, rows.terms[places], rows.values[places])


def l2_normalised(rows: Rows) -> Rows:
    """Divide every row by its l2 norm."""
    numbers = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
    norms = np.sqrt(np.bincount(numbers, rows.values**2, minlength=len(rows)))
    return Rows(rows.starts, rows.terms, rows.values / norms[numbers])
