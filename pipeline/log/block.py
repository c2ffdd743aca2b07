"""A block: consecutive events of the log, tokenized."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from learners.arrays import Bools
from pipeline.events.event import Event, Id, PassedOn
from pipeline.text.tokenizer import TermCounts, Tokenizer

MAX_BLOCK = 100_000  # events


class Entry(NamedTuple):
    """One event of a block: a document, or a late label if `row` is None."""

    id: Id
    row: int | None  # the document's row in the block's term counts
    topics: tuple[str, ...] | None
    time: str | None
    rank: int | None = None
    passed_on: PassedOn | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """Entries in log order, and the term counts of their documents."""

    entries: list[Entry]
    counts: TermCounts
    ready: Bools  # per row: True if its values are ready-made features, not counts


def make_block(events: Sequence[Event], tokenizer: Tokenizer) -> Block:
    """Tokenize consecutive events."""
    documents = [event for event in events if event.content is not None]
    contents = [event.content for event in documents if event.content is not None]
    counts = tokenizer.count(
        contents,
        [event.title_length for event in documents],
        [event.language for event in documents],
    )
    entries = []
    row = 0
    for event in events:
        if event.content is None:
            entries.append(Entry(event.id, None, event.topics, event.time, event.rank))
        else:
            entries.append(
                Entry(event.id, row, event.topics, event.time, event.rank, event.passed_on)
            )
            row += 1
    ready = np.array([not isinstance(content, str) for content in contents], np.bool_)
    return Block(entries, counts, ready)
