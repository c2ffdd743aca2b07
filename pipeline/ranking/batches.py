"""Batches of raw events, and what comes back for each: as bytes, for pipes between processes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from pipeline.corpora.source import RefusedEvent, Source, SourceError, numbered
from pipeline.events.dead_letters import DeadLetter
from pipeline.events.event import Event, MalformedEvent, Refusal
from pipeline.events.formats import Decoder
from pipeline.events.record import Record
from pipeline.log.block import make_block
from pipeline.log.read_events import as_event
from pipeline.ranking.block_ranker import BlockRanker
from pipeline.storage.container import Arrays, pack, unpack
from pipeline.text.tokenizer import Tokenizer

BATCH_EVENTS, BATCH_BYTES = 1024, 4 << 20
REQUEST, ANSWER, VERSION = b"WRRQ", b"WRRA", 1


class Batch(NamedTuple):
    """Consecutive lines of a source, with their numbers."""

    lines: list[int]
    events: list[bytes]
    refused: list[DeadLetter]  # parts of the source that are no events
    read: int  # events read so far, with these


def batches(source: Source, limit: int) -> Iterator[Batch]:
    """Read a source in batches; one ends early where no more events are available for now."""
    lines, events, refused = list[int](), list[bytes](), list[DeadLetter]()
    size = read = 0
    pairs = numbered(source)
    while True:
        try:
            line, raw = next(pairs, (0, None))
        except SourceError:
            if lines or refused:
                yield Batch(lines, events, refused, read)  # the events before the damage count
            raise
        if raw is not None and as_event(raw):
            read += 1
            size += len(raw)
            if isinstance(raw, RefusedEvent):
                refused.append(DeadLetter(raw, line, raw.refusal))
            else:
                lines.append(line)
                events.append(raw)
        is_done = raw is None or (limit > 0 and read >= limit)
        count = len(lines) + len(refused)
        if count and (is_done or not raw or count >= BATCH_EVENTS or size >= BATCH_BYTES):
            yield Batch(lines, events, refused, read)
            lines, events, refused, size = [], [], [], 0
        if is_done:
            return


class Answer(NamedTuple):
    """What became of a batch."""

    rankings: bytes  # lines
    documents: int
    late_labels: int
    dead_letters: list[DeadLetter]
    places: Arrays  # see `BlockRanker.rank`


class BatchRanker:
    """Decodes, tokenizes and ranks batches."""

    def __init__(
        self, ranker: BlockRanker, tokenizer: Tokenizer, decode: Decoder, max_event_bytes: int
    ) -> None:
        self._ranker = ranker
        self._tokenizer = tokenizer
        self._decode = decode
        self._max_event_bytes = max_event_bytes

    def rank(self, batch: Batch) -> Answer:
        """Rank the documents of a batch, in this process."""
        events, letters = list[Event](), list(batch.refused)
        for line, raw in zip(batch.lines, batch.events, strict=True):
            try:
                record = Record(as_event(raw), offset=line)
                events.append(self._decode(record, self._max_event_bytes))
            except MalformedEvent as problem:
                letters.append(DeadLetter(raw, line, problem.refusal))
        block = make_block(events, self._tokenizer)
        rankings, places = self._ranker.rank(block)
        documents = len(block.ready)
        text = b"\n".join([*rankings, b""])
        letters.sort(key=lambda letter: letter.line)
        return Answer(text, documents, len(block.entries) - documents, letters, places)

    def answer(self, request: bytes) -> bytes:
        """Rank the documents of a batch that another process has sent."""
        return pack_answer(self.rank(unpack_request(request)))


def pack_request(batch: Batch) -> bytes:
    """Return the events of a batch as bytes."""
    ends = np.cumsum([0, *map(len, batch.events)], dtype=np.int64)
    arrays: Arrays = {
        "lines": np.array(batch.lines, np.int64),
        "ends": ends,
        "events": np.frombuffer(b"".join(batch.events), np.uint8),
    }
    return pack(REQUEST, VERSION, {}, arrays)


def unpack_request(data: bytes) -> Batch:
    """Return the batch in a request, without what its sender has refused."""
    _, arrays = unpack(data, REQUEST, VERSION, "a request")
    ends, events = arrays["ends"].tolist(), arrays["events"].tobytes()
    raw = [events[a:b] for a, b in pairwise(ends)]
    return Batch(arrays["lines"].tolist(), raw, [], 0)


def pack_answer(answer: Answer) -> bytes:
    """Return an answer as bytes; events that cannot be used are named by their lines."""
    content = {
        "documents": answer.documents,
        "late_labels": answer.late_labels,
        "letters": [[letter.line, *letter.refusal] for letter in answer.dead_letters],
    }
    rankings = np.frombuffer(answer.rankings, np.uint8)
    return pack(ANSWER, VERSION, content, {"rankings": rankings, **answer.places})


def unpack_answer(data: bytes, batch: Batch) -> Answer:
    """Return the answer to a batch."""
    content, arrays = unpack(data, ANSWER, VERSION, "an answer")
    raw = dict(zip(batch.lines, batch.events, strict=True))
    letters = [
        *batch.refused,
        *(DeadLetter(raw[line], line, Refusal(*refusal)) for line, *refusal in content["letters"]),
    ]
    letters.sort(key=lambda letter: letter.line)
    rankings = arrays.pop("rankings").tobytes()
    return Answer(rankings, content["documents"], content["late_labels"], letters, arrays)
