"""A model that answers requests: many of them in one call of the kernels."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

import orjson

from pipeline.engine.engine import Engine
from pipeline.events.event import Event
from pipeline.log.block import make_block
from pipeline.models.frozen_lanes import FrozenLanes
from pipeline.ranking.block_ranker import BlockRanker
from pipeline.ranking.rank import WARM_UP
from pipeline.serving.rank_request import BadRequest, Limits, RankRequest, parse_request
from pipeline.text.tokenizer import Tokenizer

log = logging.getLogger(__name__)

BLOCK_DOCUMENTS = 1024
JSON = "application/json"


class Reply(NamedTuple):
    """The answer to a request."""

    status: int
    body: bytes
    documents: int = 0  # ranked for it
    refused: int = 0
    content_type: str = JSON


def problem(status: int, reason: str, detail: str) -> Reply:
    """Return the answer to a request that is refused.

    >>> problem(400, "not_json", "the body is not valid JSON").body
    b'{"error":{"reason":"not_json","detail":"the body is not valid JSON"}}'
    """
    text = detail.encode("utf-8", "replace").decode()
    return Reply(status, orjson.dumps({"error": {"reason": reason, "detail": text}}))


class ServedModel:
    """Ranks with the lanes of a model. Used by one thread at a time."""

    def __init__(
        self, parts: Sequence[FrozenLanes], profile: str, limits: Limits, top: int, saved: float
    ) -> None:
        self._parts = parts
        self._profile = profile
        self._limits = limits
        self._top = top
        self.saved = saved  # when the oldest of its files was written
        self._tokenizer = Tokenizer(profile)
        self._ranker = BlockRanker(parts, top)
        self._lanes = self._ranker.lanes
        self._topics = max(len(part.engine.topics) for part in parts)
        self.documents = max(part.documents for part in parts)
        for why in (False, True):  # compiled now, and not when a client waits
            self._ranker.rank(make_block(WARM_UP, self._tokenizer), why=why)

    @property
    def age_seconds(self) -> float:
        """Seconds since the oldest file of the model was written."""
        return max(0.0, time.time() - self.saved)

    def summary(self) -> dict[str, Any]:
        """Return what every answer says about the model."""
        names = [part.name.rpartition("/")[2] for part in self._parts]
        return {
            "files": [name.encode("utf-8", "replace").decode() for name in names],
            "documents": self.documents,
            "age_seconds": round(self.age_seconds, 3),
        }

    def description(self) -> dict[str, Any]:
        """Return the model in some numbers."""
        return {
            **self.summary(),
            "profile": self._profile,
            "lanes": len(self._lanes),
            "topics": self._topics,
            "terms": max(len(part.engine.vocabulary) for part in self._parts),
        }

    def lanes(self) -> list[dict[str, Any]]:
        """Return the lanes with their settings."""
        return [
            {
                "name": lane.name,
                "kind": "rank" if lane.is_ordinal else "topics",
                "rounds": part.engine.group_of(lane).rounds,
                "settings": lane.spec.settings,
            }
            for part in self._parts
            for lane in part.engine.lanes
        ]

    def topics(self) -> list[str]:
        """Return all topics, in the order of their index."""
        engines: list[Engine] = [part.engine for part in self._parts]
        return list(dict.fromkeys(name for engine in engines for name in engine.topics.names))

    def answer(self, bodies: Sequence[bytes]) -> list[Reply]:
        """Answer requests together; a request that fails does not harm the others."""
        try:
            return self._answer(bodies)
        except Exception:
            if len(bodies) > 1:
                return [self.answer([body])[0] for body in bodies]
            log.exception("a request could not be answered")
            detail = "the request could not be answered; the log of the server has the details"
            return [problem(500, "internal_error", detail)]

    def _answer(self, bodies: Sequence[bytes]) -> list[Reply]:
        replies: dict[int, Reply] = {}
        requests = list[tuple[int, RankRequest]]()
        for number, body in enumerate(bodies):
            try:
                request = parse_request(body, self._lanes, self._topics, self._limits, self._top)
                requests.append((number, request))
            except BadRequest as error:
                replies[number] = problem(error.status, error.reason, error.detail)
        opening = b'{"model":%b,"rankings":[' % orjson.dumps(self.summary())
        requests.sort(key=lambda pair: (pair[1].top, pair[1].why))
        for (top, why), group in groupby(requests, lambda pair: (pair[1].top, pair[1].why)):
            for some in self._blocks([*group]):
                replies.update(self._ranked(some, top, why, opening))
        return [replies[number] for number in range(len(bodies))]

    def _blocks(
        self, requests: Sequence[tuple[int, RankRequest]]
    ) -> list[list[tuple[int, RankRequest]]]:
        """Return requests in groups that are ranked in one call each."""
        blocks: list[list[tuple[int, RankRequest]]] = [[]]
        size = 0
        for pair in requests:
            count = len(pair[1].documents)
            if blocks[-1] and size + count > BLOCK_DOCUMENTS:
                blocks.append([])
                size = 0
            blocks[-1].append(pair)
            size += count
        return blocks

    def _ranked(
        self, requests: Sequence[tuple[int, RankRequest]], top: int, why: bool, opening: bytes
    ) -> dict[int, Reply]:
        documents: list[Event] = [event for _, request in requests for event in request.documents]
        events = list[bytes]()
        if documents:
            events, _ = self._ranker.rank(make_block(documents, self._tokenizer), top, why)
        replies: dict[int, Reply] = {}
        lanes, start = len(self._lanes), 0
        for number, request in requests:
            stop = start + lanes * len(request.documents)
            own = events[start:stop]
            if len(request.lanes) < lanes:
                own = [
                    own[i + lane] for i in range(0, stop - start, lanes) for lane in request.lanes
                ]
            start = stop
            replies[number] = Reply(
                200,
                b'%b%b],"refused":%b}' % (opening, b",".join(own), refused_documents(request)),
                len(request.documents),
                len(request.refused),
            )
        return replies


def refused_documents(request: RankRequest) -> bytes:
    """Return the documents that cannot be ranked, as JSON."""
    if not request.refused:
        return b"[]"
    return orjson.dumps(
        [
            {
                "document": number,
                "reason": refusal.reason,
                "detail": refusal.detail.encode("utf-8", "replace").decode(),
            }
            for number, refusal in request.refused
        ]
    )
