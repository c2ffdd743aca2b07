"""Writes small files in every format of the present code, with the rankings that follow from them.

`python -m tests.releases` does this for the version in pyproject.toml, once per release. The
content is made up here. A folder of a release is never written again: it stands for the files that
operators have.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import orjson
from typer.testing import CliRunner

from consumers.sharding.score_records import ScoreRecords, split
from learners import AROW, MMP, PRank
from learners.specs import parse_spec
from pipeline import save
from pipeline.commands.app import new_app
from pipeline.engine.engine import Engine
from pipeline.engine.ranking_events import ranking_events
from pipeline.events.event import PassedOn, parse_event
from pipeline.follower import Follower
from pipeline.log.record import Span
from pipeline.log.writer import EventBatch, encode_batches
from pipeline.models.backup import BackupPlace, with_place
from pipeline.models.from_snapshot import model_from_snapshot
from pipeline.models.model_file import write_model
from pipeline.snapshots.folder import SnapshotFolder
from pipeline.text.tokenizer import Tokenizer

FOLDER = Path(__file__).parent
WORDS = {
    "grain": "wheat corn harvest bushel tonnes farmers crop",
    "ship": "vessel port cargo strike tanker freight gulf",
    "money": "rates bank dollar yen intervention liquidity market",
}
LANES = ("mmp:loss=1", "arow", "feature-focus", "svm-map", "prank:ranks=3")
KEPT_LANES = ("mmp:loss=1", "perceptron")  # of the model
EVENTS, RECORDS, SNAPSHOT_AT, MODEL_AT = 24, 6, 3, 16
TOP = 2
PASSED_ON = PassedOn(b"key \xff", (("trace", b"1"),))
COVERAGE = [["news.documents", "AAAAAAAAAAAAAAAAAAAAAA", 0, 15]]
BACKUP_PLACE = BackupPlace(
    "news", "2026-03-01T09:30:00Z", "news.blocks", "a log", SNAPSHOT_AT, COVERAGE, COVERAGE,
    dict.fromkeys(LANES, SNAPSHOT_AT), {}, '[[streams]]\nname = "news"\n',
)  # fmt: skip
SCORES = b"scores of a shard"


def events() -> list[dict[str, Any]]:
    """Documents with topics, ranks and times; some are labelled late, one is never labelled."""
    rng, made, late = Random(11), [], []
    for number in range(EVENTS):
        topics = sorted(rng.sample(sorted(WORDS), rng.randint(1, 2)))
        words = [word for topic in topics for word in WORDS[topic].split()]
        event: dict[str, Any] = {
            "id": number if number % 5 else f"n-{number}",
            "title": " ".join(rng.choices(words, k=3)),
            "text": " ".join(rng.choices(words, k=12)),
            "time": f"2026-03-01T09:30:{number:02}Z",
        }
        labels = {"topics": topics, "rank": 1 + number % 3}
        if number % 6 == 5:
            late.append({"id": event["id"], **labels})
        elif number != 4:
            event |= labels
        made.append(event)
        if number % 6 == 2 and late:
            made.append(late.pop())
    return made


def records() -> list[bytes]:
    """Records of a log, as a tokenizer writes them."""
    parsed = [parse_event(orjson.dumps(event)) for event in events()]
    parsed[0] = parsed[0]._replace(passed_on=PASSED_ON)
    size = -(-len(parsed) // RECORDS)
    tokenizer = Tokenizer()
    encoded: list[bytes] = []
    for start in range(0, len(parsed), size):
        part = parsed[start : start + size]
        span = Span("news.documents", 0, start, start + len(part), "AAAAAAAAAAAAAAAAAAAAAA")
        offsets = list(range(start, start + len(part)))
        batch = EventBatch(span, offsets, part, arrived=1_772_357_400_000)
        encoded += encode_batches([batch], tokenizer, 1 << 20)
    return encoded


def new_follower() -> Follower:
    """A follower with all lanes."""
    return Follower(Engine([parse_spec(lane) for lane in LANES]))


def rankings(follower: Follower, log: list[bytes], first: int) -> Iterator[bytes]:
    """Follow the records of a log from an offset, and yield the rankings."""
    for offset in range(first, len(log)):
        for ranked in follower.follow(log[offset], offset, f"offset {offset}"):
            yield from ranking_events(ranked, follower.names, follower.engine.topics.names, TOP)


def learners() -> dict[str, Any]:
    """Learners that a Python program has trained."""
    documents = [
        (dict.fromkeys(event["text"].split(), 1.0 + number % 3), event["topics"])
        for number, event in enumerate(events())
        if "text" in event and "topics" in event
    ]
    made: dict[str, Any] = {"mmp": MMP(), "arow": AROW(), "prank": PRank(ranks=3)}
    for name, learner in made.items():
        for number, (document, topics) in enumerate(documents):
            learner.learn_one(document, 1 + number % 3 if name == "prank" else topics)
    return made


QUESTION = {"wheat": 1.0, "vessel": 2.0, "unknown": 1.0}


def answer(learner: Any) -> list[Any]:  # noqa: ANN401 - a learner of topics or of ranks
    """What a learner says about a document, as JSON has it."""
    return [list(x) if isinstance(x, tuple) else x for x in learner.rank_one(QUESTION)]


def replay(folder: Path, *arguments: str) -> None:
    """Run `wirerank replay` on the events in a folder."""
    lanes = [option for lane in KEPT_LANES for option in ("--lane", lane)]
    source = str(folder / "events.jsonl")
    command = ["replay", source, *arguments, "--quiet"]
    if "--resume" not in arguments:
        command += lanes
    result = CliRunner().invoke(new_app(), command, catch_exceptions=False)
    assert result.exit_code == 0, result.output


def write_release(folder: Path) -> None:
    """Write everything into a folder that does not exist yet."""
    folder.mkdir(parents=True)
    lines = [orjson.dumps(event) for event in events()]
    (folder / "events.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    log = records()
    encoded = [base64.b64encode(record).decode() for record in log]
    (folder / "log.json").write_bytes(orjson.dumps(encoded, option=orjson.OPT_INDENT_2))
    follower = new_follower()
    made = list(rankings(follower, log[:SNAPSHOT_AT], 0))
    snapshots = SnapshotFolder(folder / "snapshots")
    extra = {"log": "a log", "published": list(LANES), "profile": "reuters2000"}
    snapshots.write(follower.snapshot(**extra))
    model = model_from_snapshot(folder / "snapshots", None, lambda message: None)
    write_model(folder / "news.backup", with_place(model, BACKUP_PLACE))
    made += rankings(follower, log, SNAPSHOT_AT)
    (folder / "rankings.jsonl").write_bytes(b"\n".join(made) + b"\n")

    saved = str(folder / "news.model")
    replay(folder, "--limit", str(MODEL_AT), "--save", saved)
    replay(folder, "--resume", saved, "--rankings", str(folder / "resumed.jsonl"))

    answers = {}
    for name, learner in learners().items():
        save(learner, folder / f"{name}.learner")
        answers[name] = answer(learner)
    (folder / "answers.json").write_bytes(orjson.dumps(answers, option=orjson.OPT_INDENT_2))

    (part,) = split(7, 1, SCORES)
    key, value = ScoreRecords("news.scores", "news", "mmp", "epoch", 2).encode(part)
    (folder / "scores.json").write_bytes(
        orjson.dumps({"key": key.decode(), "value": base64.b64encode(value).decode()})
    )
