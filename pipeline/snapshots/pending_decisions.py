"""What a lane decided about documents that wait for their labels, as arrays of a snapshot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from learners.arrays import Longs
from learners.checks import InvalidArrayError, bools, check_between, floats, ints, longs
from learners.decisions.decided import CANDIDATES, Decisions
from learners.learner import State
from learners.scores import StoredScores
from pipeline.storage.container import Arrays

PREFIX = "decided_"


def decision_arrays(documents: Sequence[StoredScores]) -> State:
    """Return the decisions about the pending documents as named arrays; none if there are none."""
    kept = [scores.decision for scores in documents if scores.decision]
    if not kept:
        return {}
    made = Decisions.unpack(kept)
    used = made.topics >= 0
    return {
        "decided_counts": np.count_nonzero(used, axis=1),
        "decided_topics": made.topics[used],
        "decided_scores": made.scores[used],
        "decided_probabilities": made.probabilities[used],
        "decided_assigned": made.assigned[used],
        "decided_certainty": made.certainty,
        "decided_review": made.review,
    }


def only_decisions(arrays: State) -> State:
    """Return those arrays of pending documents that have decisions: equal in all shards."""
    return {name: array for name, array in arrays.items() if name.startswith(PREFIX)}


def pending_decisions(arrays: Arrays, lane: str, known: Longs) -> list[bytes]:
    """Return what a lane decided about each pending document, when these topics were known."""
    documents = len(known)
    if not documents:
        return []
    name = f"{lane}/decided"
    counts = longs(arrays, f"{name}_counts", documents, below=CANDIDATES + 1)
    if not np.array_equal(counts, np.minimum(known, CANDIDATES)):
        raise InvalidArrayError(f"array {name}_counts is not the number of candidates")
    total = int(counts.sum())
    topics = ints(arrays, f"{name}_topics", total)
    if (topics >= np.repeat(known, counts)).any():
        raise InvalidArrayError(f"array {name}_topics has a topic that was not known")
    scores = floats(arrays, f"{name}_scores", total)
    documents_of = np.repeat(np.arange(documents), counts)
    same = documents_of[1:] == documents_of[:-1]
    if (same & (np.diff(scores) > 0.0)).any():
        raise InvalidArrayError(f"array {name}_scores is not in falling order")
    used = np.arange(CANDIDATES) < counts[:, None]
    sorted_topics = np.full((documents, CANDIDATES), -1, np.int32)
    sorted_topics[used] = topics
    sorted_topics.sort(axis=1)
    if ((np.diff(sorted_topics, axis=1) == 0) & (sorted_topics[:, 1:] >= 0)).any():
        raise InvalidArrayError(f"array {name}_topics has a topic twice for one document")
    probabilities = floats(arrays, f"{name}_probabilities", total)
    assigned = bools(arrays, f"{name}_assigned", total)
    certainty = floats(arrays, f"{name}_certainty", documents)
    review = bools(arrays, f"{name}_review", documents)
    check_between(f"{name}_probabilities", probabilities, 0.0, 1.0)
    check_between(f"{name}_certainty", certainty, 0.0, 1.0)
    made = Decisions.new(documents)._replace(certainty=certainty, review=review)
    made.known[:] = known
    made.topics[used], made.scores[used] = topics, scores
    made.probabilities[used], made.assigned[used] = probabilities, assigned
    return made.keep(np.arange(documents))
