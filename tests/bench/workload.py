"""The documents of all comparisons: as raw events, as vectors, and in Vowpal Wabbit's format."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from learners.segment import Rows, Segment
from pipeline.corpora.source import Source
from pipeline.corpora.synthetic_newswire import SyntheticNewswire
from pipeline.engine.labels import TopicLabels
from pipeline.engine.pending_labels import PendingLabels
from pipeline.engine.segment_builder import SegmentBuilder
from pipeline.engine.topic_index import TopicIndex
from pipeline.events.event import parse_event
from pipeline.log.block import make_block
from pipeline.text.feature_settings import FeatureSettings
from pipeline.text.features import Vocabulary
from pipeline.text.tokenizer import Tokenizer

BLOCK = 1024
FOUR_LANES = ("mmp:loss=1", "mmp:loss=2", "mmp:loss=3", "perceptron")  # of all comparisons


@dataclass
class Workload:
    """Documents in blocks: as raw events, and as segments with their vectors."""

    raw: list[bytes]
    topics: list[str]
    segments: list[Segment]
    terms: int

    @property
    def features_per_document(self) -> float:
        return sum(len(segment.rows.terms) for segment in self.segments) / len(self.raw)


def make_workload(documents: int) -> Workload:
    """Synthetic newswire with running term weights, as the engine sees it."""
    return workload_of(SyntheticNewswire(documents=documents))


def workload_of(source: Source, max_topics: int = 2048, max_terms: int = 1 << 17) -> Workload:
    """The documents of a source, all labelled, as the engine sees them."""
    raw = list(source)
    topics = TopicIndex(source.topics, max_topics)
    vocabulary = Vocabulary(FeatureSettings(max_terms=max_terms))
    tokenizer, pending = Tokenizer(), PendingLabels()
    segments = []
    for start in range(0, len(raw), BLOCK):
        block = make_block([parse_event(event) for event in raw[start : start + BLOCK]], tokenizer)
        (vectors,) = vocabulary.vectors(block.counts, block.ready)
        builder = SegmentBuilder(vectors, TopicLabels(topics), pending)
        for entry in block.entries:
            builder.add(entry)
        segments.append(builder.build())
    return Workload(raw, list(topics.names), segments, len(vocabulary))


def shortened(segment: Segment, features: int) -> Segment:
    """The same documents with a limited number of features each: the heaviest ones, in order."""
    starts, terms, values = [0], [], []
    for row in range(len(segment.rows)):
        of_row, weights = segment.rows.row(row)
        keep = np.sort(np.argsort(-weights, kind="stable")[:features])
        terms.append(of_row[keep])
        values.append(weights[keep])
        starts.append(starts[-1] + len(keep))
    rows = Rows(np.array(starts, np.int64), np.concatenate(terms), np.concatenate(values))
    return Segment(rows, segment.steps, segment.terms, segment.topics)


def write_vw(segments: list[Segment], path: Path, first_label: int = 0) -> None:
    """Write vectors in Vowpal Wabbit's format; classes from 0 for `--multilabel_oaa`, else 1."""
    with path.open("w") as file:
        for segment in segments:
            steps = segment.steps
            for step in np.flatnonzero(steps.learn):
                start, stop = steps.label_starts[step], steps.label_starts[step + 1]
                labels = steps.labels[start:stop] + first_label
                terms, values = segment.rows.row(int(steps.row[step]))
                features = " ".join(
                    f"{term}:{value:.6g}" for term, value in zip(terms, values, strict=True)
                )
                file.write(f"{','.join(map(str, labels))} | {features}\n")
