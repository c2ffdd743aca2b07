"""What the engine returns for each segment of the log: rankings, measures and explanations."""

from __future__ import annotations

from dataclasses import dataclass, field

from learners.arrays import Floats, Ints
from learners.decisions.decided import CANDIDATES, Decisions
from learners.scores import RowScores, Scores
from learners.segment import Steps
from pipeline.engine.explanations import ExplainedDocument
from pipeline.log.block import Entry


@dataclass(frozen=True, slots=True)
class RankedSegment:
    """The documents of a segment, in log order, with the scores of each lane."""

    documents: list[Entry]
    known_topics: Ints  # topics that existed when each document was ranked
    rounds: list[list[int]]  # per lane: rounds learned before each ranking
    scores: list[RowScores]  # per lane
    # The rounds that topic lanes learned in this segment: the document or late label that each
    # round learned from, and per topic lane one row of measures per round.
    labelled: list[Entry] = field(default_factory=list)
    measures: list[Floats] = field(default_factory=list)
    # The last documents of the segment, as many as were asked for.
    explained: list[ExplainedDocument] = field(default_factory=list)
    # Per lane: what it decided; None if it assigns no topics. Empty if no lane does.
    decisions: list[Decisions | None] = field(default_factory=list)
    # The same, with the candidates in the order of the ranking, not in that of their scores.
    emitted: list[Decisions | None] = field(default_factory=list)
    # Per lane: whether it marks documents for review. Empty if no lane does.
    marks: list[bool] = field(default_factory=list)
    # What topic lanes ranked and learned, in log order; None if there are no topic lanes.
    steps: Steps | None = None

    def decisions_of(self, lane: int) -> Decisions | None:
        """What a lane decided about the documents; None if it assigns no topics."""
        return self.decisions[lane] if self.decisions else None

    def emitted_by(self, lane: int) -> Decisions | None:
        """What a lane decided, with the candidates in the order of the ranking."""
        return self.emitted[lane] if self.emitted else None

    def best(self, lane: int, places: int) -> tuple[Ints, Floats]:
        """The first topics of the rankings of a topic lane, and their scores.

        Where a document has fewer topics the topic is -1, and the score has no meaning.
        """
        made, rows = self.emitted_by(lane), slice(len(self.documents))
        if made is not None and places <= CANDIDATES:  # found already
            return made.topics[rows, :places], made.scores[rows, :places]
        order, values = Scores.expect(self.scores[lane]).best(self.known_topics, places)
        if made is not None:
            order[:, :CANDIDATES], values[:, :CANDIDATES] = made.topics[rows], made.scores[rows]
        return order, values

    def has_marks(self, lane: int) -> bool:
        """Whether a lane marks documents for review. If not, its decisions say nothing of it."""
        return bool(self.marks) and self.marks[lane]
