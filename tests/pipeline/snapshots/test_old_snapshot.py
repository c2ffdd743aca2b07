"""A snapshot that an older version wrote is read, and the stream continues as it would have.

Term weights need a logarithm, whose last bit depends on the machine's C library (decision 1). So
floating-point arrays are compared with a tolerance, and everything else exactly.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from learners.specs import parse_spec, resolved
from pipeline.engine.engine import Engine, EngineSettings
from pipeline.engine.ranking_events import ranking_events
from pipeline.events.event import parse_event
from pipeline.follower import Follower
from pipeline.log.record import Span
from pipeline.log.writer import EventBatch, encode_batches
from pipeline.snapshots.folder import KIND, VERSION, read_snapshot
from pipeline.snapshots.inspection import inspect
from pipeline.storage.container import unpack
from pipeline.text.feature_settings import FeatureSettings
from pipeline.text.tokenizer import Tokenizer
from tests.support.late_label_stream import late_label_events

DATA = Path(__file__).parent / "data"
SNAPSHOT = DATA / "written_by_443bc98.wirerank"
OUTCOME = DATA / "outcome_of_443bc98.json"
OUTCOME_ARRAYS = DATA / "outcome_of_443bc98.wirerank"

LANES = (
    "mmp:loss=1",
    "perceptron",
    "arow",
    "committee:size=2",
    "rocchio:refresh=20",
    "frequency",
    "feature-focus:d_max=4",
    "prank:ranks=4",
    "svm-map:of=[mmp:loss=1,arow],refit=15,window=20,cost=1000,depth=3,name=stacked",
)
SETTINGS = EngineSettings(FeatureSettings(max_terms=64), max_topics=5, max_pending=8)
# Lanes that learn in another way since then: the stacker begins again, and the committee goes on
# with other random numbers.
CHANGED = ("stacked", "committee:size=2")
DOCUMENTS, EVENTS_PER_RECORD = 90, 10


def old_records() -> list[bytes]:
    """Return the records of the log that the older version followed."""
    events = [parse_event(raw) for raw in late_label_events(DOCUMENTS)]
    tokenizer = Tokenizer()
    records: list[bytes] = []
    for start in range(0, len(events), EVENTS_PER_RECORD):
        part = events[start : start + EVENTS_PER_RECORD]
        offsets = list(range(start, start + len(part)))
        span = Span("documents", 0, start, start + len(part), "made-up")
        batch = EventBatch(span, offsets, part, 1000 * start)
        records += encode_batches([batch], tokenizer, 1 << 20)
    return records


@pytest.fixture(scope="module")
def outcome() -> dict[str, Any]:
    """What the older version made of the whole log."""
    content: dict[str, Any] = orjson.loads(OUTCOME.read_bytes())
    return content


def ranking_line(event: bytes, topics: list[str]) -> tuple[str, str]:
    """Return a ranking event as its lane and a line of `OUTCOME`."""
    fields = orjson.loads(event)
    ranking = "".join(str(topics.index(place["topic"])) for place in fields.get("ranking", ()))
    return fields["lane"], f"{fields['id']} {fields['round']} {ranking or fields['rank']}"


def test_records_have_the_same_bytes(outcome: dict[str, Any]) -> None:
    assert hashlib.sha256(b"".join(old_records())).hexdigest() == outcome["records_sha256"]


def test_the_stream_continues_from_an_old_snapshot(outcome: dict[str, Any]) -> None:
    specs = resolved([parse_spec(lane) for lane in LANES])
    names = [spec.name for spec in specs]
    follower = Follower(Engine(specs, (), SETTINGS))
    follower.restore(read_snapshot(SNAPSHOT))
    engine = follower.engine
    for group in engine.lane_groups:
        assert group.pending.documents
        assert group.pending.early
    rankings: dict[str, list[str]] = {name: [] for name in names}
    for offset, record in list(enumerate(old_records()))[follower.position :]:
        for ranked in follower.follow(record, offset, f"record {offset}"):
            for event in ranking_events(ranked, names, engine.topics.names, 0):
                name, line = ranking_line(event, engine.topics.names)
                rankings[name].append(line)
    for name in CHANGED:
        assert rankings.pop(name)
        assert outcome["rankings"].pop(name)
    assert rankings == outcome["rankings"]
    for lane in engine.lanes:
        if lane.name in CHANGED:
            continue
        losses = {loss: lane.curve.last().values[loss] for loss in outcome["losses"][lane.name]}
        assert losses == pytest.approx(outcome["losses"][lane.name], rel=1e-12)
    snapshot = follower.snapshot(log="made-up", published=names[:2])
    content = orjson.loads(orjson.dumps(snapshot.content))
    assert content["settings"].pop("max_pending_bytes")  # a limit that is newer
    assert {key: content[key] for key in outcome["content"]} == outcome["content"]
    _, arrays = unpack(OUTCOME_ARRAYS.read_bytes(), KIND, VERSION, OUTCOME_ARRAYS.name)
    changed = tuple(f"lane{names.index(name)}/" for name in CHANGED)
    arrays = {name: array for name, array in arrays.items() if not name.startswith(changed)}
    own = {name for name in snapshot.arrays if "learner/" in name and not name.startswith(changed)}
    newer = {name for name in own if name.endswith("learner/visited")}
    assert own - newer == {name for name in arrays if "learner/" in name}
    for key, expected in arrays.items():
        array = snapshot.arrays[key]
        assert (array.dtype, array.shape) == (expected.dtype, expected.shape), key
        if array.dtype.kind == "f":
            np.testing.assert_allclose(array, expected, rtol=1e-9, atol=1e-12, err_msg=key)
        else:
            assert np.array_equal(array, expected), key


def test_an_old_snapshot_can_be_inspected(outcome: dict[str, Any]) -> None:
    (inspection,) = inspect(SNAPSHOT)
    assert inspection.good, inspection.problem
    assert inspection.facts["position"] == 5
    assert list(inspection.facts["lanes"]) == list(outcome["losses"])
