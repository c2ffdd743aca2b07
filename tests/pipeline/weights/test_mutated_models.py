"""Models with correct checksums and wrong content: refused, or shown without an error."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.errors import UsageError
from pipeline.models.model_file import read_whole
from pipeline.snapshots.folder import KIND, VERSION
from pipeline.snapshots.snapshot import Snapshot
from pipeline.storage.container import DamagedError, pack
from pipeline.weights.difference import compare
from pipeline.weights.difference_tables import difference_text
from pipeline.weights.export import export_weights
from pipeline.weights.heaviest import heaviest_terms, heaviest_topics
from pipeline.weights.heaviest_tables import heaviest_json, heaviest_text
from tests.pipeline.snapshots.test_mutated_snapshots import odd_contents
from tests.support.mutations import mutated_arrays
from tests.support.saved_runs import event_lines, lane_options, run, write_lines

LANES = {
    "mmp": "mmp:average=true",
    "arow": "arow",
    "soft-arow": "soft-arow",
    "committee": "committee:size=2",
    "rocchio": "rocchio:refresh=5",
    "frequency": "frequency",
    "feature-focus": "feature-focus:d_max=4",
    "prank": "prank:ranks=3,average=true",
}


def model(lane: str) -> Snapshot:
    source = write_lines("e.jsonl", event_lines(5, 60))
    run(source, *lane_options(lane), "--max-terms", "60", "--save", "good", "--quiet")
    return read_whole(Path("good"))


def outcome(snapshot: Snapshot, lane: str) -> str:
    """Do everything with a model that can be done; no other error may come out."""
    path = Path("odd")
    path.write_bytes(pack(KIND, VERSION, snapshot.content, snapshot.arrays))
    outcomes = list[str]()
    with np.errstate(all="ignore"):
        for number in range(4):
            try:
                if number == 0:
                    found = heaviest_terms(path, "t1", [], 5, print)
                    heaviest_json({"topic": "t1"}, "term", found)
                    heaviest_text({"topic": "t1"}, "term", found)
                elif number == 1:
                    found = heaviest_topics(path, "w1", [], 5, print)
                    heaviest_json({"term": "w1"}, "topic", found)
                    heaviest_text({"term": "w1"}, "topic", found)
                elif number == 2:
                    export_weights(path, Path("w.npz"), lane, print)
                    export_weights(path, Path("w.csv"), lane, print)
                else:
                    difference_text(compare(Path("good"), path, 5))
                outcomes.append("shown")
            except (UsageError, DamagedError):
                outcomes.append("refused")
    return " ".join(outcomes)


@pytest.mark.slow
@pytest.mark.parametrize("kind", LANES)
def test_no_array_does_harm(kind: str) -> None:
    snapshot = model(LANES[kind])
    names = [
        name
        for name in snapshot.arrays
        if name.startswith("lane0/learner") or (kind == "mmp" and name.startswith("vocabulary"))
    ]
    outcomes = Counter[str]()
    for name in names:
        for _, array in mutated_arrays(snapshot.arrays[name]):
            changed = replace(snapshot, arrays={**snapshot.arrays, name: array})
            outcomes[outcome(changed, LANES[kind])] += 1
    assert outcomes["refused refused refused refused"] > 0


@pytest.mark.slow
def test_no_content_does_harm() -> None:
    snapshot = model(LANES["mmp"])
    outcomes = Counter(
        outcome(replace(snapshot, content=content), LANES["mmp"])
        for content in odd_contents(snapshot.content)
    )
    assert outcomes["refused refused refused refused"] > 0
    assert outcomes["shown shown shown shown"] > 0
