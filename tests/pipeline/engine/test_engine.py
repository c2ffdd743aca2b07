"""The engine tests before it trains, does not depend on block sizes, and keeps its limits."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import orjson
import pytest

import learners.prototypes.mmp
import learners.threads
from learners.segment import Rows
from learners.specs import parse_spec
from learners.unit_length import unit_length
from pipeline.engine import engine as engine_module
from pipeline.engine.engine import Engine, EngineSettings
from pipeline.engine.ranking_events import ranking_events
from pipeline.events.event import Event
from pipeline.log.block import make_block
from pipeline.snapshots.snapshot import take_snapshot
from pipeline.text.feature_settings import FeatureSettings
from pipeline.text.tokenizer import Tokenizer

TOKENIZER = Tokenizer()
LANES = (
    "mmp:loss=1",
    "mmp:loss=3,average=true,norm=l2",
    "perceptron",
    "rocchio:refresh=5",
    "feature-focus:margin=0.3,w_min=0.1",
    "mmp:kernel=poly2,budget=9,average=true",
    "committee:size=3",
    "arow:rho=0.5,bias=0",
    "soft-arow:rho=0.5,bias=0",
    "perceptron:assign=macro,risk=0.4,order=probability",
    "mmp:loss=2,assign=precision:0.6",
    "feature-focus:assign=f1,risk=0.2,order=probability",
    "perceptron:assign=f1,order=probability",
    "svm-map:of=[perceptron,feature-focus:margin=0.3,w_min=0.1,mmp:loss=1],refit=6,window=12,cost=9",
    "svm-map:of=[perceptron:assign=f1,order=probability,rocchio:refresh=5],refit=6,"
    "assign=micro,order=probability",
    "prank:ranks=3,average=true",
    "widrow-hoff:ranks=3,kernel=poly2,budget=20,norm=l2",
)


def document(id_: str | int, content: str | dict[str, float], *topics: str) -> Event:
    return Event(id_, content, topics, None, None)


def unlabelled(id_: str | int, content: str | dict[str, float]) -> Event:
    return Event(id_, content, None, None, None)


def label(id_: str | int, *topics: str) -> Event:
    return Event(id_, None, topics, None, None)


def run(
    events: Sequence[Event],
    block: int = 1000,
    lanes: Sequence[str] = LANES,
    topics: Sequence[str] = (),
    settings: EngineSettings | None = None,
) -> tuple[Engine, list[bytes]]:
    engine = Engine([parse_spec(lane) for lane in lanes], topics, settings)
    rankings: list[bytes] = []
    for start in range(0, len(events), block):
        for ranked in engine.process(make_block(events[start : start + block], TOKENIZER)):
            rankings += ranking_events(ranked, lanes, engine.topics.names, 0)
    engine.close()
    return engine, rankings


def losses(engine: Engine, name: str = "loss2") -> list[float]:
    """Return the loss of each round of the first lane; its curve keeps the first 128 points."""
    sums = [
        0.0,
        *((p.values[name] or 0.0) * p.round for p in engine.lanes[0].curve.all_points()),
    ]
    return [round(b - a, 9) for a, b in pairwise(sums)]


def random_events(seed: int, length: int) -> list[Event]:
    """Make events: text or features; labels at once, late, early, twice or never; repeated ids."""
    rng = random.Random(seed)
    events: list[Event] = []
    for i in range(length):
        id_: str | int = f"d{i}" if rng.random() < 0.9 else f"d{rng.randrange(i + 1)}"
        topics = tuple(rng.sample([f"t{n}" for n in range(3 + i // 40)], k=rng.randrange(4)))
        words = [f"w{int(60 * rng.random() ** 2) + i // 10}" for _ in range(rng.randrange(14))]
        content: str | dict[str, float] = " ".join(words)
        if rng.random() < 0.2:
            content = {word: float(rng.choice((1, 2))) for word in words}
        fate = rng.random()
        if fate < 0.5:
            events.append(document(id_, content, *topics))
        else:
            events.append(unlabelled(id_, content))
            if fate < 0.85:
                place = len(events) - 1 + rng.randrange(-3, 40)
                events.insert(max(0, place), label(id_, *topics))
    return with_ranks(seed, events)


def with_ranks(seed: int, events: list[Event]) -> list[Event]:
    """The same, some with ranks at once, some with ranks that come later or too early.

    One rank in four is past the last one of the lanes.
    """
    rng = random.Random(seed)
    ranked: list[Event] = []
    for event in events:
        rank, fate = rng.randrange(1, 5), rng.random()
        ranked.append(event._replace(rank=rank if fate < 0.5 else None))
        if fate > 0.7:
            place = len(ranked) - 1 + rng.randrange(-3, 2)
            ranked.insert(max(0, place), Event(event.id, None, None, rank, None))
    return ranked


SETTINGS = [
    EngineSettings(),
    EngineSettings(FeatureSettings(max_terms=40), max_pending=5),
    EngineSettings(FeatureSettings(max_terms=16, min_df=2), max_topics=4, max_pending=1),
    EngineSettings(max_pending=0),
    EngineSettings(FeatureSettings(max_terms=40), max_pending_bytes=6000),
]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("seed", range(4))
def test_results_do_not_depend_on_block_sizes(settings: EngineSettings, seed: int) -> None:
    events = random_events(seed, 250)
    engine, expected = run(events, 1, settings=settings)
    assert len(expected) == len(LANES) * sum(event.content is not None for event in events)
    for block in (2, 7, 64, 1000):
        other, rankings = run(events, block, settings=settings)
        assert rankings == expected, block
        first, second = take_snapshot(engine, 0), take_snapshot(other, 0)
        assert first.content == second.content
        for name, array in first.arrays.items():
            assert array.tobytes() == second.arrays[name].tobytes(), name


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("max_scores", [1 << 23, 40])
def test_results_do_not_depend_on_blocks_that_are_joined(
    settings: EngineSettings, max_scores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Terms are dropped, labels come late, segments are cut: all within joined blocks."""
    rng, events = random.Random(max_scores), random_events(5, 250)
    engine, expected = run(events, 1, settings=settings)
    monkeypatch.setattr(engine_module, "MAX_SCORES", max_scores)
    other = Engine([parse_spec(lane) for lane in LANES], (), settings)
    rankings: list[bytes] = []
    segments, blocks, at = 0, 0, 0
    while at < len(events):
        together = []
        for _ in range(rng.randrange(1, 9)):
            size = rng.choice((1, 1, 2, 5, 20))
            together.append(make_block(events[at : at + size], TOKENIZER))
            at += size
        blocks += len(together)
        for ranked in other.process_together(together):
            segments += 1
            rankings += ranking_events(ranked, LANES, other.topics.names, 0)
    other.close()
    assert rankings == expected
    if max_scores > 40 and settings == EngineSettings():  # nothing else cuts them
        assert segments < blocks / 2
    first, second = take_snapshot(engine, 0), take_snapshot(other, 0)
    assert first.content == second.content
    for name, array in first.arrays.items():
        assert array.tobytes() == second.arrays[name].tobytes(), name


