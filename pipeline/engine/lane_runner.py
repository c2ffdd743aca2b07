"""Run several lanes over a segment, in threads where that saves time."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat

from learners.arrays import Floats
from learners.decisions.decided import Decisions
from learners.scores import RowScores
from pipeline.engine.lane import Lane, SharedSegment

# With fewer steps, handing lanes to threads costs more time than it saves.
MIN_STEPS_FOR_THREADS = 32


class LaneRunner:
    """Runs lanes over segments. Its threads are optional: results do not depend on them.

    Lanes that run at the same time divide the threads. A lane that runs alone has all of them for
    its topics: see `learners.threads`.
    """

    def __init__(self, lanes: int, threads: int) -> None:
        self._threads = threads
        at_once = min(lanes, threads)
        self._pool = ThreadPoolExecutor(at_once) if at_once > 1 else None

    def run(
        self,
        lanes: Sequence[Lane],
        segment: SharedSegment,
        scores: Sequence[RowScores],
        decisions: Sequence[Decisions | None],
    ) -> list[Floats]:
        """Let all lanes rank and learn a segment; return the measures of its rounds, per lane.

        Lanes that combine other lanes run after them.
        """
        scores_of = dict(zip((lane.name for lane in lanes), scores, strict=True))
        decisions_of = dict(zip((lane.name for lane in lanes), decisions, strict=True))
        measures: dict[str, Floats] = {}
        for stacking in (False, True):
            batch = [lane for lane in lanes if bool(lane.combines) == stacking]
            combined = {
                lane.name: lane.combined_scores(scores_of[lane.name], decisions_of[lane.name])
                for lane in lanes
                if any(lane.name in other.combines for other in batch)
            }
            arguments = (
                batch,
                repeat(segment),
                [scores_of[lane.name] for lane in batch],
                [[combined[name] for name in lane.combines] for lane in batch],
                [decisions_of[lane.name] for lane in batch],
            )
            several = len(segment) >= MIN_STEPS_FOR_THREADS and len(batch) > 1
            pool = self._pool if several else None
            for lane in batch:
                lane.learner.threads = max(1, self._threads // (len(batch) if pool else 1))
            results = (pool.map if pool else map)(Lane.follow, *arguments)
            measures.update(zip((lane.name for lane in batch), results, strict=True))
        return [measures[lane.name] for lane in lanes]

    def close(self) -> None:
        """Stop the threads."""
        if self._pool:
            self._pool.shutdown()
