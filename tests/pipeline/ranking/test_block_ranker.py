"""A document is ranked as the stream would rank it if it came next, to the last bit."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import orjson
import pytest

from learners.specs import LaneSpec
from pipeline.engine.engine import Engine
from pipeline.engine.ranking_events import ranking_events
from pipeline.events.event import Event
from pipeline.log.block import make_block
from pipeline.models.frozen_lanes import FrozenLanes, load_frozen_lanes
from pipeline.models.model import Model
from pipeline.models.model_file import read_model
from pipeline.ranking.block_ranker import BlockRanker
from pipeline.snapshots.restoring import restore_engine
from pipeline.text.terms import words_of
from tests.pipeline.engine.test_engine import TOKENIZER, random_events
from tests.support.saved_runs import LANES, event_lines, lane_options, run, write_lines

SHARDED = "mmp:shards=2,name=sharded"


def no_warning(line: str) -> None:
    raise AssertionError(line)


def as_next(model: Model, lanes: list[LaneSpec], event: Event) -> list[bytes]:
    """Return the ranking events of a stream that goes on from the model with this event."""
    engine = Engine(lanes, model.declared_topics, model.engine, threads=1)
    restore_engine(engine, model.snapshot)
    names = [lane.name for lane in lanes]
    events = [
        line
        for ranked in engine.process(make_block([event], TOKENIZER))
        for line in ranking_events(ranked, names, engine.topics.names, 0)
    ]
    engine.close()
    return events


def documents_to_rank(seed: int) -> list[Event]:
    """Make documents with known and new terms, few and many, texts and features."""
    rng = random.Random(seed)
    some = [event for event in random_events(seed + 100, 60) if event.content is not None]
    known = [f"w{i}" for i in range(90)]
    for length in (0, 1, 5, 20, 60, 90, 120):
        words = [*rng.sample(known, min(length, 60)), *(f"new{i}" for i in range(length // 2))]
        rng.shuffle(words)
        some.append(Event(f"text{length}", " ".join(words), ("t1", "unseen"), 2, None))
        some.append(Event(f"features{length}", dict.fromkeys(words, 0.5), (), 1, None))
    return some


@pytest.mark.parametrize(
    ("seed", "ceilings"),
    [
        (0, ("--max-terms", "70")),
        (1, ("--max-terms", "40", "--max-topics", "5")),
        (2, ("--max-terms", "100", "--min-df", "2")),
        (3, ()),
        (4, ("--max-terms", "64", "--min-df", "3")),
    ],
)
def test_a_document_is_ranked_as_if_it_came_next(seed: int, ceilings: tuple[str, ...]) -> None:
    """With every learner; also when new terms push known terms out of a full vocabulary."""
    source = write_lines("e.jsonl", event_lines(seed, 200))
    lanes = (*LANES, SHARDED) if seed == 0 else LANES  # shards are slow to start
    run(source, *lane_options(*lanes), *ceilings, "--save", "m", "--quiet")
    model = read_model(Path("m"))
    ranker = BlockRanker(load_frozen_lanes(Path("m"), (), no_warning), top=0)
    documents = documents_to_rank(seed)
    ranked, _ = ranker.rank(make_block(documents, TOKENIZER))
    expected = [line for event in documents for line in as_next(model, model.lanes, event)]
    assert ranked == expected
    again = list(reversed(documents))
    backwards, _ = ranker.rank(make_block(again, TOKENIZER))
    count = len(model.lanes)
    by_document = [ranked[i : i + count] for i in range(0, len(ranked), count)]
    assert backwards == [line for lines in reversed(by_document) for line in lines]


def test_a_vocabulary_that_is_cut_is_really_tried() -> None:
    """Some documents of the test above make the stream drop terms that they have themselves."""
    source = write_lines("e.jsonl", event_lines(1, 200))
    run(source, "--lane", "mmp", "--max-terms", "40", "--save", "m", "--quiet")
    model = read_model(Path("m"))
    cut = lost = 0
    for event in documents_to_rank(1):
        engine = Engine(model.lanes, model.declared_topics, model.engine, threads=1)
        restore_engine(engine, model.snapshot)
        block = make_block([event], TOKENIZER)
        before = words_of(engine.vocabulary.table)
        own = set(words_of(block.counts.table))
        keeps = [vectors.keep for vectors in engine.vocabulary.vectors(block.counts, block.ready)]
        if any(keep is not None for keep in keeps):
            cut += 1
            kept = max((keep for keep in keeps if keep is not None), key=len)
            lost += bool(own & set(before) - {before[i] for i in kept.tolist()})
    assert cut > 10
    assert lost > 0


def test_reasons_change_no_other_key() -> None:
    """Also of lanes that assign topics: only one with a risk says whether to review."""
    source = write_lines("e.jsonl", event_lines(6, 150))
    lanes = (
        "perceptron:assign=f1,order=probability,name=sets",
        "perceptron:assign=f1,risk=0.2,name=marks",
    )
    run(source, *lane_options(*lanes), "--save", "m", "--quiet")
    ranker = BlockRanker(load_frozen_lanes(Path("m"), (), no_warning), top=3)
    block = make_block(documents_to_rank(6), TOKENIZER)
    plain, _ = ranker.rank(block)
    explained, _ = ranker.rank(block, why=True)
    for line, with_reasons in zip(plain, explained, strict=True):
        event, same = orjson.loads(line), orjson.loads(with_reasons)
        for entry in same["ranking"]:
            del entry["terms"]
        assert same == event
        assert ("review" in event) == (event["lane"] == "marks")


def test_ranking_changes_nothing_in_the_model() -> None:
    source = write_lines("e.jsonl", event_lines(5, 150))
    run(source, *lane_options(*LANES), "--max-terms", "70", "--save", "m", "--quiet")
    (part,) = load_frozen_lanes(Path("m"), (), no_warning)
    before = states(part)
    BlockRanker([part], top=3, why=True, evaluate=True).rank(
        make_block(documents_to_rank(5), TOKENIZER)
    )
    after = states(part)
    assert before.keys() == after.keys()
    for name, array in before.items():
        if name.endswith("/visited"):
            continue  # how many connections were looked at is no part of what is learned
        same = after[name][tuple(slice(n) for n in array.shape)]  # it may have room for new terms
        assert np.array_equal(array, same, equal_nan=array.dtype.kind == "f"), name


def states(part: FrozenLanes) -> dict[str, np.ndarray]:
    """Return all that lanes rank with, as named arrays."""
    engine = part.engine
    arrays = {f"vocabulary/{key}": value for key, value in engine.vocabulary.state().items()}
    for lane in engine.all_lanes:
        for key, value in lane.learner.state().items():
            arrays[f"{lane.name}/{key}"] = value
    return arrays


@pytest.mark.parametrize("lane", ["stacked", "arow", "prank:ranks=4"])
def test_only_the_lanes_that_are_asked_for_are_loaded(lane: str) -> None:
    source = write_lines("e.jsonl", event_lines(6, 150))
    run(source, *lane_options(*LANES), "--save", "m", "--quiet")
    documents = documents_to_rank(6)
    block = make_block(documents, TOKENIZER)
    everything, _ = BlockRanker(load_frozen_lanes(Path("m"), (), no_warning), 0).rank(block)
    (part,) = load_frozen_lanes(Path("m"), (lane,), no_warning)
    needed = {"stacked": {"stacked", "mmp:loss=1", "arow"}}.get(lane, {lane})
    assert {one.name for one in part.engine.all_lanes} == needed
    some, _ = BlockRanker([part], 0).rank(block)
    assert some == [line for line in everything if orjson.loads(line)["lane"] == lane]


def test_reasons_add_up_to_the_scores() -> None:
    source = write_lines("e.jsonl", event_lines(7, 150))
    lanes = ("mmp:loss=1", "perceptron", "feature-focus:d_max=4", "prank:ranks=4")
    run(source, *lane_options(*lanes, "mmp:kernel=poly2,name=k"), "--save", "m", "--quiet")
    parts = load_frozen_lanes(Path("m"), (), no_warning)
    documents = [Event(1, "w1 w2 new", None, None, "2020-01-01T00:00:00Z")]
    block = make_block(documents, TOKENIZER)
    plain, _ = BlockRanker(parts, 3).rank(block)
    with_reasons, _ = BlockRanker(parts, 3, why=True).rank(block)
    for line, reasons in zip(plain, with_reasons, strict=True):
        event, explained = orjson.loads(line), orjson.loads(reasons)
        for place in explained.get("ranking", [explained]):
            terms = place.pop("terms")
            if event["lane"] == "k":
                assert terms is None
            else:
                total = sum(term["weight"] for term in terms)
                assert total == pytest.approx(place["score"], rel=1e-9, abs=1e-12)
                assert {term["term"] for term in terms} <= {"w1", "w2"}
        assert explained == event
        assert list(explained) == list(event)


def test_a_model_without_rounds_ranks() -> None:
    source = write_lines("e.jsonl", [b'{"id":1,"text":"wheat"}'])
    run(source, *lane_options(*LANES), "--save", "m", "--quiet")
    parts = load_frozen_lanes(Path("m"), (), no_warning)
    ranked, _ = BlockRanker(parts, 0).rank(make_block(documents_to_rank(8), TOKENIZER))
    model = read_model(Path("m"))
    assert ranked[: len(LANES)] == as_next(model, model.lanes, documents_to_rank(8)[0])
