"""Ranking events: what a lane says of a document, best topic first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import orjson

from learners.jit import njit
from learners.segment import Floats, Ints
from pipeline.engine import Ranked


@njit
def best_first(scores: Floats, known: Ints, top: int) -> Ints:
    """For each row the `top` topics by falling score, ties by index; -1 where there are fewer."""
    order = np.full((len(scores), top), -1, np.int32)
    for row in range(len(scores)):
        mine, best = scores[row], order[row]
        filled = 0
        for topic in range(known[row]):
            if filled == top and (top == 0 or mine[topic] <= mine[best[top - 1]]):
                continue
            place = min(filled, top - 1)
            # Only a better score passes an earlier topic, so equal scores stay in order.
            while place > 0 and mine[topic] > mine[best[place - 1]]:
                best[place] = best[place - 1]
                place -= 1
            best[place] = topic
            filled = min(filled + 1, top)
    return order


def ranking_events(
    ranked: Ranked, lanes: Sequence[str], topics: Sequence[str], top: int
) -> Iterator[bytes]:
    """The ranking events of a stretch of documents: document by document, lane by lane.

    `top` many topics each; 0 means all that were known then. `time` is the document's own, so that
    the same log gives the same events.
    """
    known = int(ranked.known.max(initial=0))
    most = min(top, known) if top else known
    orders = [best_first(scores, ranked.known, most) for scores in ranked.scores]
    for row, document in enumerate(ranked.documents):
        for lane, order, scores in zip(lanes, orders, ranked.scores, strict=True):
            best = order[row]
            best = best[best >= 0]
            values = scores[row, best].tolist()
            yield orjson.dumps(
                {
                    "id": document.id,
                    "lane": lane,
                    "round": ranked.rounds[row],
                    "ranking": [
                        {"topic": topics[topic], "score": value}
                        for topic, value in zip(best.tolist(), values, strict=True)
                    ],
                    "time": document.time,
                }
            )
