"""MMP by several members, each with some of the topics: threads, or processes that share memory.

How far a topic moves depends on the scores of others: on those of the relevant topics, and on how
many topics are within their margin. So the members meet twice in every round that has labels:

1. Each member scores the document by its own prototypes, and writes the scores of its relevant
   topics down for all. They meet.
2. Each member reads the scores of all relevant topics, and counts its own irrelevant topics within
   the margin of each. It writes the counts down in a row of its own. They meet again.
3. Each member adds up all counts, and moves its own prototypes.

Counts are whole numbers, so their sum does not depend on the order. All other numbers are computed
as by one thread, and results are equal to the bit.

Every label of a segment has a place of its own in what is written down, so nothing is overwritten
before all have read it. A member that takes a round again writes the same numbers there.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from learners.arrays import Floats, Ints, Longs
from learners.barrier import FOREVER, SPACING, give_up, meet, new_barrier
from learners.jit import njit
from learners.prototypes.kernel import (
    Prototypes,
    Workspace,
    move_prototypes,
    new_workspace,
    rank_row,
    score_row,
)
from learners.segment import Rows, Segment, Steps, row_of
from learners.threads import Columns, columns_from, run_together
from learners.update_rule import UpdateRule


class OwnTopics(NamedTuple):
    """Which topics of a segment a member has, as columns of its model."""

    columns: Ints  # of each label; -1: it belongs to another member
    widths: Ints  # at each step, how many of the topics that are known belong to the member


class Meeting(NamedTuple):
    """What the members tell each other, for each label of the segment."""

    barrier: Longs
    leads: Floats  # its score
    counts: Ints  # members x labels: own irrelevant topics within the margin of it


class Minutes(NamedTuple):
    """What a meeting came to, for each label of the segment: equal for all members."""

    leads: Floats  # its score
    gained: Ints  # irrelevant topics within the margin of it, of all members


class Attendance(NamedTuple):
    """How a member takes part in a meeting."""

    number: int
    begun: int  # the place where the meeting began
    patience: int  # see `meet`
    recalls: bool  # it does not take part, but reads the minutes of a meeting that was held


def new_minutes(labels: int) -> Minutes:
    """Room for the minutes of a meeting about so many labels."""
    return Minutes(np.zeros(labels), np.zeros(labels, np.int32))


@njit
def share_leads(scores: Floats, columns: Ints, shared: Floats) -> None:
    """Write the scores of the relevant topics of this member down."""
    for i in range(len(columns)):
        if columns[i] >= 0:
            shared[i] = scores[columns[i]]


@njit
def has_leads(scores: Floats, columns: Ints, leads: Floats) -> bool:
    """Whether the minutes have the scores that the relevant topics of this member have."""
    agreed = True
    for i in range(len(columns)):
        agreed &= columns[i] < 0 or leads[i] == scores[columns[i]]
    return agreed


@njit
def share_counts(
    scores: Floats, width: int, columns: Ints, margin: float, leads: Floats, shared: Ints
) -> None:
    """Count own topics within the margin of each relevant one, and write the counts down."""
    for i in range(len(columns)):
        lead = leads[i]
        count = 0
        for s in range(width):
            count += lead - scores[s] <= margin
        for column in columns:
            if column >= 0:
                count -= lead - scores[column] <= margin
        shared[i] = count


@njit
def slice_coefficients(
    scores: Floats, width: int, columns: Ints, margin: float, divisor: float, leads: Floats,
    gained: Ints, tau: Floats,
) -> None:  # fmt: skip
    """Write how far each topic of the member moves along the document to `tau`; see `MMP`."""
    tau[:width] = 0.0
    for i in range(len(columns)):
        lead = leads[i]
        for s in range(width):
            tau[s] -= 1.0 if lead - scores[s] <= margin else 0.0
    for i in range(len(columns)):
        if columns[i] >= 0:
            tau[columns[i]] = gained[i]
    for r in range(width):
        tau[r] /= divisor


@njit
def hold(
    scores: Floats, width: int, columns: Ints, margin: float, meeting: Meeting,
    attendance: Attendance, step: int, first: int, leads: Floats, gained: Ints,
) -> bool:  # fmt: skip
    """Meet about one step, whose labels begin at `first`; write the minutes. False: still waits."""
    barrier, all_leads, all_counts = meeting
    number, begun, patience = attendance.number, attendance.begun, attendance.patience
    last = first + len(columns)
    place = begun + 2 * step + 1
    share_leads(scores, columns, all_leads[first:last])
    if not meet(barrier, number, place, patience):
        return False
    leads[:] = all_leads[first:last]
    share_counts(scores, width, columns, margin, leads, all_counts[number, first:last])
    if not meet(barrier, number, place + 1, patience):
        return False
    gained[:] = 0
    for member in range(len(all_counts)):
        for i in range(len(columns)):
            gained[i] += all_counts[member, first + i]
    return True


@njit
def learn_slice(
    columns: Ints, known: int, width: int, rule: UpdateRule, work: Workspace, leads: Floats,
    gained: Ints,
) -> bool:  # fmt: skip
    """Write `tau` of the member's topics, after the minutes; return whether any topic moves."""
    pairs = 0
    for count in gained:
        pairs += count
    if pairs == 0:
        return False
    divisor = 1.0
    if rule.loss == 1:
        divisor = float(pairs)
    elif rule.loss == 3:
        divisor = float(len(columns) * (known - len(columns)))
    slice_coefficients(
        work.scores, width, columns, rule.margin, divisor, leads, gained, work.tau
    )  # fmt: skip
    return True


