"""A stream that begins with a model goes on as if its log had begun with the model's events."""

from __future__ import annotations

import random
import time
from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner

from consumers.cli import new_app
from consumers.supervisor import NEEDS_AN_OPERATOR
from pipeline.models.model_file import read_model
from pipeline.replay.progress import Progress
from pipeline.replay.replay import replay
from pipeline.replay.settings import ReplaySettings
from tests.support.kafka_stream import SMALL, Streaming, values_by_lane, without_scores
from tests.support.reshaped_events import random_document

DIVIDED = "perceptron"
WHOLE = ("mmp:loss=1", "prank:ranks=5", "feature-focus")
LANES = (*WHOLE, DIVIDED)
HISTORY, LATER = 700, 500
WORKERS = ("tokenize-0", "learn", f"learn@{DIVIDED}#0", f"learn@{DIVIDED}#1")


def written(path: Path, events: list[bytes]) -> Path:
    path.write_bytes(b"".join(event + b"\n" for event in events))
    return path


def replayed(
    folder: Path,
    source: Path,
    streaming: Streaming,
    lanes: tuple[str, ...] = LANES,
    **options: Path,
) -> None:
    settings = ReplaySettings(
        source=str(source),
        lanes=lanes,
        dead_letters=folder / "dead",
        engine=streaming.stream.engine_settings(),
        **options,  # type: ignore[arg-type]
    )
    replay(settings, Progress())


def some_events(seed: int) -> list[bytes]:
    """Documents and late labels; some labels of the history come in the stream."""
    rng = random.Random(seed)
    events = [random_document(rng, number) for number in range(HISTORY + LATER)]
    for number in range(HISTORY - 40, HISTORY):
        late = {"id": events[number]["id"], "topics": ["ship"], "rank": 2}
        if events[number].keys() & {"text", "title", "features"}:
            events[number].pop("topics", None)
            events[number].pop("rank", None)
            events[number + 80] = late
    return [orjson.dumps(event) for event in events]


def model_and_rankings(folder: Path, streaming: Streaming, events: list[bytes]) -> list[bytes]:
    """Save the model of the history, and return the rankings of what follows."""
    history = written(folder / "history.jsonl", events[:HISTORY])
    replayed(folder, history, streaming, save=folder / "news.model")
    everything = written(folder / "all.jsonl", events)
    replayed(folder, everything, streaming, rankings=folder / "all.rankings")
    documents = sum(is_document(event) for event in events[:HISTORY])
    lines = (folder / "all.rankings").read_bytes().splitlines()
    return lines[len(LANES) * documents :]


def is_document(event: bytes) -> bool:
    return bool(orjson.loads(event).keys() & {"text", "title", "features"})


def begin_with_model(streaming: Streaming, lanes: tuple[str, ...] = LANES) -> None:
    streaming.settings = f'{SMALL}\ninitial = "{streaming.folder}/news.model"'
    streaming.configure(lanes, shards={DIVIDED: 2})


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_a_stream_goes_on_where_the_model_ended(broker: str, tmp_path: Path, seed: int) -> None:
    """Workers are killed, and one lane is added later."""
    rng = random.Random(seed)
    events = some_events(seed)
    later = events[HISTORY:]
    documents = sum(map(is_document, later))
    with Streaming(broker, tmp_path, LANES) as streaming:
        expected = model_and_rankings(tmp_path, streaming, events)
        begin_with_model(streaming, (WHOLE[0], WHOLE[1], DIVIDED))
        for name in WORKERS:
            streaming.start(name)
        for start in range(0, LATER, 50):
            if start == 250:
                streaming.kill("learn")
                begin_with_model(streaming)
                streaming.start("learn")
            streaming.produce(later[start : start + 50])
            time.sleep(rng.uniform(0.0, 1.0))
            name = rng.choice(WORKERS)
            streaming.kill(name)
            streaming.start(name)
        published = streaming.rankings(len(LANES) * documents)
        for name in WORKERS:
            assert streaming.end(name) == 0, streaming.log(name)
    ours = values_by_lane([message.value for message in published])
    theirs = values_by_lane(expected)
    assert ours.keys() == theirs.keys()
    for lane in WHOLE:
        assert ours[lane] == theirs[lane]
    assert [*map(without_scores, ours[DIVIDED])] == [*map(without_scores, theirs[DIVIDED])]


