"""A block: a run of tokenised documents and late labels in the order that everybody agrees on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from learners.arrays import Bools
from pipeline.events.event import Event, Id
from pipeline.text.tokenizer import TermCounts, Tokenizer


class Entry(NamedTuple):
    """A document (with the row of its terms) or a late label (no row)."""

    id: Id
    row: int | None
    topics: tuple[str, ...] | None
    time: str | None
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """Entries in log order, and the counted terms of the documents among them."""

    entries: list[Entry]
    counts: TermCounts
    ready: Bools  # of each row: ready-made features, used as they are


def make_block(events: Sequence[Event], tokenizer: Tokenizer) -> Block:
    """Tokenise a run of events."""
    contents = [event.content for event in events if event.content is not None]
    entries = []
    row = 0
    for event in events:
        if event.content is None:
            entries.append(Entry(event.id, None, event.topics, event.time, event.rank))
        else:
            entries.append(Entry(event.id, row, event.topics, event.time, event.rank))
            row += 1
    ready = np.array([not isinstance(content, str) for content in contents], np.bool_)
    return Block(entries, tokenizer.count(contents), ready)