@njit
def follow_mmp_slice(
    rows: Rows, steps: Steps, topics: OwnTopics, rule: UpdateRule, rounds: int, model: Prototypes,
    out: Floats, meeting: Meeting, minutes: Minutes, attendance: Attendance, begin: int,
) -> tuple[int, int]:  # fmt: skip
    """Take the steps in order from `begin` on, for the topics of one member.

    Returns the step that it still waits at, or whose minutes are wrong, or else the number of
    steps; and the rounds learned so far.
    """
    starts, all_terms, all_values = rows
    step_row, step_learn, step_known = steps.row, steps.learn, steps.known
    label_starts = steps.label_starts
    own_columns, widths = topics
    work = new_workspace(model.weights.shape[1])
    scored = -1  # the row that `work.scores` belongs to, if nothing was learned since
    for step in range(begin, len(step_row)):
        row, width = int(step_row[step]), int(widths[step])
        terms, values = row_of(starts, all_terms, all_values, row)
        if not step_learn[step]:
            rank_row(terms, values, width, rule.average, rounds, model, work, out[row])
            scored = row
            continue
        first, last = label_starts[step] - label_starts[0], label_starts[step + 1] - label_starts[0]
        if last > first:
            columns = own_columns[first:last]
            leads, gained = minutes.leads[first:last], minutes.gained[first:last]
            if scored != row:
                score_row(terms, values, model.weights, width, work.scores)
            scores = work.scores
            if attendance.recalls:
                agreed = has_leads(scores, columns, leads)
            else:
                agreed = hold(
                    scores, width, columns, rule.margin, meeting, attendance, step, first, leads,
                    gained,
                )  # fmt: skip
            if not agreed:
                return step, rounds
            if learn_slice(columns, int(step_known[step]), width, rule, work, leads, gained):
                move_prototypes(terms, values, width, rule.average, rounds, work.tau, model)
        rounds += 1
        scored = -1
    return len(step_row), rounds


def columns_of(steps: Steps, columns: Columns) -> OwnTopics:
    """The topics of a thread, which has consecutive ones."""
    first, last = columns
    labels = steps.labels[steps.label_starts[0] : steps.label_starts[-1]]
    is_own = (labels >= first) & (labels < last)
    own = np.where(is_own, labels - first, -1)
    return OwnTopics(own.astype(np.int32), (steps.known.clip(first, last) - first).astype(np.int32))


def follow_together(
    segment: Segment, slices: list[Columns], rule: UpdateRule, rounds: int, model: Prototypes,
    out: Floats,
) -> int:  # fmt: skip
    """Take the steps of a segment, one thread per slice; return the number of rounds so far."""
    steps = segment.steps
    labels = steps.label_count()
    apart = labels + 2 * SPACING  # no two threads write to the same cache line
    barrier = new_barrier(len(slices))
    meeting = Meeting(barrier, np.zeros(labels), np.zeros((len(slices), apart), np.int32))
    kernels = [
        partial(
            follow_mmp_slice,
            segment.rows, steps, columns_of(steps, columns), rule, rounds,
            model.columns_from(columns.first), columns_from(out, columns.first), meeting,
            new_minutes(labels), Attendance(number, 0, FOREVER, False), 0,
        )
        for number, columns in enumerate(slices)
    ]  # fmt: skip
    return run_together(kernels, partial(give_up, barrier))[0][1]
