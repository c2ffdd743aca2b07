"""Ordinal lanes beside topic lanes on a real broker: late labels of both kinds, and crashes."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import orjson
from typer.testing import CliRunner

from learners.specs import parse_spec
from pipeline.commands.app import new_app
from pipeline.corpora import open_source
from pipeline.engine.engine import Engine
from pipeline.reports.report import write_curves
from pipeline.snapshots.restoring import restore_engine
from tests.consumers.learner.test_lanes import by_lane, end_all, expected_of
from tests.support.kafka_stream import SMALL, Streaming, assert_exact

TOPICS, RANKS = "mmp:loss=1", "prank:ranks=5"
BUDGET = "prank:ranks=5,kernel=poly2,budget=30,average=true,norm=l2,name=kernel"


def scattered(seed: int, number: int) -> list[bytes]:
    """Documents whose topics and rank come at once, later, earlier or never, independently."""
    rng = random.Random(seed)
    placed: list[tuple[float, bytes]] = []
    for place, raw in enumerate(open_source(f"synthetic:{number},topics=12,seed={seed}")):
        event: dict[str, Any] = orjson.loads(raw)
        labels = {"topics": event.pop("topics"), "rank": 1 + len(event["text"]) % 6}
        away = rng.choice([5, 40, 300])
        for kind, label in labels.items():
            chance = rng.random()
            if chance < 0.4:
                event[kind] = label
            elif chance < 0.6:  # next to each other, if both are
                placed.append((place + away, orjson.dumps({"id": event["id"], kind: label})))
            elif chance < 0.95:
                at = place + rng.uniform(-away, away)
                placed.append((at, orjson.dumps({"id": event["id"], kind: label})))
        if rng.random() < 0.05:  # both kinds at once, perhaps once more
            placed.append((place + 3, orjson.dumps({"id": event["id"], **labels})))
        placed.append((place, orjson.dumps(event)))
    return [event for _, event in sorted(placed)]


def documents_in(events: list[bytes]) -> int:
    return sum("text" in orjson.loads(event) for event in events)


def replayed(folder: Path, events: list[bytes], lanes: list[str]) -> tuple[list[bytes], bytes]:
    """The rankings and the curves of an embedded replay."""
    source, rankings, curves = (folder / name for name in ("e.jsonl", "r.jsonl", "c.csv"))
    source.write_bytes(b"".join(event + b"\n" for event in events))
    arguments = ["replay", str(source), "--quiet", "--max-terms", "3000", "--max-pending", "50"]
    for lane in lanes:
        arguments += ["--lane", lane]
    arguments += ["--rankings", str(rankings), "--curves", str(curves)]
    outcome = CliRunner().invoke(new_app(), arguments)
    assert outcome.exit_code == 0, outcome.output
    return rankings.read_bytes().splitlines(), curves.read_bytes()


def curves_in_snapshot(streaming: Streaming) -> bytes:
    """The curves of the lanes in a worker that continues from the snapshot."""
    specs = [parse_spec(lane.spec) for lane in streaming.stream.lanes]
    engine = Engine(specs, (), streaming.stream.engine_settings())
    restore_engine(engine, streaming.snapshot())
    path = streaming.folder / "from-snapshot.csv"
    write_curves(path, engine.lanes)
    engine.close()
    return path.read_bytes()


def test_topics_and_ranks_over_kills_equal_the_embedded_replay(broker: str, tmp_path: Path) -> None:
    """One partition, so the log has the order of the file; the learner is killed five times."""
    events, lanes = scattered(1, 700), [TOPICS, RANKS, BUDGET]
    rankings, curves = replayed(tmp_path, events, lanes)
    settings = f"{SMALL}\nmax_pending = 50"
    with Streaming(broker, tmp_path, lanes, settings=settings, every=0.3) as streaming:
        streaming.start("tokenize-0")
        size = -(-len(events) // 5)
        for number, start in enumerate(range(0, len(events), size)):
            streaming.start("learn")
            streaming.produce(events[start : start + size])
            time.sleep(2.0 + 0.3 * number)  # it takes about two seconds to start
            streaming.kill("learn")
        streaming.start("learn")
        streaming.wait_learned()
        published = streaming.rankings(len(rankings))
        end_all(streaming)
        assert_exact(streaming, published, events)
        assert sorted(message.value or b"" for message in published) == sorted(rankings)
        assert curves_in_snapshot(streaming) == curves
        content = streaming.snapshot().content
        shown = CliRunner().invoke(new_app(), ["inspect", str(streaming.config.snapshots.folder)])
        machine = CliRunner().invoke(
            new_app(), ["inspect", str(streaming.config.snapshots.folder), "--json"]
        )
    for kind in (content, content["ranks"]):  # or this proves little
        for counted in ("rounds", "expired_documents", "unmatched_labels", "pending", "early"):
            assert kind[counted], counted
    assert content["rounds"] != content["ranks"]["rounds"]
    assert shown.exit_code == machine.exit_code == 0, shown.output
    assert RANKS in shown.output
    assert machine.output
    newest = orjson.loads(machine.output)[0]
    facts = newest["lanes"]
    assert facts[RANKS]["rounds"] == content["ranks"]["rounds"]
    assert facts[TOPICS]["rounds"] == content["rounds"]
    assert 0 < facts[RANKS]["ranking_loss"] < 4


def test_an_ordinal_lane_that_is_added_later_follows_from_the_beginning(
    broker: str, tmp_path: Path
) -> None:
    """The tokenizers had written ranks to the log while no lane learned ranks."""
    events = scattered(2, 600)
    with Streaming(broker, tmp_path, [TOPICS], every=0.3) as streaming:
        streaming.start("tokenize-0")
        streaming.start("learn")
        streaming.produce(events[:500])
        streaming.wait_learned()
        assert streaming.end("learn") == 0
        assert "ranks" not in streaming.snapshot().content
        streaming.configure([RANKS, TOPICS, "widrow-hoff:ranks=5,rate=0.1,norm=l2"])
        streaming.start("learn")
        time.sleep(2.5)
        streaming.kill("learn")
        streaming.start("learn")
        streaming.produce(events[500:])
        streaming.wait_learned()
        published = streaming.rankings(3 * documents_in(events))
        end_all(streaming)
        assert by_lane(published) == expected_of(streaming)  # in order, too
        assert_exact(streaming, published, events)
        assert (
            f"{RANKS}, widrow-hoff:ranks=5,rate=0.1,norm=l2: resuming at offset 0"
            in streaming.log("learn")
        )
        assert "caught up with the others at offset" in streaming.log("learn")
        assert streaming.snapshot().content["ranks"]["rounds"] > 100


def test_lanes_of_both_kinds_move_between_workers(broker: str, tmp_path: Path) -> None:
    """Lanes run together, then each in a worker of its own, then together again."""
    events = scattered(3, 450)
    with Streaming(broker, tmp_path, [TOPICS, RANKS]) as streaming:
        streaming.start("tokenize-0")
        size = -(-len(events) // 4)
        for number, workers in enumerate([["learn"], [f"learn@{TOPICS}", f"learn@{RANKS}"]] * 2):
            for worker in workers:
                streaming.start(worker)
            streaming.produce(events[size * number : size * (number + 1)])
            streaming.wait_learned()
            for worker in workers:
                assert streaming.end(worker) == 0, streaming.log(worker)
        streaming.start("learn")
        streaming.wait_learned()
        published = streaming.rankings(2 * documents_in(events))
        end_all(streaming)
        assert by_lane(published) == expected_of(streaming)  # in order, too
        assert_exact(streaming, published, events)


def test_an_ordinal_lane_beside_shards(broker: str, tmp_path: Path) -> None:
    """The learner of the whole lanes then has only ordinal lanes, and no topics."""
    events = scattered(7, 300)
    with Streaming(broker, tmp_path, [TOPICS, RANKS], shards={TOPICS: 2}) as streaming:
        for name in ("tokenize-0", "learn", f"learn@{TOPICS}#0", f"learn@{TOPICS}#1"):
            streaming.start(name)
        streaming.produce(events)
        streaming.wait_learned()
        published = by_lane(streaming.rankings(2 * documents_in(events)))
        end_all(streaming)
        expected = expected_of(streaming)
        assert published[RANKS] == expected[RANKS]
        assert len(published[TOPICS]) == len(expected[TOPICS]) == documents_in(events)
        content = streaming.snapshot().content
    assert content["topics"] == []
    assert content["ranks"]["rounds"] > 100
