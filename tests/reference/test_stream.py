"""The command line against an independent implementation, on random streams."""

from __future__ import annotations

import csv
import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pipeline.commands.app import new_app
from tests.reference.ordinal import OrdinalResult
from tests.reference.stream import MEASURES, Result, replay
from tests.reference.vectors import Event

LANES = (
    "mmp:loss=1",
    "mmp:loss=2",
    "mmp:loss=3",
    "perceptron",
    "frequency",
    "rocchio:refresh=1",
    "rocchio:refresh=7",
    "mmp:loss=1,margin=0.5",
    "mmp:loss=2,margin=1",
    "mmp:loss=3,norm=l2",
    "perceptron:margin=0.5",
    "mmp:loss=1,margin=0.25,norm=l2,name=several options",
    "arow",
    "arow:rho=0.3,positive=2,bias=1",
)
WHOLE_AVERAGED_LANES = ("mmp:loss=2,average=true", "perceptron:average=true")
AVERAGED_LANES = (
    *WHOLE_AVERAGED_LANES,
    "mmp:loss=1,average=true",
    "mmp:loss=3,average=true,margin=0.5",
    "mmp:loss=1,margin=0.25,average=true,norm=l2,name=everything",
)
TOPICS = [f"topic {letter}" for letter in "ABCDEFGH"] + ["Öl", "石油", "nötig", "\U0001f6e2"]
TEXT = """
    oil OIL Oil gold rates U.S. grain-price 3.5% 1987 the a of crude Brent trade ship wheat
    café cafe\u0301 CAFÉ ΟΔΟΣ οδος Straße STRASSE İstanbul istanbul naïve Ölpreis ölpreis
    нефть НЕФТЬ 石油 石油価格 हिन्दी हि न्दी ไทย عربي e\u0301e\u0301 \u0301x ½ x² Ⅳ ٣٤ \uff15 a\u200db
    don't co\u00adop e-mail a_b \U0001d400\U0001d401 \U0001f600 🛢️ - ... ﬁne ǅ ß ẞ ﷺ \x00 \x7f
    \u0391\u03a3'\u0391 \u0391\u03a3. x\u0301\u0301 \u01301 1\u0301 a\u0903b
"""
WORDS = [*TEXT.split(), "\t", "\n", "\u00a0", "\u3000", "\u2028", "\x1c", "\x85"]


@dataclass
class Run:
    """The files that one run of the command wrote."""

    rankings: bytes
    curves: list[dict[str, str]]
    report: dict[str, dict[str, Any]]


def run(folder: Path, events: Sequence[Event], lanes: Sequence[str], block: int, *more: str) -> Run:
    source = folder / "events.jsonl"
    text = "".join(json.dumps(event, ensure_ascii=len(events) % 2 == 0) + "\n" for event in events)
    source.write_text(text, encoding="utf-8", newline="\n")
    rankings, curves, report = (folder / name for name in ("r.jsonl", "c.csv", "r.json"))
    arguments = ["replay", str(source), "--quiet", "--top", "0", "--block", str(block), *more]
    arguments += ["--profile", "reuters2000"]  # what the reference knows
    for lane in lanes:
        arguments += ["--lane", lane]
    arguments += ["--rankings", str(rankings), "--curves", str(curves), "--report", str(report)]
    arguments += ["--dead-letters", str(folder / "dead.jsonl")]
    outcome = CliRunner().invoke(new_app(), arguments)
    ranked = any(event.keys() & {"text", "title", "features"} for event in events)
    assert outcome.exit_code == (0 if ranked else 1), outcome.output
    assert not (folder / "dead.jsonl").exists(), (folder / "dead.jsonl").read_text()
    with curves.open(encoding="utf-8", newline="") as file:
        points = list(csv.DictReader(file))
    return Run(rankings.read_bytes(), points, json.loads(report.read_text(encoding="utf-8")))


def same(value: float | None, expected: float | None) -> bool:
    """Equal, or as near as rounding leaves it."""
    if value is None or expected is None:
        return value is expected
    return math.isclose(value, expected, rel_tol=1e-9, abs_tol=1e-12)


def compare(outcome: Run, expected: dict[str, Result]) -> None:
    compare_rankings(outcome.rankings, expected)
    compare_curves(outcome.curves, expected)
    compare_reports(outcome.report, expected)


def compare_rankings(written: bytes, expected: dict[str, Result]) -> None:
    lines = [json.loads(line) for line in written.splitlines()]
    for lane, result in expected.items():
        rankings = [line for line in lines if line["lane"] == lane]
        assert [one["id"] for one in rankings] == [one["id"] for one in result.rankings]
        for one, other in zip(rankings, result.rankings, strict=True):
            where = f"{lane}, document {one['id']}"
            assert one["round"] == other["round"], where
            assert one["time"] == other["time"], where
            ours = [(topic["topic"], topic["score"]) for topic in one["ranking"]]
            theirs = [(topic["topic"], topic["score"]) for topic in other["ranking"]]
            assert [t for t, _ in ours] == [t for t, _ in theirs], f"{where}: {ours} {theirs}"
            for (topic, score), (_, reference) in zip(ours, theirs, strict=True):
                assert same(score, reference), f"{where}, {topic}: {score}, not {reference}"
    assert len(lines) == sum(len(result.rankings) for result in expected.values())


