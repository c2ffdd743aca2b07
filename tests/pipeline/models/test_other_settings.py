"""A run with other lanes, options or features than its model is refused, with what differs."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.models.matching import lane_differences
from pipeline.replay.settings import parse_lanes
from tests.support.saved_runs import event_lines, lane_options, refused, run, write_lines

LANES = ("mmp:loss=1", "arow", "prank:ranks=4")
CASES = {
    "another lane": (
        lane_options(*LANES, "perceptron"), "lane perceptron: in this run, but not in the model",
    ),
    "a lane less": (
        lane_options(*LANES[:2]), "lane prank:ranks=4: in the model, but not in this run",
    ),
    "another option": (
        lane_options("mmp:loss=2,name=mmp:loss=1", *LANES[1:]),
        "lane mmp:loss=1: loss = 1 in the model, 2 now",
    ),
    "another norm": (
        lane_options(LANES[0], "arow:norm=none,name=arow", LANES[2]),
        "lane arow: norm = l2 in the model, none now",
    ),
    "more terms": (["--max-terms", "99"], "--max-terms: 131072 in the model, 99 now"),
    "rarer terms": (["--min-df", "2"], "--min-df: 1 in the model, 2 now"),
    "more topics": (["--max-topics", "99"], "--max-topics: 2048 in the model, 99 now"),
    "less waiting": (["--max-pending", "5"], "--max-pending: 10000 in the model, 5 now"),
    "fewer bytes": (
        ["--max-pending-bytes", "5"], "--max-pending-bytes: 268435456 in the model, 5 now",
    ),
    "another profile": (
        ["--profile", "reuters21578"], "--profile: news in the model, reuters21578 now",
    ),
    "declared topics": (["--topics", "topics"], "declared topics: 0 in the model, 2 now"),
    "another format": (["--format", "ninjs"], "--format: wirerank in the model, ninjs now"),
    "other fields": (
        ["--fields", "title=headline"], "--fields: None in the model, {'title': 'headline'} now",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_differs_is_named(case: str) -> None:
    options, difference = CASES[case]
    source = write_lines("e.jsonl", event_lines(1, 40))
    Path("topics").write_text("t0\nt1\n")
    run(source, *lane_options(*LANES), "--limit", "20", "--save", "m", "--rankings", "r.jsonl")
    before = Path("m").read_bytes(), Path("r.jsonl").read_bytes()
    again = ("--resume", "m", "--save", "m", "--rankings", "r.jsonl")
    message = refused(source, *again, *options)
    assert difference in message
    assert "m was saved with other settings" in message
    assert (Path("m").read_bytes(), Path("r.jsonl").read_bytes()) == before
    run(source, *again)


def test_all_differences_are_named_at_once() -> None:
    source = write_lines("e.jsonl", event_lines(1, 40))
    run(source, *lane_options(*LANES), "--save", "m")
    message = refused(source, "--resume", "m", "--lane", "mmp", "--min-df", "3")
    for name in (*LANES, "mmp"):
        assert f"lane {name}:" in message
    assert "--min-df: 1 in the model, 3 now" in message


def test_an_option_that_one_side_leaves_out_has_its_default() -> None:
    saved, given = "arow:assign=micro,order=probability,name=a", "arow:name=a"
    assert [*lane_differences(parse_lanes([saved]), parse_lanes([given]))] == [
        "lane a: assign = micro in the model, none now",
        "lane a: order = probability in the model, score now",
    ]
    by_score = "arow:assign=micro,order=score,risk=0,name=a"
    assert not [
        *lane_differences(parse_lanes([by_score]), parse_lanes(["arow:assign=micro,name=a"]))
    ]


def test_options_that_say_the_same_are_accepted() -> None:
    source = write_lines("e.jsonl", event_lines(1, 40))
    Path("topics").write_text("t1\nt0\n")
    options = [*lane_options(*LANES), "--topics", "topics", "--max-terms", "80", "--min-df", "2"]
    run(source, *options, "--save", "m", "--limit", "20")
    run(source, *options, "--resume", "m", "--save", "m")


def test_a_new_source_may_have_another_format() -> None:
    source = write_lines("e.jsonl", [b'{"id":1,"text":"wheat","topics":["grain"]}'])
    run(source, "--lane", "mmp", "--save", "m")
    other = write_lines("o.jsonl", [b'{"id":2,"headline":"oil","topics":["crude"]}'])
    run(other, "--resume", "m", "--save", "m", "--fields", "title=headline")
    more = write_lines("p.jsonl", [b'{"id":3,"headline":"oil","topics":["crude"]}'])
    run(more, "--resume", "m", "--rankings", "r.jsonl")  # with the fields of the model
    assert b'"round":2' in Path("r.jsonl").read_bytes()
