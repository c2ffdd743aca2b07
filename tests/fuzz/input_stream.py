"""The inputs of one stream: a function of the seed, the target and the number of the stream.

Inputs whose outcome is new are kept and mutated further. That leads into the depth of a parser
without instrumentation, because every check has its own message.
"""

from __future__ import annotations

from random import Random

from tests.fuzz.target import Target

LARGE = 1 / 1500  # how many of the inputs are large
MOST_KEPT = 400
MOST_KEPT_BYTES = 4_000  # or twice the largest seed: small inputs are fast


class InputStream:
    """Makes inputs for a target, one after another."""

    def __init__(self, target: Target, seed: int, number: int) -> None:
        self._target = target
        self._rng = Random(f"{seed}/{target.name}/{number}")
        self._pool = list(target.seeds())
        self._seeds = len(self._pool)
        self._most_bytes = max(MOST_KEPT_BYTES, 2 * max(map(len, self._pool)))
        self._outcomes: set[str] = set()

    @property
    def seeds(self) -> list[bytes]:
        """The valid inputs that everything begins with."""
        return self._pool[: self._seeds]

    @property
    def outcomes(self) -> int:
        """How many different outcomes there were."""
        return len(self._outcomes)

    def next(self) -> bytes:
        """Return the next input."""
        rng, pool = self._rng, self._pool
        data = pool[int(rng.random() * (self._seeds if rng.random() < 0.5 else len(pool)))]
        if rng.random() < LARGE:
            return self._target.blow_up(rng, data)
        other = pool[int(rng.random() * len(pool))]
        return self._target.mutate(rng, data, other)

    def learn(self, data: bytes, outcome: str) -> None:
        """Keep an input if its outcome is new."""
        if outcome in self._outcomes:
            return
        self._outcomes.add(outcome)
        if len(data) <= self._most_bytes and len(self._pool) < MOST_KEPT + self._seeds:
            self._pool.append(data)
