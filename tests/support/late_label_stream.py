"""A small synthetic stream with late, early and missing labels, ranks and ready-made features."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import orjson

from pipeline.corpora.synthetic_newswire import SyntheticNewswire

RANKS = 4
LATE, EARLY = 11, 9  # documents between a document and its late or early label


def late_label_events(documents: int) -> list[bytes]:
    """Return raw events: documents, and the labels that come after or before their documents."""
    source = SyntheticNewswire(documents=documents, topics=5, seed=15, words=20)
    labels_after: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    made = []
    for number, raw in enumerate(source):
        document = orjson.loads(raw)
        document["rank"] = min(1 + len(document["topics"]), RANKS)
        if number % 19 == 6:
            document["id"] = f"version-{number // 40}"  # several versions of one document
        label = {"id": document["id"], "topics": document["topics"], "rank": document["rank"]}
        if number % 23 == 7:
            del document["text"], document["title"]
            document["features"] = {"length": 1.5, f"class{number % 3}": 0.25 * (1 + number % 4)}
        if number % 5 == 1:
            del document["topics"]  # its rank is known at once
            labels_after[number + LATE].append(label)
        elif number % 13 == 4:
            del document["topics"], document["rank"]
            labels_after[number - EARLY].append(label)
        elif number % 7 == 3 or number % 19 == 6:
            del document["topics"], document["rank"]  # never labelled
        made.append(orjson.dumps(document))
    return [
        event
        for number, document in enumerate(made)
        for event in (document, *map(orjson.dumps, labels_after[number]))
    ]