def test_segments_are_cut_so_that_scores_stay_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    events = random_events(3, 300)
    whole, expected = run(events)
    monkeypatch.setattr(engine_module, "MAX_SCORES", 40)
    engine, rankings = run(events)
    assert rankings == expected
    first, second = take_snapshot(engine, 0), take_snapshot(whole, 0)
    for name, array in first.arrays.items():
        assert array.tobytes() == second.arrays[name].tobytes(), name
    pieces = list(engine.process(make_block(random_events(4, 50), TOKENIZER)))
    assert len(pieces) > 5
    assert all(len(piece.documents) * len(engine.topics) <= 40 for piece in pieces)
    engine.close()


def test_ranks_before_it_learns() -> None:
    _, rankings = run(
        [document(1, {"x": 1.0}, "a"), document(2, {"x": 1.0}, "a")], topics=["b", "a"]
    )
    first, second = (orjson.loads(r) for r in rankings[:: len(LANES)])
    assert first == {
        "id": 1,
        "lane": "mmp:loss=1",
        "round": 0,
        "ranking": [{"topic": "b", "score": 0.0}, {"topic": "a", "score": 0.0}],
        "time": None,
    }
    assert second["round"] == 1
    assert second["ranking"] == [{"topic": "a", "score": 1.0}, {"topic": "b", "score": -1.0}]


