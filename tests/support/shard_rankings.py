"""What shards and undivided learners find in a stream, to be compared."""

from __future__ import annotations

from itertools import pairwise

from learners.learner import State
from learners.scores import DenseScores, StoredScores
from learners.sharding.shard import Shard
from learners.sharding.shard_scores import ShardScores
from learners.specs import parse_spec
from tests.support.random_streams import Stream

# Of each segment: the best topics of each document with their scores, and the places of labels.
Rankings = list[tuple[object, ...]]
Kept = dict[int, StoredScores]


def whole_rankings(spec: str, stream: Stream, edges: list[int], top: int) -> tuple[Rankings, State]:
    """The rankings and the model of the undivided learner."""
    learner, kept, rankings = parse_spec(spec).build(), dict[int, list[float]](), Rankings()
    for start, stop in pairwise(edges):
        segment, rows = stream.segment(start, stop), stream.rows(start, stop)
        scores = DenseScores.new(len(rows), segment.topics)
        for place, row in enumerate(rows):
            scores.matrix[place, : len(kept.get(row, ()))] = kept.get(row, ())
        learner.follow(segment, scores)
        steps = segment.steps
        ranked, known = steps.row[~steps.learn], steps.known[~steps.learn]
        for row, count in zip(ranked, known, strict=True):
            kept[rows[row]] = scores.matrix[row, :count].tolist()
        width = min(top, segment.topics) if top else segment.topics
        best = DenseScores(scores.matrix[ranked]).best(known, width)
        places = scores.places(steps)
        rankings.append(tuple(array.tolist() for array in (*best, *places)))
    return rankings, learner.state()


def take(shard: Shard, stream: Stream, start: int, stop: int, kept: Kept) -> tuple[object, ...]:
    """Let a shard follow a segment; returns its rankings."""
    segment, rows = stream.segment(start, stop), stream.rows(start, stop)
    scores = ShardScores.expect(shard.new_scores(len(rows), segment.topics))
    for place, row in enumerate(rows):
        if row in kept:
            scores.put(place, kept[row])
    shard.follow(segment, scores)
    steps = segment.steps
    ranked = steps.row[~steps.learn]
    for row in ranked:
        kept[rows[row]] = scores.keep(int(row), int(steps.known[steps.row == row][0]))
    found = (scores.order[ranked], scores.values[ranked], *scores.places(steps))
    return tuple(array.tolist() for array in found)