def compare_curves(points: list[dict[str, str]], expected: dict[str, Result]) -> None:
    for lane, result in expected.items():
        for name in MEASURES:
            curve = result.curve(name)
            kept = [one for one in points if one["lane"] == lane and one["loss"] == name]
            rounds = [int(one["round"]) for one in kept]
            assert rounds == sorted(set(rounds))
            kept_at_least = {number for number in (1, 2, 4, 8, len(curve)) if number <= len(curve)}
            there = {number for number, value in enumerate(curve, 1) if value is not None}
            assert kept_at_least & there <= set(rounds) <= there
            for one, number in zip(kept, rounds, strict=True):
                assert same(float(one["value"]), curve[number - 1]), (
                    f"{lane}, {name} after round {number}"
                )
    assert {one["loss"] for one in points} == set(MEASURES)
    assert {one["lane"] for one in points} == set(expected)


def compare_reports(
    report: dict[str, dict[str, Any]], expected: Mapping[str, Result | OrdinalResult]
) -> None:
    assert set(report) == set(expected)
    for lane, result in expected.items():
        for name, value in result.report.items():
            where = f"{lane}, {name}: {report[lane][name]}, not {value}"
            if isinstance(value, list):
                assert len(report[lane][name]) == len(value), where
                assert all(map(same, report[lane][name], value)), where
            else:
                assert same(report[lane][name], value), where


# Streams


def integers(rng: random.Random) -> Event:
    """Few names and small whole numbers: ties everywhere."""
    names = rng.sample("abcdef", rng.randint(0, 4))
    return {"features": {name: rng.randint(-1, 2) for name in names}}


def reals(rng: random.Random) -> Event:
    names = rng.sample(range(30), rng.randint(0, 12))
    return {"features": {f"f{name}": rng.gauss(0, 10 ** rng.randint(-3, 3)) for name in names}}


def text(rng: random.Random) -> Event:
    words = rng.choices(WORDS, k=rng.choice([0, 1, 5, 20, 60]))
    body = rng.choice([" ", " ", "\n"]).join(words)
    if rng.random() < 0.1:
        body += " " + rng.choice("xé") * rng.choice([127, 128, 255, 256, 5000])
    event: Event = {"text": body}
    if rng.random() < 0.3:
        event["title"] = " ".join(rng.choices(WORDS, k=3))
        if rng.random() < 0.3:
            del event["text"]
    return event


def mixed(rng: random.Random) -> Event:
    return rng.choice([integers, reals, text])(rng)


KINDS = {"integers": integers, "reals": reals, "text": text, "mixed": mixed}