def test_a_discovered_topic_joins_before_the_loss() -> None:
    events = [
        document(1, {"x": 1.0}, "a"),
        document(2, {"x": 1.0}, "b"),
        document(3, {"x": 1.0}, "b"),
    ]
    engine, rankings = run(events)
    rankings = rankings[:: len(LANES)]
    assert [len(orjson.loads(r)["ranking"]) for r in rankings] == [0, 1, 2]
    # Round 1: a is the only topic, and relevant: nothing to get wrong. Round 2: b joins with a
    # zero prototype, level with a, whose prototype is still zero: a tie is an error.
    assert losses(engine) == [0.0, 1.0, 0.0]


def test_the_loss_of_a_late_label_is_that_of_the_emitted_ranking() -> None:
    """The loss is that of the emitted ranking, although the model has learned since then."""
    stream = [document(n, {"x": 1.0}, "a") for n in range(2, 6)]
    at_once, _ = run([document(1, {"x": 1.0}, "a"), *stream], topics=["b", "a"])
    late, _ = run([unlabelled(1, {"x": 1.0}), *stream, label(1, "a")], topics=["b", "a"])
    assert losses(at_once) == [1.0, 0.0, 0.0, 0.0, 0.0]
    assert losses(late) == [1.0, 0.0, 0.0, 0.0, 1.0]


def test_a_late_label_is_learned_by_the_current_model() -> None:
    """A late label is learned with the current scores: a document ranked right needs no update."""
    stream = [document(n, {"x": 1.0}, "a") for n in range(2, 6)]
    engine, rankings = run(
        [unlabelled(1, {"x": 1.0}), *stream, label(1, "a"), unlabelled(9, {"x": 1.0})],
        topics=["b", "a"],
    )
    last = orjson.loads(rankings[-len(LANES)])
    assert last["round"] == 5
    assert last["ranking"][0] == {"topic": "a", "score": 1.0}
    assert engine.rounds == 5


def test_an_early_label_waits_for_its_document() -> None:
    early, early_rankings = run([label(1, "a"), unlabelled(1, {"x": 1.0})], topics=["b", "a"])
    usual, rankings = run([document(1, {"x": 1.0}, "a")], topics=["b", "a"])
    assert early_rankings == rankings
    assert losses(early) == losses(usual) == [1.0]
    assert not early.pending.early


def test_a_newer_document_of_the_same_id_replaces_a_waiting_one() -> None:
    engine, rankings = run([unlabelled(1, {"x": 1.0}), unlabelled(1, {"y": 1.0}), label(1, "a")])
    assert len(rankings) == 2 * len(LANES)  # both were ranked
    assert engine.rounds == 1
    assert engine.pending.superseded == 1
    weights = engine.lanes[2].learner.state()["weights"]
    assert weights.tolist() == [[0.0], [1.0]]  # the perceptron learned y, not x


def test_ids_match_as_text() -> None:
    """Some writers use both 1 and "1". A ranking has the id that its document has."""
    engine, rankings = run([unlabelled(1, "x"), label("1", "a")])
    assert engine.rounds == 1
    assert orjson.loads(rankings[0])["id"] == 1


def test_an_early_label_of_a_labelled_document_is_counted_as_unmatched() -> None:
    engine, _ = run([label(1, "a"), document(1, {"x": 1.0}, "b")])
    assert engine.topics.names == ["b"]
    assert engine.pending.unmatched_labels == 1
    assert not engine.pending.early


def test_a_label_with_only_refused_topics_is_no_round() -> None:
    """The document had topics, so it must not count as a round without topics, of loss 0."""
    events = [document(1, {"x": 1.0}, "a"), document(2, {"x": 1.0}, "b"), document(3, {"x": 1.0})]
    engine, _ = run(events, settings=EngineSettings(max_topics=1))
    assert engine.rounds == 2
    assert engine.topics.refused == 1


def test_no_topics_is_a_round_of_loss_zero_and_no_label_is_no_round() -> None:
    engine, _ = run([document(1, {"x": 1.0}), unlabelled(2, {"x": 1.0})], topics=["a", "b"])
    assert engine.rounds == 1
    assert losses(engine) == [0.0]


