"""A tokenizer of a simulated cluster."""

from __future__ import annotations

import numpy as np

from learners.arrays import Floats
from pipeline.planning.event_loop import Process, Signal
from pipeline.planning.scenario import World
from pipeline.planning.simulated_log import SimulatedLog


class Tokenizer:
    """Takes all documents that wait, and writes them as a block while it tokenizes the next."""

    def __init__(self, world: World, log: SimulatedLog, arrivals: Floats) -> None:
        self.cores = world.new_cores()
        self._world, self._log, self._arrivals = world, log, arrivals
        self._loop = world.loop
        self._pace = world.new_pace()
        self._killed = False
        self._known_seconds: dict[int, float] = {}

    def kill(self, at: float) -> None:
        """Kill it at a time. It loses what it has not written, and reads that again."""

        def dying() -> Process:
            yield at
            self._killed = True

        self._loop.start(dying())

    def run(self) -> Process:
        """Work until all documents are written."""
        done, before = 0, Signal()
        before.happened = True
        while done < len(self._arrivals):
            waiting = int(np.searchsorted(self._arrivals, self._loop.now, "right")) - done
            if waiting == 0:
                yield float(self._arrivals[done]) - self._loop.now
                continue
            size = min(waiting, self._world.shape.max_block)
            yield from self.cores.use(self._pace.step(self._block_seconds(size)))
            yield before
            if self._killed:
                self._killed = False
                yield self._world.scenario.restart_seconds
                continue
            before = Signal()
            self._loop.start(self._log.append(self._arrivals[done : done + size], before))
            done += size

    def _block_seconds(self, size: int) -> float:
        """Core time of a block at the usual pace; computed once for each size."""
        if size not in self._known_seconds:
            load = self._world.load._replace(block=size)
            self._known_seconds[size] = size * self._world.costs.tokenizer_us(load) / 1e6
        return self._known_seconds[size]
