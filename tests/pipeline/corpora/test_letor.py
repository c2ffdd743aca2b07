"""LETOR files as query-document sets and as a stream, made up and MQ2008 where available."""

from __future__ import annotations

import gzip
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pipeline.commands.defaults import choose_lanes
from pipeline.corpora import open_source, ranks_for
from pipeline.corpora.letor import read_letor
from pipeline.corpora.source import SourceError
from pipeline.events.event import parse_event
from tests.support.command_line import wirerank

LINES = """\
2 qid:10 1:0.5 2:1.25 3:0 #docid = GX01 inc = 1 prob = 0.08
0 qid:10 1:-3e-2 3:7 #docid = GX03

1 qid:10 2:NULL #docid = GX02
0 qid:q-11 1:1
0 qid:q-11 1:2 3:2 # nothing
"""


def write(folder: Path, name: str = "queries.txt", text: str = LINES) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return folder / name


def part(number: int, query: int) -> str:
    return f"{number % 3} qid:{query} 1:{number}.5\n0 qid:{query} 1:0\n"


def test_a_file(tmp_path: Path) -> None:
    """Documents are in order of falling name, as in trec_eval; without names in file order."""
    queries = read_letor(write(tmp_path))
    assert queries.queries == ("10", "q-11")
    assert queries.documents == ("GX03", "GX02", "GX01", "1", "2")
    assert queries.grades.tolist() == [0, 1, 2, 0, 0]
    assert [known.tolist() for known in queries.known] == [[2, 1], []]
    assert queries.with_relevant().tolist() == [0]
    assert queries.functions == ("1", "2", "3")
    nan = float("nan")
    np.testing.assert_array_equal(
        queries.values, [[-0.03, 0, 7], [0, nan, 0], [0.5, 1.25, 0], [1, 0, 0], [2, 0, 2]]
    )


def test_packed_or_not(tmp_path: Path) -> None:
    path = write(tmp_path)
    (tmp_path / "q.txt.gz").write_bytes(gzip.compress(LINES.encode()))
    again = read_letor(tmp_path / "q.txt.gz")
    np.testing.assert_array_equal(again.values, read_letor(path).values)


@pytest.mark.parametrize("packed", [False, True])
def test_the_five_parts(tmp_path: Path, packed: bool) -> None:
    """If all five parts exist, folds and other files beside them are not read."""
    folder = tmp_path / "MQ"
    for number in range(1, 6):
        write(folder, f"S{number}.txt", part(number, number))
    write(folder, "readme.txt", "Fold Training")
    write(folder / "Fold1", "train.txt", part(1, 1) + part(2, 2))
    path = folder
    if packed:
        path = tmp_path / "mq.tar.xz"
        with tarfile.open(path, "w:xz") as tar:
            tar.add(folder, "MQ")
    queries = read_letor(path)
    assert queries.queries == ("1", "2", "3", "4", "5")
    assert queries.parts == ("S1", "S2", "S3", "S4", "S5")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x qid:1 1:2", "line 2: expected 'grade qid:N 1:value"),
        ("-1 qid:1 1:2", "with a grade from 0 to 30, found '-1 qid:1 1:2'"),
        ("31 qid:1 1:2", "with a grade from 0 to 30"),
        ("1.5 qid:1 1:2", "with a grade from 0 to 30"),
        ("1 1:2", "line 2: expected 'grade qid:N"),
        ("1 qid: 1:2", "line 2: expected 'grade qid:N"),
        ("1", "line 2: expected 'grade qid:N"),
        ("# only a comment", "line 2: expected 'grade qid:N"),
        ("1 qid:1 1=2", "features as 1:value, each once"),
        ("1 qid:1 0:2", "numbered from 1 to 10,000"),
        ("1 qid:1 10001:2", "numbered from 1 to 10,000"),
        ("1 qid:1 1:2 1:3", "each once"),
        ("1 qid:1 1:nan", "features as 1:value"),
        ("1 qid:1 1:1e999", "features as 1:value"),
        ("1 qid:1 1:", "features as 1:value"),
        ("1 qid:\udcff 1:1", "line 2: expected 'grade qid:N"),
        ("1 qid:1 1:1" + " " * (1 << 18), "line 2: found a line of more than 262,144 bytes"),
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "bad.txt"
    path.write_bytes(b"0 qid:1 1:1\n" + line.encode(errors="surrogateescape") + b"\n")
    with pytest.raises(SourceError) as error:
        read_letor(path)
    assert message in str(error.value)
    assert "bad.txt, line 2" in str(error.value)