def test_pending_labels_are_bounded() -> None:
    settings = EngineSettings(max_pending=3)
    events = [unlabelled(n, {"x": 1.0}) for n in range(10)]
    engine, _ = run([*events, label(2, "a"), label(8, "a")], settings=settings)
    assert engine.rounds == 1
    assert list(engine.pending.documents) == ["7", "9"]
    assert engine.pending.expired_documents == 7
    assert engine.pending.early == {"2": ("a",)}
    engine, _ = run([label(n, "a") for n in range(10)], settings=settings)
    assert list(engine.pending.early) == ["7", "8", "9"]
    assert engine.pending.unmatched_labels == 7


def test_topics_are_bounded() -> None:
    engine, rankings = run(
        [document(n, {"x": 1.0}, f"t{n}", "t0") for n in range(6)],
        settings=EngineSettings(max_topics=2),
    )
    assert engine.topics.names == ["t0", "t1"]
    assert engine.topics.refused == 4
    assert len(orjson.loads(rankings[-len(LANES)])["ranking"]) == 2
    with pytest.raises(ValueError, match="3 topics are declared, but max_topics is 2"):
        Engine([], ["a", "b", "c"], EngineSettings(max_topics=2))


def test_ties_are_ranked_by_declaration_then_discovery() -> None:
    events = [document(1, {"x": 1.0}, "z", "y"), unlabelled(2, {"other": 1.0})]
    _, rankings = run(events, topics=["m", "c"])
    last = orjson.loads(rankings[-len(LANES)])
    assert [place["topic"] for place in last["ranking"]] == ["m", "c", "z", "y"]


def test_threads_change_nothing() -> None:
    events = random_events(11, 300)
    rankings: list[list[bytes]] = []
    for threads in (1, 4):
        engine = Engine([parse_spec(lane) for lane in LANES], threads=threads)
        rankings.append([])
        for start in range(0, len(events), 100):
            for ranked in engine.process(make_block(events[start : start + 100], TOKENIZER)):
                rankings[-1] += ranking_events(ranked, LANES, engine.topics.names, 0)
        engine.close()
    assert rankings[0] == rankings[1]


@pytest.mark.parametrize("lane", ["mmp:loss=1,average=true", "soft-arow"])
def test_threads_of_a_lane_change_nothing(lane: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lane that runs alone has all threads, each for a slice of the topics."""
    monkeypatch.setattr(learners.threads, "MIN_WORK", 1)
    monkeypatch.setattr(learners.threads, "MIN_COLUMNS", 1)
    monkeypatch.setattr(learners.threads, "LINE", 1)
    monkeypatch.setattr(learners.prototypes.mmp, "MIN_STEP", 0)
    events = random_events(11, 300)
    results = []
    for threads, size in ((1, 100), (3, 100), (2, 7)):
        engine = Engine([parse_spec(lane)], threads=threads)
        rankings = list[bytes]()
        for start in range(0, len(events), size):
            for ranked in engine.process(make_block(events[start : start + size], TOKENIZER)):
                rankings += ranking_events(ranked, [lane], engine.topics.names, 0)
        engine.close()
        (only,) = engine.lanes
        assert only.learner.threads == threads
        results.append((rankings, {n: a.tobytes() for n, a in only.learner.state().items()}))
    assert results[0] == results[1] == results[2]


def test_a_labelled_document_also_replaces_a_waiting_one() -> None:
    events = [unlabelled(1, {"x": 1.0}), document(1, {"y": 1.0}, "a"), label(1, "b")]
    engine, _ = run(events)
    assert engine.rounds == 1
    assert engine.pending.superseded == 1
    assert engine.pending.early == {"1": ("b",)}


def test_a_late_label_with_only_a_rank_is_ignored_without_ordinal_lanes() -> None:
    events = [unlabelled(1, "x"), Event(1, None, None, 3, None)]
    of_topics, _ = run(events, lanes=("mmp:loss=1",))
    both, _ = run(events)
    assert (of_topics.ignored_labels, both.ignored_labels) == (1, 0)
    assert (of_topics.rounds, both.rank_group.rounds) == (0, 1)


def test_vectors_of_any_size_are_scaled_to_length_one() -> None:
    values = np.array([3e-170, 4e-170, 3e70, 4e70, 0.0, 3.0, 4.0])
    starts = np.array([0, 2, 4, 5, 7])
    scaled = unit_length(Rows(starts, np.zeros(7, np.int32), values))
    assert scaled.tolist() == pytest.approx([0.6, 0.8, 0.6, 0.8, 0.0, 0.6, 0.8], rel=1e-14)
