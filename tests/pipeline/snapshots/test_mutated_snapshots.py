"""Snapshots with correct checksums and wrong content: refused, or harmless to the kernels.

`make bounds` runs these tests with every index of the kernels checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from learners.checks import InvalidArrayError
from learners.sharding.exchange import DisagreementError, ThreadExchange
from learners.sharding.parts import divided_state, new_part
from learners.specs import parse_spec, resolved
from pipeline.engine.engine import Engine, EngineSettings
from pipeline.events.event import Event
from pipeline.follower import Follower
from pipeline.log.block import make_block
from pipeline.snapshots.folder import KIND, VERSION
from pipeline.snapshots.snapshot import MismatchError, Snapshot, take_snapshot
from pipeline.storage.container import DamagedError, pack, unpack
from pipeline.text.feature_settings import FeatureSettings
from tests.pipeline.engine.test_engine import TOKENIZER, random_events
from tests.support.mutations import ODD_VALUES, mutated_arrays

SETTINGS = EngineSettings(FeatureSettings(max_terms=60), max_topics=6, max_pending=8)
LANES: dict[str, tuple[str, ...]] = {
    "mmp": ("mmp:loss=1,average=true",),
    "perceptron": ("perceptron",),
    "arow": ("arow",),
    "soft-arow": ("soft-arow",),
    "decisions": ("perceptron:assign=macro,risk=0.4",),
    "committee": ("committee:size=2",),
    "rocchio": ("rocchio:refresh=5",),
    "frequency": ("frequency",),
    "feature-focus": ("feature-focus:d_max=4",),
    "independent": ("independent",),
    "mmp-kernel": ("mmp:kernel=poly2,average=true,budget=4",),
    "shards": ("mmp:shards=2,average=true",),
    "prank": ("prank:ranks=3,average=true",),
    "prank-kernel": ("prank:ranks=3,kernel=poly2,average=true,budget=4",),
    "widrow-hoff": ("widrow-hoff:ranks=3",),
    "multiclass-perceptron": ("multiclass-perceptron:ranks=3,average=true",),
    "stacker": ("mmp:loss=1", "frequency", "svm-map:refit=10,window=20,depth=2,name=stacked"),
}
BEFORE, AFTER = 120, 40
FILE = "folder/00000000000000000003-12345678.wirerank"


def new_follower(kind: str) -> Follower:
    lanes = resolved([parse_spec(lane) for lane in LANES[kind]])
    return Follower(Engine(lanes, ("t9",), SETTINGS, threads=1))


def events() -> list[Event]:
    made = random_events(5, BEFORE + AFTER)
    early = [Event(f"to come {n}", None, ("t1", "t2"), 1 + n % 3, None) for n in range(4)]
    return [*made[: BEFORE - 4], *early, *made[BEFORE : BEFORE + AFTER]]


def process(engine: Engine, some: list[Event]) -> None:
    for start in range(0, len(some), 20):
        for _ in engine.process(make_block(some[start : start + 20], TOKENIZER), to_explain=1):
            pass


def reread(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot as it is after it was written and read, with a correct checksum."""
    data = pack(KIND, VERSION, snapshot.content, snapshot.arrays)
    return Snapshot(*unpack(data, KIND, VERSION, FILE), FILE)


def is_accepted(kind: str, snapshot: Snapshot) -> bool:
    """Whether the snapshot can be restored; the stream then goes on without an error."""
    follower = new_follower(kind)
    try:
        follower.restore(reread(snapshot))
    except (DamagedError, MismatchError):
        return False
    finally:
        follower.engine.close()
    with np.errstate(all="ignore"):
        try:
            process(follower.engine, events()[BEFORE:])
        except DisagreementError:  # shards notice that the scores of huge weights overflow
            return True
        for lane in follower.engine.lanes:
            list(lane.curve.all_points())
            lane.curve.graph(), lane.curve.derived(), lane.learner.size_bytes()
        follower.engine.differences.copy()
        take_snapshot(follower.engine, 1)
    return True


def taken(kind: str) -> Snapshot:
    follower = new_follower(kind)
    process(follower.engine, events()[:BEFORE])
    assert any(group.pending.documents for group in follower.engine.lane_groups)
    assert any(group.pending.early for group in follower.engine.lane_groups)
    follower.position = 3
    follower.coverage.reached[("documents", "i", 0)] = BEFORE
    follower.engine.close()
    return follower.snapshot(log="id", published=[])


