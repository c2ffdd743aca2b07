"""Lanes and ceilings where no option says them."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from pipeline.commands.defaults import (
    ENGINE_DEFAULTS,
    INDEX_LANES,
    RANK_LANES,
    choose_lanes,
    engine_settings,
)
from pipeline.corpora.synthetic_classes import SyntheticClasses
from pipeline.replay.settings import DEFAULT_LANES
from tests.support.command_line import wirerank

NEWS, CLASSES = "synthetic:100", "synthetic:100,classes=50000"


def ceilings(
    source: str, lanes: tuple[str, ...], terms: int | None = None, topics: int | None = None
) -> tuple[int, int]:
    settings = engine_settings(source, lanes, terms, 1, topics, 10, 1 << 20)
    return settings.features.max_terms, settings.max_topics


def test_lanes_suit_the_source() -> None:
    assert choose_lanes(NEWS, None) == choose_lanes("-", None) == DEFAULT_LANES
    assert choose_lanes(CLASSES, None) == choose_lanes("text:x", None) == INDEX_LANES
    assert choose_lanes(CLASSES, ["perceptron"]) == ("perceptron",)
    assert choose_lanes("movielens:ml-100k,nth=3", None) == RANK_LANES
    assert choose_lanes("movielens:ml-100k", ["prank"]) == ("prank",)


def test_a_source_of_many_classes_has_room_for_them() -> None:
    assert ceilings(NEWS, INDEX_LANES) == (
        ENGINE_DEFAULTS.features.max_terms,
        ENGINE_DEFAULTS.max_topics,
    )
    assert ceilings(CLASSES, INDEX_LANES) == (302_000, 50_000)
    assert ceilings("synthetic:9,classes=3", INDEX_LANES) == ceilings(NEWS, INDEX_LANES)
    assert ceilings("text:x", ("independent",)) == (1 << 22, 1 << 16)


def test_an_explicit_ceiling_wins() -> None:
    assert ceilings(CLASSES, INDEX_LANES, topics=7) == (302_000, 7)
    assert ceilings(CLASSES, INDEX_LANES, terms=70) == (70, 50_000)
    assert ceilings(CLASSES, ("mmp",), topics=9_000) == (ENGINE_DEFAULTS.features.max_terms, 9_000)


@pytest.mark.parametrize("lane", ["mmp:loss=2", "perceptron", "rocchio", "committee"])
def test_lanes_with_a_weight_for_every_pair_keep_the_usual_ceilings(lane: str) -> None:
    assert ceilings(CLASSES, ("feature-focus", lane)) == ceilings(NEWS, (lane,))


def test_a_replay_of_many_classes_has_them_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = wirerank("replay", "synthetic:6000,classes=20000", "--block", "64")
    assert result.exit_code == 0, result.stderr
    assert "topics = discovered, at most 20,000" in result.stderr
    stream = SyntheticClasses(documents=6_000, classes=20_000)
    names = {name for raw in stream for name in orjson.loads(raw)["topics"]}
    assert len(names) > 2_048
    assert f"topics {len(names):,} " in result.stderr
    assert all(lane in result.stdout for lane in INDEX_LANES)