def stream(kind: str, seed: int, documents: int) -> list[Event]:
    """Documents labelled at once, later, earlier or never, with topics that turn up over time."""
    rng = random.Random(f"{kind} {seed}")
    events: list[tuple[float, Event]] = []
    for number in range(documents):
        in_use = TOPICS[: min(len(TOPICS), 2 + number * 20 // documents)]
        chance = rng.random()
        if chance < 0.08:
            topics = []
        elif chance < 0.12:
            topics = rng.sample(in_use, len(in_use))
        else:
            topics = rng.sample(in_use, rng.randint(1, min(4, len(in_use))))
        if topics and rng.random() < 0.05:
            topics.append(topics[0])
        event = {"id": f"{kind}-{number}", **KINDS[kind](rng)}
        if rng.random() < 0.1:
            event["time"] = f"1987-10-19T09:{number % 60:02}:00Z"
        chance = rng.random()
        if chance < 0.6:
            event["topics"] = topics
        elif chance < 0.95:
            delay = rng.choice([0.5, 1.5, 3.5, 20.5, 100.5]) * (1 if chance < 0.85 else -1)
            events.append((number + delay, {"id": event["id"], "topics": topics}))
        events.append((float(number), event))
    return [event for _, event in sorted(events, key=lambda pair: pair[0])]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_random_streams(tmp_path: Path, kind: str, seed: int) -> None:
    check_stream(tmp_path, stream(kind, seed, 110 + seed), LANES, declare=seed % 2 == 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(10, 12))
def test_averaged_prototypes(tmp_path: Path, kind: str, seed: int) -> None:
    # Whole numbers tie often, and a tie holds only where no coefficient is a rounded fraction: the
    # mean of the prototypes can be summed in more than one way.
    lanes = WHOLE_AVERAGED_LANES if kind in ("integers", "mixed") else AVERAGED_LANES
    check_stream(tmp_path, stream(kind, seed, 150), lanes, declare=seed % 2 == 1)


def test_any_character(tmp_path: Path) -> None:
    rng = random.Random(65)
    letters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    common = [letter for letter in letters[:0x3000] if letter.isprintable()]
    events: list[Event] = []
    for number in range(400):
        spoken = rng.choices(letters if number % 2 else common, k=150) + rng.choices(
            "ab \u0301", k=50
        )
        rng.shuffle(spoken)
        topics = rng.sample(TOPICS, 2)
        events.append({"id": str(number), "text": "".join(spoken), "topics": topics})
    lanes = ("mmp:loss=2", "perceptron")
    compare(run(tmp_path, events, lanes, 256), replay(events, lanes))


def check_stream(
    folder: Path, events: Sequence[Event], lanes: Sequence[str], *, declare: bool
) -> tuple[Run, dict[str, Result]]:
    declared = [TOPICS[5], TOPICS[1], "never carried", TOPICS[9]] if declare else []
    more = []
    if declared:
        (folder / "topics").write_text("\n".join(declared) + "\n", encoding="utf-8")
        more = ["--topics", str(folder / "topics")]
    runs = [run(folder, events, lanes, block, *more) for block in (1, 7, 1000)]
    expected = replay(events, lanes, declared)
    compare(runs[0], expected)
    for other in runs[1:]:
        assert other.rankings == runs[0].rankings
        assert other.curves == runs[0].curves
        compare_reports(other.report, expected)
    return runs[0], expected


def test_much_text(tmp_path: Path) -> None:
    rng = random.Random(21578)
    words = [f"w{number}" for number in range(3000)]
    zipf = [1 / (rank + 3) for rank in range(3000)]
    events: list[Event] = []
    for number in range(2000):
        topics = rng.sample(range(20), rng.randint(0, 4))
        spoken = rng.choices(words, zipf, k=rng.randint(5, 25))
        spoken += [words[100 + topic * 7 + rng.randint(0, 6)] for topic in topics for _ in range(4)]
        event: Event = {"id": str(number), "text": " ".join(spoken)}
        names = [f"t{topic}" for topic in topics]
        if number % 5:
            events.append({**event, "topics": names})
        else:
            events += [event, {"id": str(number), "topics": names}]
    lanes = (
        "mmp:loss=1",
        "mmp:loss=2",
        "mmp:loss=3",
        "perceptron",
        "frequency",
        "rocchio:refresh=500",
    )
    runs = [run(tmp_path, events, lanes, block) for block in (1, 1000)]
    assert runs[0].rankings == runs[1].rankings
    compare(runs[0], replay(events, lanes))


def test_an_empty_ranking_is_a_miss(tmp_path: Path) -> None:
    """Rounds 1 and 4 have empty rankings: the label of `0` comes late. `c` is new in round 5."""
    events: list[Event] = [
        {"id": "0", "features": {"x": 1.0}},
        {"id": "1", "features": {"x": 1.0}, "topics": ["a", "b"]},
        {"id": "2", "features": {"x": 1.0}, "topics": ["a"]},
        {"id": "3", "features": {"x": 1.0}},
        {"id": "4", "features": {"y": 1.0}, "topics": ["d"]},
        {"id": "0", "topics": ["a"]},
        {"id": "3", "topics": ["a", "c"]},
    ]
    lanes = ("mmp:loss=2", "perceptron", "frequency", "independent")
    outcome, expected = check_stream(tmp_path, events, lanes, declare=False)
    rounds = expected["mmp:loss=2"].rounds
    assert [one["average_precision"] for one in rounds] == [0, 1, 1 / 3, 0, (1 + 2 / 3) / 2]
    assert [one["coverage"] for one in rounds] == [2, 0, 2, 3, 2]
    first = [p for p in outcome.curves if p["round"] == "1" and p["lane"] == "frequency"]
    assert {p["loss"]: float(p["value"]) for p in first} == {
        "loss1": 0.0,
        "loss2": 0.0,
        "loss3": 0.0,
        "one_error": 1.0,
        "coverage": 2.0,
        "average_precision": 0.0,
        "r1": 0.0,
        "r5": 0.0,
        "mrr": 0.0,
    }


@pytest.mark.parametrize(
    "events",
    [
        [],
        [{"id": "1", "text": ""}],
        [{"id": "1", "topics": ["a"]}],
        [{"id": "1", "text": "oil", "topics": []}],
        [{"id": "1", "text": "oil", "topics": ["a"]}],
        [{"id": "1", "text": "oil"}, {"id": "1", "topics": []}],
    ],
)
@pytest.mark.parametrize("declared", [[], ["b", "a"]])
def test_smallest_streams(tmp_path: Path, events: list[Event], declared: list[str]) -> None:
    (tmp_path / "topics").write_text("\n".join(declared), encoding="utf-8")
    outcome = run(tmp_path, events, LANES, 7, "--topics", str(tmp_path / "topics"))
    expected = replay(events, LANES, declared)
    compare_rankings(outcome.rankings, expected)
    compare_reports(outcome.report, expected)
