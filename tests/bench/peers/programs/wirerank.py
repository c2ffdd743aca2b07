"""Wirerank: a replay of the events, with rankings written to a file.

With `quality=1` the engine is run by hand, to have the measures of each round.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from learners.measures import AVERAGE_PRECISION
from pipeline.engine.engine import Engine, EngineSettings
from pipeline.events.event import parse_event
from pipeline.log.block import make_block
from pipeline.replay.progress import Progress
from pipeline.replay.replay import replay
from pipeline.replay.settings import DEFAULT_LANES, ReplaySettings, parse_lanes
from pipeline.text.feature_settings import FeatureSettings
from pipeline.text.profile import DEFAULT_PROFILE, parse_profile
from pipeline.text.tokenizer import Tokenizer
from tests.bench.peers.programs.common import Clock, Task, finish, read_task

BLOCK = 1000


def settings_for(task: Task) -> EngineSettings:
    """The default settings of the engine, with room for all topics."""
    features = FeatureSettings.of(parse_profile(DEFAULT_PROFILE))
    return EngineSettings(features, max(len(task.topics), EngineSettings().max_topics))


def lanes_of(task: Task) -> tuple[str, ...]:
    """The lanes by their specs, separated by `+`, or the default lanes."""
    given = task.options["lanes"]
    return DEFAULT_LANES if given == "defaults" else tuple(given.split("+"))


def timed(task: Task) -> None:
    """Replay the events as `wirerank replay` does."""
    scratch = Path(task.options["scratch"])
    settings = ReplaySettings(
        source=str(task.events),
        lanes=lanes_of(task),
        limit=task.documents,
        topics=task.folder / "topics.txt",
        rankings=scratch / "rankings.jsonl",
        dead_letters=scratch / "dead-letters.jsonl",
        engine=settings_for(task),
    )
    clock = Clock()
    for _ in range(2):  # the second time, all kernels are loaded
        nothing = Clock()
        with nothing:
            replay(replace(settings, limit=1), Progress())
    with clock:
        report = replay(settings, Progress()).report
    first = next(iter(report.values()))
    processor = clock.processor - nothing.processor  # without the start of a replay
    finish(int(first["documents"]), Clock(float(first["seconds"]), processor))


def measured(task: Task) -> None:
    """The average precision of the first lane, round by round."""
    engine = Engine(parse_lanes(lanes_of(task)[:1]), task.topics, settings_for(task))
    tokenizer, raw, quality, clock = Tokenizer(DEFAULT_PROFILE), task.raw(), list[float](), Clock()
    with clock:
        for start in range(0, len(raw), BLOCK):
            events = [parse_event(event) for event in raw[start : start + BLOCK]]
            for segment in engine.process(make_block(events, tokenizer)):
                quality += segment.measures[0][:, AVERAGE_PRECISION].tolist()
    engine.close()
    finish(len(raw), clock, quality)


if __name__ == "__main__":
    asked = read_task()
    measured(asked) if "quality" in asked.options else timed(asked)
    sys.exit(0)
