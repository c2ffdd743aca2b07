"""Several threads for one segment: each takes all steps, for a slice of the topics.

Models are matrices of terms x topics. A thread owns some columns: it computes scores and updates of
these topics, in the same order as one thread would. So results are equal to the bit, and threads
share nothing that is written. A slice is given to an unchanged kernel as a model of its own:

- `columns_from` makes a matrix whose column 0 is the first column of the slice,
- `steps_of` numbers the labels from there, and leaves out those of other slices.

Threads are started for every segment that is large enough, which takes some 0.1 ms. There is no
pool, so nothing must be closed, a process may fork at any time, and no thread waits in a queue
while the others wait for it at a barrier.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.lib.stride_tricks import as_strided

from learners.arrays import Floats, Ints
from learners.cores import usable_cores
from learners.growing_array import LINE
from learners.segment import Segment, Steps

T = TypeVar("T")

# With less work a thread would cost more than it saves: starting it on another core and waiting for
# it took up to 2 ms. Work is counted in pairs of a topic and a term of a step, a quarter of a
# nanosecond each. These limits are measured: see docs/measurements/threads.md.
MIN_WORK = 25_000_000  # of a thread
MIN_COLUMNS = 64  # of a slice


class Columns(NamedTuple):
    """Consecutive topics, from `first` up to `last`."""

    first: int
    last: int


def slices_for(segment: Segment, threads: int, effort: int = 1, min_step: int = 0) -> list[Columns]:
    """The slices of topics that the threads of a learner take; one slice if the work is too little.

    `effort` is how many times longer the learner takes for a pair of a topic and a term than the
    fastest learners. A learner whose threads wait for each other has a `min_step`: the least number
    of pairs per step and thread.
    """
    topics, steps = segment.topics, len(segment.steps.row)
    if threads == 1 or topics < 2 * MIN_COLUMNS:
        return [Columns(0, topics)]
    # As if all rows had the same length: segments of one document must not take longer for this.
    pairs_per_step = topics * len(segment.rows.terms) // max(1, len(segment.rows))
    threads = threads or usable_cores()
    if min_step:
        threads = min(threads, pairs_per_step // min_step)
        if threads == 0:
            return [Columns(0, topics)]
    return slices_of(topics, effort * pairs_per_step * steps, threads)


def slices_of(topics: int, work: int, threads: int) -> list[Columns]:
    """As many slices of topics as there are threads, or fewer if the work is too little.

    `threads` is the attribute of a learner, where 0 is one thread per core.
    """
    most = min(threads or usable_cores(), topics // MIN_COLUMNS, work // MIN_WORK)
    return equal_slices(topics, most) if most > 1 else [Columns(0, topics)]


def equal_slices(topics: int, count: int) -> list[Columns]:
    """Return up to `count` slices of about equal size, divided between cache lines.

    >>> equal_slices(40, 2)
    [Columns(first=0, last=24), Columns(first=24, last=40)]
    >>> equal_slices(10, 3)
    [Columns(first=0, last=8), Columns(first=8, last=10)]
    """
    width = -(-topics // (LINE * count)) * LINE
    return [Columns(first, min(first + width, topics)) for first in range(0, topics, width)]


def columns_from(matrix: Floats, first: int) -> Floats:
    """The matrix as if its columns began at `first`: contiguous, and with rows as far apart.

    Columns that would be past the end of a row must not be used: they are those of the next row.
    """
    if first == 0 or matrix.shape[1] <= first:
        return matrix
    shifted: Floats = as_strided(matrix[:, first:], matrix.shape, matrix.strides)
    return shifted


def steps_of(steps: Steps, columns: Columns) -> Steps:
    """The steps as if there were only the topics of a slice, numbered from 0.

    >>> steps = Steps(*(np.array(numbers) for numbers in (
    ...     [0, 0], [False, True], [20, 20], [0, 0, 3], [3, 18, 9], [20, 20])))
    >>> some = steps_of(steps, Columns(8, 16))
    >>> some.known.tolist(), some.label_starts.tolist(), some.labels.tolist()
    ([8, 8], [0, 0, 1], [1])
    """
    first, last = columns
    offset = steps.label_starts[0]
    labels = steps.labels[offset : steps.label_starts[-1]]
    own = (labels >= first) & (labels < last)
    starts = np.concatenate(([0], np.cumsum(own)))[steps.label_starts - offset]
    return Steps(
        steps.row, steps.learn, numbered(steps.known.clip(first, last), first), starts,
        numbered(labels[own], first), numbered(steps.ranked.clip(first, last), first),
    )  # fmt: skip


def numbered(topics: Ints, first: int) -> Ints:
    """Topics, or counts of topics, from `first` on."""
    from_first: Ints = (topics - first).astype(topics.dtype)
    return from_first


def in_slices(
    segment: Segment, threads: int, bind: Callable[[Steps, int], Callable[[], T]], effort: int = 1
) -> T:
    """Take the steps of a segment with a kernel whose topics learn independently of each other.

    `bind` gets the steps of a slice and its first topic, and returns the kernel bound to that part
    of the model. All kernels are bound before the first one runs. Returns the first one's result.
    For `effort` see `slices_for`.
    """
    slices = slices_for(segment, threads, effort)
    if len(slices) == 1:
        return bind(segment.steps, 0)()
    kernels = [bind(steps_of(segment.steps, columns), columns.first) for columns in slices]
    return run_together(kernels, lambda: None)[0]


def run_together(calls: Sequence[Callable[[], T]], give_up: Callable[[], None]) -> list[T]:
    """Run all calls at the same time, the first in this thread; return their results in order.

    If one of them raises an exception, or an interrupt comes, `give_up` is called, which must let
    those end that wait for others. The exception is raised when all have ended.
    """
    results: dict[int, T] = {}
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            results[number] = calls[number]()
        except BaseException as error:
            errors.append(error)
            give_up()

    threads = [
        threading.Thread(target=run, args=(number,), name=f"columns-{number}")
        for number in range(1, len(calls))
    ]
    try:
        for thread in threads:
            thread.start()
        run(0)
        join_started(threads)
    except BaseException:
        give_up()
        join_started(threads)
        raise
    if errors:
        raise errors[0]
    return [results[number] for number in range(len(calls))]


def join_started(threads: Sequence[threading.Thread]) -> None:
    """Wait for the threads that were started."""
    for thread in threads:
        if thread.ident is not None:
            thread.join()