def test_the_model_of_a_stream_goes_on_in_a_replay(broker: str, tmp_path: Path) -> None:
    """The way back: what history and stream have learned is one model again."""
    events = some_events(5)
    more = [event for event in some_events(6) if is_document(event)][:200]
    with Streaming(broker, tmp_path, WHOLE) as streaming:
        history = written(tmp_path / "history.jsonl", events[:HISTORY])
        replayed(tmp_path, history, streaming, WHOLE, save=tmp_path / "news.model")
        begin_with_model(streaming, WHOLE)
        streaming.start("learn")
        streaming.start("tokenize-0")
        streaming.produce(events[HISTORY:])
        streaming.wait_learned()
        assert streaming.end("learn") == 0, streaming.log("learn")
        folder = streaming.config.snapshots.folder / streaming.name
        exported = export(folder, tmp_path / "stream.model")
        assert exported == "", exported
        everything = written(tmp_path / "all.jsonl", events)
        replayed(tmp_path, everything, streaming, WHOLE, save=tmp_path / "all.model")
    ours, theirs = (read_model(tmp_path / f"{name}.model") for name in ("stream", "all"))
    assert ours.snapshot.arrays.keys() == theirs.snapshot.arrays.keys()
    for name, array in theirs.snapshot.arrays.items():
        assert array.tobytes() == ours.snapshot.arrays[name].tobytes(), name
    later = written(tmp_path / "more.jsonl", more)
    for name in ("stream", "all"):
        rankings, model = tmp_path / f"{name}.rankings", tmp_path / f"{name}.model"
        replayed(tmp_path, later, streaming, WHOLE, resume=model, rankings=rankings)
    assert (tmp_path / "stream.rankings").read_bytes() == (tmp_path / "all.rankings").read_bytes()
    assert "is a model already" in export(tmp_path / "all.model", tmp_path / "x.model")
    assert "name one of them" in export(folder.parent, tmp_path / "x.model")
    (tmp_path / "empty").mkdir()
    assert "has no good snapshots" in export(tmp_path / "empty", tmp_path / "x.model")


def export(source: Path, target: Path) -> str:
    """What `wirerank export model` says when it fails."""
    done = CliRunner().invoke(new_app(), ["export", "model", str(source), str(target)])
    return done.output if done.exit_code else ""


def refusal(streaming: Streaming, name: str = "learn") -> str:
    """What a learner says that refuses to work."""
    streaming.start(name)
    assert streaming.code(name) == NEEDS_AN_OPERATOR, streaming.log(name)
    del streaming.processes[name]
    return streaming.log(name).splitlines()[-1]


def test_what_does_not_fit_is_refused(broker: str, tmp_path: Path) -> None:
    events = some_events(3)
    with Streaming(broker, tmp_path, LANES) as streaming:
        model_and_rankings(tmp_path, streaming, events)
        begin_with_model(streaming)
        streaming.configure([*WHOLE, "rocchio"])
        assert "has no lane rocchio. It has mmp:loss=1, prank:ranks=5, feat" in refusal(streaming)
        streaming.settings += "\nmin_df = 3"
        streaming.configure(WHOLE)
        assert "written with min_df = 1, but the configuration says 3" in refusal(streaming)
        begin_with_model(streaming)
        streaming.settings += '\nprofile = "reuters21578"'
        streaming.configure(WHOLE)
        assert "was learned with profile = news, but stream" in refusal(streaming)
        begin_with_model(streaming, WHOLE)
        model = tmp_path / "news.model"
        kept = model.read_bytes()
        model.write_bytes(kept[:-1])
        assert "damaged" in refusal(streaming) or "cut off" in streaming.log("learn")
        model.unlink()
        assert "news.model cannot be read: No such file" in refusal(streaming)
        model.write_bytes(kept)
        streaming.start("learn")
        streaming.start("tokenize-0")
        streaming.produce(events[HISTORY:])
        streaming.wait_learned()
        assert streaming.end("learn") == 0, streaming.log("learn")
        # A stream keeps its beginning.
        streaming.settings = SMALL
        streaming.configure(WHOLE)
        assert "began with a model, but now `initial` is not set" in refusal(streaming)
        begin_with_model(streaming, WHOLE)
        other = written(tmp_path / "other.jsonl", events[: HISTORY - 1])
        replayed(tmp_path, other, streaming, save=model)
        assert "now `initial` names a model of other events" in refusal(streaming)


def test_a_stream_that_has_begun_gets_no_model(broker: str, tmp_path: Path) -> None:
    events = some_events(4)
    with Streaming(broker, tmp_path, WHOLE) as streaming:
        model_and_rankings(tmp_path, streaming, events)
        streaming.start("learn")
        streaming.start("tokenize-0")
        streaming.produce(events[HISTORY:])
        streaming.wait_learned()
        assert streaming.end("learn") == 0, streaming.log("learn")
        begin_with_model(streaming, WHOLE)
        assert "began without a model, but now `initial` names a model" in refusal(streaming)
