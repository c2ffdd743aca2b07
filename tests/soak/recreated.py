"""Judges a stream whose documents topic is deleted and created again. No code of Wirerank.

Documents that nobody had read when their topic was deleted are lost by nature. So of the documents
of an earlier topic, the first of each partition must be ranked, up to some offset, and none after
it. Of the last topic, every document must be ranked. None may be ranked twice.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from tests.soak.history import Record


@dataclass
class RecreatedVerdict:
    """What became of the documents of a stream whose topic was replaced."""

    topics: int = 0  # how many topics of the same name there were
    documents: int = 0
    ranked: int = 0
    unread: int = 0  # documents at the end of deleted topics: lost by nature
    skipped: int = 0  # documents that are not ranked although later ones are
    lost: int = 0  # documents of the last topic that are not ranked
    doubled: int = 0
    unknown: int = 0
    different: int = 0

    def as_json(self) -> dict[str, int]:
        return asdict(self)

    def violations(self) -> list[str]:
        """What must not be."""
        counts = ("skipped", "lost", "doubled", "unknown", "different")
        return [
            f"replaced topics: {number} documents or rankings {what}"
            for what in counts
            if (number := getattr(self, what))
        ]


def judge_recreated(
    ledger: Iterable[dict[str, Any]], rankings: list[Record], reference: list[Record]
) -> RecreatedVerdict:
    """Check one lane of such a stream; the load must know the fate of every document."""
    written = [e for e in ledger if e["kind"] == "document"]
    expected = Counter(entry["id"] for entry in written)
    values = [record.value for record in rankings]
    ranked = Counter(json.loads(value)["id"] for value in values)
    last = max((entry["generation"] for entry in written), default=0)
    verdict = RecreatedVerdict(last + 1, len(written), len(values))
    verdict.doubled = sum(n - expected[id_] for id_, n in ranked.items() if n > expected[id_] > 0)
    verdict.unknown = sum(n for id_, n in ranked.items() if not expected[id_])
    verdict.different = (Counter(values) - Counter(record.value for record in reference)).total()
    partitions: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
    for entry in written:
        if entry["offset"] is not None and expected[entry["id"]] == 1:
            partitions[entry["generation"], entry["partition"]].append(entry)
    for (generation, _), entries in partitions.items():
        entries.sort(key=lambda entry: int(entry["offset"]))
        there = [entry["id"] in ranked for entry in entries]
        end = max((place for place, is_there in enumerate(there, 1) if is_there), default=0)
        verdict.skipped += there[:end].count(False)
        if generation == last:
            verdict.lost += len(there) - end
        else:
            verdict.unread += len(there) - end
    return verdict
