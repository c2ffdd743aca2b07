"""TREC runs and judgements as query-document sets and as a stream."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from pipeline.commands.defaults import choose_lanes
from pipeline.corpora import open_source, ranks_for
from pipeline.corpora.source import SourceError
from pipeline.corpora.trec import read_trec, trec_files
from pipeline.events.event import parse_event
from pipeline.retrieval.measures import average_precisions
from tests.support.command_line import wirerank

# Ranks contradict scores on purpose; documents b and c are level in the first run.
RUN_A = """\
9 Q0 a 7 3.5 tag
9 Q0 b 1 2 tag
9 Q0 c 2 2e0 tag
9 Q0 d 3 -1 tag
10 Q0 a 0 5 tag
77 Q0 a 0 5 tag
"""
RUN_B = "9\tQ0\te\t1\t1000\ttag\n9 Q0 b 2 900 tag\n"
QRELS = """\
9 0 b 1
9 0 e 2
9 0 x 1
9 0 a -2
10 0 z 0
11 0 a 1
"""


def write(folder: Path) -> str:
    (folder / "runs").mkdir()
    (folder / "runs" / "one").write_text(RUN_A)
    (folder / "runs" / "two.gz").write_bytes(gzip.compress(RUN_B.encode()))
    (folder / "runs" / ".hidden").write_text("no run")
    (folder / "qrels").write_text(QRELS)
    return f"{folder / 'runs'},{folder / 'qrels'}"


def test_the_union_of_runs(tmp_path: Path) -> None:
    queries = read_trec(write(tmp_path))
    assert queries.functions == ("one", "two")
    assert queries.queries == ("9", "10")  # 77 was not judged, 11 not retrieved
    assert queries.documents == ("e", "d", "c", "b", "a", "a")
    assert queries.grades.tolist() == [2, 0, 0, 1, 0, 0]
    assert [known.tolist() for known in queries.known] == [[2, 1, 1], []]
    nan = float("nan")
    np.testing.assert_array_equal(queries.values[:, 0], [nan, -1, 2, 2, 3.5, 5])
    np.testing.assert_array_equal(queries.values[:, 1], [1000, nan, nan, 900, nan, nan])


def test_average_precision_is_that_of_trec_eval(tmp_path: Path) -> None:
    """Ties by falling name, stated ranks ignored, unretrieved relevant documents counted."""
    queries = read_trec(write(tmp_path))
    one, two = (average_precisions(queries, column) for column in queries.values.T)
    assert one[0] == pytest.approx(1 / 3 / 3)  # a, c, b, d
    assert two[0] == pytest.approx((1 + 1) / 3)  # e, b


def test_only_the_first_documents_of_a_run_count(tmp_path: Path) -> None:
    queries = read_trec(write(tmp_path), depth=2)
    assert queries.documents == ("e", "c", "b", "a", "a")  # of b and c the later name is first
    assert np.isnan(queries.values[2, 0])
    with pytest.raises(SourceError, match="depth=0 is too small; expected the number"):
        read_trec(str(tmp_path), depth=0)


def test_folders_files_and_patterns(tmp_path: Path) -> None:
    where = write(tmp_path)
    assert [path.name for path in trec_files(where)[0]] == ["one", "two.gz"]
    runs = tmp_path / "runs"
    assert [p.name for p in trec_files(f"{runs}/one,{tmp_path}/qrels")[0]] == ["one"]
    assert [p.name for p in trec_files(f"{runs}/*.gz,{tmp_path}/qrels")[0]] == ["two.gz"]
    (runs / "judged").write_text(QRELS)
    assert [p.name for p in trec_files(f"{runs},{runs}/judged")[0]] == ["one", "two.gz"]
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "one").write_text(RUN_A)
    queries = read_trec(f"{tmp_path}/*/one,{tmp_path}/qrels")
    assert len(set(queries.functions)) == 2


PROSE = "Six words and a number, 2 of them\n" * 30


def test_what_is_no_run_is_left_out_and_named(tmp_path: Path) -> None:
    where = write(tmp_path)
    runs = tmp_path / "runs"
    (runs / "README").write_text(f"A run has lines such as\n{RUN_A}")
    (runs / "notes.md").write_text(RUN_A)
    (runs / "prose.txt").write_text(PROSE)
    (runs / "qrels.old").write_text(QRELS.replace(" 0 ", " Q0 "))
    (runs / "binary").write_bytes(bytes(range(256)) * 2000)
    names = ["README", "binary", "notes.md", "prose.txt", "qrels.old"]
    for one in (where, f"{runs}/*,{tmp_path}/qrels"):
        actual = trec_files(one)
        assert [path.name for path in actual.runs] == ["one", "two.gz"]
        assert [path.name for path in actual.left_out] == names
        (remark,) = actual.remarks()
        assert remark.startswith("trec: these files are left out, because their names or first 20 ")
        assert remark.endswith(f": {', '.join(names)}.")
    assert read_trec(where).functions == ("one", "two")
    with pytest.raises(SourceError, match=r"README, line 1: expected query Q0 document"):
        read_trec(f"{runs}/README,{tmp_path}/qrels")  # named, so meant
    for name in ("one", "two.gz"):
        (runs / name).unlink()
    with pytest.raises(
        SourceError, match=r"has no runs; .* files are left out.*: README, binary, notes.md"
    ):
        read_trec(where)
    assert trec_files(f"{runs}/binary,{tmp_path}/qrels").remarks() == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"a heading\n{RUN_A}", "three, line 1: expected query Q0 document"),
        ("9 Q0 a 1 2\n9 Q0 b 2 1\n", "three, line 1: expected query Q0 document"),
        ("9 Q0 a 1 NaN tag\n", "three, line 1: expected .* with a finite score"),
        (f"{RUN_A}9 Q0\n", "three, line 7: expected query Q0 document"),
        ("\n", "three has no document for a judged query"),
    ],
)
def test_a_run_with_errors_is_no_file_to_leave_out(
    tmp_path: Path, content: str, message: str
) -> None:
    where = write(tmp_path)
    (tmp_path / "runs" / "three").write_text(content)
    with pytest.raises(SourceError, match=message):
        read_trec(where)


def test_a_replay_says_what_it_leaves_out(tmp_path: Path) -> None:
    where = write(tmp_path)
    for number in range(12):
        (tmp_path / "runs" / f"README.{number:02}").touch()
    more = ("--lane", "prank:ranks=3", "--dead-letters", str(tmp_path / "dead"))
    result = wirerank("replay", f"trec:{where},depth=3", *more)
    assert result.exit_code == 0, result.stderr
    assert "README.08, README.09 and 2 more." in result.stderr


def test_too_many_runs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = write(tmp_path)
    (tmp_path / "runs" / "README").touch()
    monkeypatch.setattr("pipeline.corpora.trec.MOST_RUNS", 2)
    assert len(trec_files(where).runs) == 2
    (tmp_path / "runs" / "three").write_text(RUN_A)
    with pytest.raises(SourceError, match="has more than 2 runs"):
        trec_files(where)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("runs", "does not have text on both sides of a comma"),
        (",qrels", "does not have text on both sides of a comma"),
        ("runs,nothing", "nothing is not a file; expected RUNS,QRELS"),
        ("nowhere,qrels", "nowhere has no runs"),
        ("empty*,qrels", "has no runs"),
    ],
)
def test_what_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, message: str
) -> None:
    write(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceError, match=message):
        read_trec(where)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("9 Q0 a 1 2", "expected query Q0 document rank score tag, found '9 Q0 a 1 2'"),
        ("9 Q0 a 1 2 t more", "expected query Q0 document rank score tag"),
        ("9 Q0 x 1 much tag", "with a finite score"),
        ("9 Q0 x 1 inf tag", "with a finite score"),
        (f"9 Q0 {'x' * 201} 1 2 tag", "expected query Q0 document"),
        ("9 Q0 a 1 2 tag", "each document once per query"),
    ],
)
def test_a_malformed_line_of_a_run(tmp_path: Path, line: str, message: str) -> None:
    where = write(tmp_path)
    (tmp_path / "runs" / "one").write_text(RUN_A + line + "\n")
    with pytest.raises(SourceError) as error:
        read_trec(where)
    assert "one, line 7: " in str(error.value)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("9 0 q", "expected query iteration document grade"),
        ("9 0 q 1 2", "expected query iteration document grade"),
        ("9", "expected query iteration document grade"),
        ("9 0 q yes", "the grade from -10 to 30"),
        ("9 0 q 31", "the grade from -10 to 30"),
        ("9 0 q -11", "the grade from -10 to 30"),
        ("9 0 b 1", "each document once per query"),
    ],
)
def test_a_malformed_line_of_judgements(tmp_path: Path, line: str, message: str) -> None:
    where = write(tmp_path)
    (tmp_path / "qrels").write_text(QRELS + line + "\n")
    with pytest.raises(SourceError) as error:
        read_trec(where)
    assert "qrels, line 7: " in str(error.value)
    assert message in str(error.value)


def test_files_that_hold_nothing_of_use(tmp_path: Path) -> None:
    where = write(tmp_path)
    (tmp_path / "runs" / "one").write_text("77 Q0 a 0 5 tag\n")
    with pytest.raises(SourceError, match="no document for a judged query"):
        read_trec(where)
    (tmp_path / "runs" / "one").write_bytes(gzip.compress(RUN_A.encode())[:-9])
    with pytest.raises(SourceError, match="damaged or cut off"):
        read_trec(where)
    (tmp_path / "runs" / "one").write_text(RUN_A)
    (tmp_path / "qrels").write_text("\n")
    with pytest.raises(SourceError, match="has no judgements"):
        read_trec(where)


def test_a_stream_of_ranks(tmp_path: Path) -> None:
    """Scores are normalised within their query; a run without a document gives no feature."""
    where = write(tmp_path)
    source = open_source(f"trec:{where},depth=3")
    events = [json.loads(raw) for raw in source]
    assert source.total == len(events) == 5
    assert events[0] == {"id": "9-e", "features": {"two": 1.0}, "rank": 3}
    assert [event["rank"] for event in events] == [3, 1, 2, 1, 1]
    assert events[3] == {"id": "9-a", "features": {"one": 1.0}, "rank": 1}
    for raw in source:
        parse_event(raw)
    raw_scores = [json.loads(raw) for raw in open_source(f"trec:{where},normalise=none")]
    assert raw_scores[0]["features"] == {"two": 1000.0}
    assert ranks_for(f"trec:{where},depth=3") == 3
    assert choose_lanes(f"trec:{where}", None)[1] == "widrow-hoff:ranks=3"
    with pytest.raises(SourceError, match=r"trec has no option 'top'. Known: depth=1000"):
        open_source(f"trec:{where},top=3")