def test_what_cannot_be_right_is_refused(tmp_path: Path) -> None:
    apart = "0 qid:1 1:1\n0 qid:2 1:1\n0 qid:1 1:1\n"
    with pytest.raises(SourceError, match=r"line 3: query 1 occurred before.* lines of a query"):
        read_letor(write(tmp_path / "a", text=apart))
    twice = "0 qid:1 1:1 #docid = a\n0 qid:1 1:1 #docid = a\n"
    with pytest.raises(SourceError, match="query 1 has document a twice"):
        read_letor(write(tmp_path / "b", text=twice))
    write(tmp_path / "folds", "train.txt")
    with pytest.raises(
        SourceError, match=r"query 10 occurred before, in .*Of several folds, name one"
    ):
        read_letor(write(tmp_path / "folds", "vali.txt").parent)
    with pytest.raises(SourceError, match="has no queries"):
        read_letor(write(tmp_path / "c", text="\n"))
    with pytest.raises(SourceError, match="found none"):
        read_letor(write(tmp_path / "d", "readme.txt").parent)
    with pytest.raises(SourceError, match="does not exist"):
        read_letor(tmp_path / "nothing")


def test_a_stream_of_ranks(tmp_path: Path) -> None:
    source = open_source(f"letor:{write(tmp_path)}")
    assert source.total == 5
    assert not source.topics
    events = [json.loads(raw) for raw in source]
    assert events[0] == {"id": "10-GX03", "features": {"1": -0.03, "3": 7.0}, "rank": 1}
    assert events[1] == {"id": "10-GX02", "features": {}, "rank": 2}
    assert [event["rank"] for event in events] == [1, 2, 3, 1, 1]
    for raw in source:
        parse_event(raw)
    scaled = [json.loads(raw) for raw in open_source(f"letor:{tmp_path},normalise=minmax")]
    assert scaled[0]["features"] == {"3": 1.0}


def test_values_that_events_cannot_have_are_nothing(tmp_path: Path) -> None:
    (raw,) = open_source(f"letor:{write(tmp_path, text='1 qid:1 1:1e-80 2:1e80 3:2')}")
    assert parse_event(raw).content == {"3": 2.0}


def test_ordinal_lanes_follow_it(tmp_path: Path) -> None:
    source = f"letor:{write(tmp_path)}"
    assert ranks_for(source) == 3
    assert choose_lanes(source, None)[0] == "prank:ranks=3"
    assert choose_lanes(source, ["prank:ranks=4"]) == ("prank:ranks=4",)
    report = tmp_path / "report.json"
    result = wirerank("replay", source, "--report", str(report))
    assert result.exit_code == 0, result.stderr
    assert json.loads(report.read_bytes())["prank:ranks=3"]["rounds"] == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (",normalise=mean", "choose one of minmax, place, percentile, none"),
        (",fold=1", "letor has no option 'fold'. Known: normalise=none"),
    ],
)
def test_options_that_there_are_not(tmp_path: Path, options: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        open_source(f"letor:{write(tmp_path)}{options}")


def test_mq2008(shared_corpus: Callable[[str], Path]) -> None:
    queries = read_letor(shared_corpus("letor"))
    assert len(queries) == 784
    assert queries.values.shape == (15_211, 46)
    assert np.bincount(queries.grades).tolist() == [12_279, 2_001, 931]
    assert len(queries.with_relevant()) == 784 - 220
    assert [queries.parts.count(f"S{n}") for n in range(1, 6)] == [157, 157, 157, 157, 156]
    assert not np.isnan(queries.values).any()
