"""The memory of an engine: what it uses, and the ceiling that its settings give it.

Both count what the stream causes. The program itself, with its compiled kernels, comes on top, and
so does the copy of an array while the array grows. See docs/concepts/memory.md.
"""

from __future__ import annotations

from learners.decisions.decided import RECORD
from pipeline.engine.engine import MAX_SCORES, Engine
from pipeline.engine.lane_group import LaneGroup
from pipeline.engine.pending_labels import CHARACTER_BYTES, DOCUMENT_BYTES, NAME_BYTES
from pipeline.log.block import MAX_BLOCK
from pipeline.text.terms import MAX_TERM_BYTES

# Blocks that are read, wait, and are learned: 4 MiB of events each at most (8 MiB in the log), and
# up to 16 times as much once they are tokenized.
BUFFER_BYTES = 4 * 16 * (8 << 20)
# A topic is known by its name, in a list and a dictionary, and may be as long as a term.
TOPIC_BYTES = NAME_BYTES + 100
MAX_TOPIC_BYTES = TOPIC_BYTES + CHARACTER_BYTES * MAX_TERM_BYTES
DECISION_BYTES = RECORD.itemsize + 64  # what a lane decided about a waiting document, packed


def memory_use(engine: Engine) -> int:
    """Return the bytes of models, vocabulary, topics, and of what waits for labels."""
    models = sum(lane.size_bytes() for lane in engine.all_lanes)
    topics = sum(TOPIC_BYTES + CHARACTER_BYTES * len(name) for name in engine.topics.names)
    waiting = sum(
        document_bytes(group, group.pending.document_bytes) + group.pending.early_bytes
        for group in engine.lane_groups
    )
    waiting += decision_bytes(engine, len(engine.pending.documents))
    return models + engine.vocabulary.size_bytes() + topics + waiting


def memory_ceiling(engine: Engine) -> int:
    """Return the most that `memory_use` can be, with the buffers for blocks and scores."""
    settings = engine.settings
    terms, topics = settings.features.max_terms, settings.max_topics
    models = sum(lane.max_bytes(terms, topics) for lane in engine.all_lanes)
    waiting = sum(
        document_bytes(group, settings.max_pending_bytes) + settings.max_pending_bytes
        for group in engine.lane_groups
    )
    # Scores of the documents of a segment, and of earlier documents whose labels have come.
    late = min(settings.max_pending, settings.max_pending_bytes // DOCUMENT_BYTES)
    # Decisions about the documents of a block, with a second list of their candidates.
    waiting += decision_bytes(engine, late + 2 * MAX_BLOCK)
    dense = [lane for lane in engine.topic_group.lanes if not lane.has_sparse_scores]
    # A stacker copies the scores of its lanes. Those that rank by probability, or retrieve a few
    # topics, also make a table for it.
    combined = [name for stacker in engine.all_lanes for name in stacker.combines]
    made = [
        lane.name for lane in engine.all_lanes if lane.has_sparse_scores or lane.spec.by_probability
    ]
    tables = len(dense) + len(combined) + len(set(made) & set(combined))
    scores = tables * 8 * (MAX_SCORES + late * topics)
    names = MAX_TOPIC_BYTES * topics
    return models + engine.vocabulary.max_bytes() + names + waiting + scores + BUFFER_BYTES


def decision_bytes(engine: Engine, documents: int) -> int:
    """Return the memory of what lanes decided about this many waiting documents."""
    deciding = sum(lane.decider is not None for lane in engine.all_lanes)
    return DECISION_BYTES * deciding * documents


def document_bytes(group: LaneGroup, charged: int) -> int:
    """Return the memory of waiting documents that are charged this much.

    One lane's scores are charged. Those of each further lane take no more than the whole charge.
    """
    return charged * max(1, len(group.lanes))
