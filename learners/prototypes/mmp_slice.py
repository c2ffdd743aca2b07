"""MMP in several threads, each with a slice of the topics.

How far a topic moves depends on the scores of others: on those of the relevant topics, and on how
many topics are within their margin. So the threads meet twice in every round that has labels:

1. Each thread scores the document by its own prototypes, and writes the scores of its relevant
   topics down for all. They meet.
2. Each thread reads the scores of all relevant topics, and counts its own irrelevant topics within
   the margin of each. It writes the counts down in a row of its own. They meet again.
3. Each thread adds up all counts, and moves its own prototypes.

Counts are whole numbers, so their sum does not depend on the order. All other numbers are computed
as by one thread, and results are equal to the bit.

Between two meetings a thread only writes what nobody reads there. Scores are read before the second
meeting, and written again after it. Counts are read before the next first meeting, and written
again after that.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from learners.arrays import Floats, Ints, Longs
from learners.barrier import SPACING, give_up, meet, new_barrier
from learners.jit import njit
from learners.prototypes.kernel import (
    Prototypes,
    Workspace,
    move_prototypes,
    new_workspace,
    rank_row,
    score_row,
)
from learners.segment import Rows, Segment, Steps, labels_of, row_of
from learners.threads import Columns, columns_from, run_together
from learners.update_rule import UpdateRule


class Meeting(NamedTuple):
    """What the threads tell each other, in every round again."""

    barrier: Longs
    leads: Floats  # the score of each relevant topic
    counts: Longs  # threads x relevant topics: own irrelevant topics within the margin of each


class Gathered(NamedTuple):
    """What a thread has read of it."""

    leads: Floats
    gained: Longs  # of each relevant topic: irrelevant topics within the margin, of all threads


@njit
def share_leads(scores: Floats, relevant: Ints, columns: Columns, meeting: Meeting) -> None:
    """Write the scores of the relevant topics of this slice down."""
    first, last = columns
    leads = meeting.leads
    for i in range(len(relevant)):
        if first <= relevant[i] < last:
            leads[i] = scores[relevant[i] - first]


@njit
def share_counts(
    scores: Floats, width: int, relevant: Ints, columns: Columns, margin: float,
    meeting: Meeting, number: int, leads: Floats,
) -> None:  # fmt: skip
    """Read the scores of all relevant topics, count, and write the counts down."""
    first, last = columns
    shared, counts = meeting.leads, meeting.counts[number]
    for i in range(len(relevant)):
        lead = leads[i] = shared[i]
        count = 0
        for s in range(width):
            count += lead - scores[s] <= margin
        for r in relevant:
            if first <= r < last:
                count -= lead - scores[r - first] <= margin
        counts[i] = count


@njit
def sum_counts(meeting: Meeting, relevant: int, gained: Longs) -> int:
    """Add up the counts of all threads; return the number of wrongly ordered pairs."""
    counts = meeting.counts
    pairs = 0
    for i in range(relevant):
        gained[i] = 0
        for thread in range(len(counts)):
            gained[i] += counts[thread, i]
        pairs += gained[i]
    return pairs


@njit
def slice_coefficients(
    scores: Floats, width: int, relevant: Ints, columns: Columns, margin: float,
    divisor: float, gathered: Gathered, tau: Floats,
) -> None:  # fmt: skip
    """Write how far each topic of the slice moves along the document to `tau`; see `MMP`."""
    first, last = columns
    leads, gained = gathered
    tau[:width] = 0.0
    for i in range(len(relevant)):
        lead = leads[i]
        for s in range(width):
            tau[s] -= 1.0 if lead - scores[s] <= margin else 0.0
    for i in range(len(relevant)):
        if first <= relevant[i] < last:
            tau[relevant[i] - first] = gained[i]
    for r in range(width):
        tau[r] /= divisor


@njit
def learn_slice(
    relevant: Ints, known: int, width: int, columns: Columns, rule: UpdateRule, work: Workspace,
    meeting: Meeting, number: int, gathered: Gathered,
) -> int:  # fmt: skip
    """Write `tau` of the slice; return 1 if any topic moves, 0 if none, -1 if a thread gave up."""
    scores, margin, barrier = work.scores, rule.margin, meeting.barrier
    share_leads(scores, relevant, columns, meeting)
    if not meet(barrier, number):
        return -1
    share_counts(scores, width, relevant, columns, margin, meeting, number, gathered.leads)
    if not meet(barrier, number):
        return -1
    pairs = sum_counts(meeting, len(relevant), gathered.gained)
    if pairs == 0:
        return 0
    divisor = 1.0
    if rule.loss == 1:
        divisor = float(pairs)
    elif rule.loss == 3:
        divisor = float(len(relevant) * (known - len(relevant)))
    slice_coefficients(scores, width, relevant, columns, margin, divisor, gathered, work.tau)
    return 1


@njit
def follow_mmp_slice(
    rows: Rows, steps: Steps, columns: Columns, rule: UpdateRule, rounds: int, model: Prototypes,
    out: Floats, meeting: Meeting, number: int,
) -> int:  # fmt: skip
    """Take the steps in order, for one slice; return the number of rounds learned so far.

    The columns of `model` and `out` begin at the slice.
    """
    starts, all_terms, all_values = rows
    step_row, step_learn, step_known = steps.row, steps.learn, steps.known
    label_starts, labels = steps.label_starts, steps.labels
    first, last = columns
    work = new_workspace(last - first)
    most = len(meeting.leads)
    gathered = Gathered(np.empty(most), np.empty(most, np.int64))
    scored = -1  # the row that `work.scores` belongs to, if nothing was learned since
    for step in range(len(step_row)):
        row, known = int(step_row[step]), int(step_known[step])
        width = max(0, min(known, last) - first)
        terms, values = row_of(starts, all_terms, all_values, row)
        if not step_learn[step]:
            rank_row(terms, values, width, rule.average, rounds, model, work, out[row])
            scored = row
            continue
        relevant = labels_of(label_starts, labels, step)
        if len(relevant) > 0:
            if scored != row:
                score_row(terms, values, model.weights, width, work.scores)
            moves = learn_slice(
                relevant, known, width, columns, rule, work, meeting, number, gathered
            )
            if moves < 0:
                return -1
            if moves:
                move_prototypes(terms, values, width, rule.average, rounds, work.tau, model)
        rounds += 1
        scored = -1
    return rounds


def follow_together(
    segment: Segment, slices: list[Columns], rule: UpdateRule, rounds: int, model: Prototypes,
    out: Floats,
) -> int:  # fmt: skip
    """Take the steps of a segment, one thread per slice; return the number of rounds so far."""
    labels = int(np.diff(segment.steps.label_starts).max(initial=0))
    lines = -(-labels // SPACING) * SPACING  # no two threads write to the same cache line
    barrier = new_barrier(len(slices))
    meeting = Meeting(barrier, np.zeros(labels), np.zeros((len(slices), lines + SPACING), np.int64))
    kernels = [
        partial(
            follow_mmp_slice,
            segment.rows, segment.steps, columns, rule, rounds, model.columns_from(columns.first),
            columns_from(out, columns.first), meeting, number,
        )
        for number, columns in enumerate(slices)
    ]  # fmt: skip
    return run_together(kernels, partial(give_up, barrier))[0]