@pytest.mark.slow
@pytest.mark.parametrize("kind", LANES)
def test_no_array_does_harm(kind: str) -> None:
    snapshot = taken(kind)
    assert is_accepted(kind, snapshot)
    # What all lanes share is mutated once. Of the stacker's engine, the other lanes were before.
    prefix = {"mmp": "", "prank": "(lane|ranks)", "stacker": "lane2/"}.get(kind, "lane")
    names = [name for name in snapshot.arrays if re.match(prefix, name)]
    for name in names:
        harmless = list[str]()
        for change, array in mutated_arrays(snapshot.arrays[name]):
            changed = replace(snapshot, arrays={**snapshot.arrays, name: array})
            if is_accepted(kind, changed):
                harmless.append(change)
        other_types = [change for change in harmless if change.startswith("type ")]
        assert not other_types, (name, other_types)
        nonsense = [c for c in harmless if " nan " in f"{c} " or " inf " in c or " -inf " in c]
        assert not nonsense or name.endswith(("curve/tally", "curve/points")), (name, nonsense)
        without = {key: array for key, array in snapshot.arrays.items() if key != name}
        assert not is_accepted(kind, replace(snapshot, arrays=without)) or name in OPTIONAL, name


# Older versions did not write these arrays, or only for some lanes.
OPTIONAL = {
    "differences", "ranks/differences", "lane0/learner/mass", "lane0/learner/visited",
    *(f"lane{n}/{name}" for n in range(3) for name in ("curve/topic_rounds", "pending/counts")),
}  # fmt: skip


def odd_contents(content: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the content with one value changed, down to the settings of lanes."""
    for key, value in content.items():
        yield {name: kept for name, kept in content.items() if name != key}
        for odd in ODD_VALUES:
            yield {**content, key: odd}
            if isinstance(value, list):
                yield {**content, key: [odd, *value[1:]]}
                yield {**content, key: [*value, *value[:1], odd]}
        if isinstance(value, dict):
            for changed in odd_contents(value):
                yield {**content, key: changed}


@pytest.mark.parametrize("kind", ["mmp", "prank"])
def test_no_value_does_harm(kind: str) -> None:
    snapshot = taken(kind)
    content = {**snapshot.content, "early": [list(pair) for pair in snapshot.content["early"]]}
    changes = list(odd_contents(content))
    refused = sum(not is_accepted(kind, replace(snapshot, content=c)) for c in changes)
    assert refused > 200


def test_the_message_names_the_file_the_lane_and_the_array() -> None:
    snapshot = taken("arow")
    snapshot.arrays["lane0/learner/weights"][0, 0] = np.nan
    with pytest.raises(DamagedError) as caught:
        new_follower("arow").restore(reread(snapshot))
    assert str(caught.value) == (
        f"{FILE} is damaged: lane arow, learner: array weights has nan at index 0, expected finite "
        "numbers"
    )


def test_a_vocabulary_with_wrong_ends_is_refused() -> None:
    """It was a segmentation fault."""
    snapshot = taken("mmp")
    ends = snapshot.arrays["vocabulary/ends"].copy()
    ends[1] = 10**12
    changed = replace(snapshot, arrays={**snapshot.arrays, "vocabulary/ends": ends})
    with pytest.raises(DamagedError, match="vocabulary: array ends falls from 1000000000000 to"):
        new_follower("mmp").restore(reread(changed))
    df = snapshot.arrays["vocabulary/df"][:-1]
    changed = replace(snapshot, arrays={**snapshot.arrays, "vocabulary/df": df})
    with pytest.raises(DamagedError, match=r"vocabulary: array df has shape \d+, expected"):
        new_follower("mmp").restore(reread(changed))


def test_the_state_of_a_shard_is_checked() -> None:
    """A shard that is a process is restored like one of several threads; see `shards` above."""
    state = taken("shards").arrays
    whole = {n.removeprefix("lane0/learner/"): a for n, a in state.items() if "/learner/" in n}
    learner = parse_spec("mmp:average=true").whole_learner()
    shard = divided_state(learner, whole, 1, 2)
    part = new_part(learner, ThreadExchange(2).member(1))
    part.restore(shard)
    with pytest.raises(InvalidArrayError, match="array weights has shape"):
        new_part(learner, ThreadExchange(1).member(0)).restore(shard)
    for name, value in (("stretch", 0), ("exchanges", -1), ("rounds", -1), ("stretch", 10**9)):
        with pytest.raises(InvalidArrayError, match=f"array {name} has numbers from"):
            part.restore({**shard, name: np.array(value)})
