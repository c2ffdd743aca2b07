"""The bound on memory covers the tables that a stacker gets of the lanes that it combines."""

from __future__ import annotations

from learners.specs import parse_spec, resolved
from pipeline.engine.engine import Engine
from pipeline.engine.memory import memory_ceiling


def ceiling(combined: str) -> int:
    specs = (f"{combined},name=a", "mmp:name=b", "svm-map:of=[a,b]")
    return memory_ceiling(Engine(resolved([parse_spec(spec) for spec in specs]), (), threads=1))


def test_lanes_that_retrieve_topics_have_a_table_in_either_order() -> None:
    lane = "feature-focus:assign=micro"
    assert ceiling(lane) == ceiling(f"{lane},order=probability")


def test_a_lane_that_ranks_by_probability_has_a_table_of_its_own() -> None:
    lane = "soft-arow:assign=micro"
    assert ceiling(lane) < ceiling(f"{lane},order=probability")
