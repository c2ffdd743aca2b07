"""Requests to rank: any body gets an answer, and does not change the answers of others."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import orjson

from pipeline.errors import UsageError
from pipeline.serving.model_source import ModelSource
from pipeline.serving.rank_request import Limits
from tests.fuzz.mutation import JsonMutator, blown_up, keys_in
from tests.fuzz.target import Broken, Target, scratch_folder
from tests.support.model_server import save_model

LANES = ("mmp", "feature-focus", "prank:ranks=4")
EXAMPLES: list[dict[str, Any]] = [
    {"text": "w1 w2 w3", "top": 3, "why": True},
    {"documents": [{"id": "a", "title": "w1", "text": "w2"}, {"features": {"w3": 1.5}}]},
    {"features": {"w1": 1, "w2": -2.5}, "lane": ["mmp", "feature-focus"], "top": 0},
    {"documents": [{"text": "w4", "time": "1987-02-26T15:01:01Z", "topics": ["t1"], "rank": 2}]},
]
WORDS: tuple[Any, ...] = (
    "mmp", "prank:ranks=4", "w1", 0, -1, 1 << 63, 1e308, True, None, [], {}, [{}], [[]], "",
)  # fmt: skip
PLAIN = orjson.dumps({"text": "w1 w5", "top": 4})
EXPECTED = {200, 400, 413}


class RankRequests(Target):
    """Requests to rank: `pipeline/serving/rank_request.py` and `served_model.py`."""

    name = "rank-requests"
    share = 0.2
    largest = 1 << 17
    kernels = True

    def __init__(self) -> None:
        self._folder = scratch_folder()
        path = save_model(Path(self._folder.name), *LANES)
        limits = Limits(documents=100, places=5000, explained_places=500)
        self._model = ModelSource(path, (), None, 10, limits).load(refuse)
        self._plain = self._rankings(self._model.answer([PLAIN])[0].body)
        self._mutator = JsonMutator(sorted(keys_in(EXAMPLES)), WORDS)
        logging.getLogger("pipeline.serving").setLevel(logging.CRITICAL)

    def seeds(self) -> Sequence[bytes]:
        return [orjson.dumps(example) for example in EXAMPLES]

    def mutate(self, rng: Random, data: bytes, other: bytes) -> bytes:
        return self._mutator.mutate(rng, data, other)

    def blow_up(self, rng: Random, data: bytes) -> bytes:
        grown = blown_up(rng, b"w1 w2 ", self.largest // 2).decode("utf-8", "replace")
        return orjson.dumps(
            {"documents": [{"text": grown}, {"text": 7}, *EXAMPLES[1]["documents"]]}
        )

    def run(self, data: bytes) -> str:
        reply, beside = self._model.answer([data, PLAIN])
        if reply.status not in EXPECTED:
            raise Broken(f"the answer has the status {reply.status}")
        if self._rankings(beside.body) != self._plain:
            raise Broken("a request has changed the answer to another one")
        answer = orjson.loads(reply.body)
        if reply.status != 200:
            return f"{reply.status} {answer['error']['reason']}"
        ranked = len({event["id"] for event in answer["rankings"]}).bit_length()
        return f"ranked {ranked}, refused {sorted({one['reason'] for one in answer['refused']})}"

    @staticmethod
    def _rankings(body: bytes) -> bytes:
        """Return an answer without the age of its model."""
        return body.partition(b'"rankings":')[2]

    def close(self) -> None:
        self._folder.cleanup()


def refuse(warning: str) -> None:
    """Nothing may be wrong with the model itself."""
    raise UsageError(warning)
