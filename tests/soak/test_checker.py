"""The checker finds what is wrong: each history here is wrong on purpose, in one way."""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.soak.checker import Verdict, judge
from tests.soak.history import History, Record, read_lines, read_records

LANES = ["one", "split"]
DOCUMENTS = 20
GARBAGE = b"not json"
FOLDER = Path(__file__).parent


def ranking(id_: str, lane: str, score: float = 1.0) -> bytes:
    topics = [{"topic": "grain", "score": score}, {"topic": "ship", "score": score / 2}]
    return json.dumps({"id": id_, "lane": lane, "round": 1, "ranking": topics}).encode()


def history() -> History:
    """A faultless history: documents in two partitions, one second apart, and some garbage."""
    ledger: list[dict[str, Any]] = []
    documents, rankings, reference, letters = ([], [], [], [])  # type: ignore[var-annotated]
    for number in range(DOCUMENTS):
        id_, partition, offset = f"d{number}", number % 2, number // 2
        entry = {"kind": "document", "id": id_, "partition": partition, "offset": offset}
        ledger.append(entry)
        value = json.dumps({"id": id_, "text": "t"}).encode()
        documents.append(Record(partition, offset, 100.0 + number, b"", value))
        for lane in LANES:
            at = len(rankings)
            rankings.append(Record(0, at, 101.0 + number, b"", ranking(id_, lane)))
            reference.append(Record(0, at, 999.0, b"", ranking(id_, lane)))
    place = DOCUMENTS // 2
    digest = hashlib.sha256(GARBAGE).hexdigest()
    ledger.append({"kind": "garbage", "id": "", "partition": 0, "offset": place, "sha256": digest})
    documents.append(Record(0, place, 130.0, b"", GARBAGE))
    letters.append(Record(0, 0, 131.0, f"soak.documents-0-{place}".encode(), GARBAGE))
    ledger.append({"kind": "label", "id": "d1", "partition": 1, "offset": place})
    documents.append(Record(1, place, 130.0, b"", b'{"id": "d1", "topics": ["grain"]}'))
    return History(
        LANES, ["split"], ledger, documents, rankings, reference, letters,
        journal=[
            {"number": 1, "kind": "kill", "touches": ["*"], "began": 102.0, "ended": 102.0},
            {"number": 2, "kind": "stop", "touches": ["*"], "began": 105.0, "ended": 109.0},
            {"kind": "calm", "began": 110.0, "ended": 112.5},
        ],
        memory=[
            {"at": 100.0 + 2 * n, "name": "learner", "pid": 7, "bytes": 100e6 + n * 1e6}
            for n in range(100)
        ],
        exits=[{"name": "learner", "code": -9, "asked": False}],
    )  # fmt: skip


def test_a_faultless_history_has_no_violation() -> None:
    verdict = judge(history())
    assert verdict.violations == []
    assert (verdict.documents, verdict.labels, verdict.garbage) == (DOCUMENTS, 1, 1)
    assert verdict.faults == {"kill": 1, "stop": 1}
    assert verdict.longest_fault_gap == 3.0
    assert verdict.recoveries == [2.5]
    assert verdict.memory["learner"]["mb_per_minute"] == pytest.approx(30.0)


def lose(given: History) -> None:
    del given.rankings[6]


def lose_every_ranking_of_a_lane(given: History) -> None:
    given.rankings = [record for record in given.rankings if b'"split"' not in record.value]


def double(given: History) -> None:
    given.rankings.append(replace(given.rankings[6], offset=999))


def invent(given: History) -> None:
    given.rankings.append(Record(0, 999, 140.0, b"", ranking("d999", "one")))


def reorder(given: History) -> None:
    """Two documents of one partition change places."""
    given.rankings[4], given.rankings[8] = given.rankings[8], given.rankings[4]


def reorder_between_partitions(given: History) -> None:
    """Two documents of different partitions: only the reference knows their order."""
    given.rankings[4], given.rankings[6] = given.rankings[6], given.rankings[4]


def change_a_score(given: History) -> None:
    changed = ranking("d3", "one", 1.0000000000000002)
    given.rankings[6] = replace(given.rankings[6], value=changed)


def change_a_score_of_shards_by_more_than_rounding(given: History) -> None:
    given.rankings[7] = replace(given.rankings[7], value=ranking("d3", "split", 1.0001))


def lose_a_dead_letter(given: History) -> None:
    given.dead_letters.clear()


def change_a_dead_letter(given: History) -> None:
    given.dead_letters[0] = replace(given.dead_letters[0], value=b"other")


def bury_a_document(given: History) -> None:
    letter = Record(0, 1, 131.0, b"soak.documents-0-3", given.documents[6].value)
    given.dead_letters.append(letter)


def lose_input(given: History) -> None:
    """The brokers have lost an acknowledged label."""
    del given.documents[-1]


def write_by_a_stranger(given: History) -> None:
    given.documents.append(Record(1, 77, 130.0, b"", b'{"id": "stranger", "topics": []}'))


def stall(given: History) -> None:
    """All rankings from the tenth document on appear a minute and more after the last fault."""
    given.rankings = [
        replace(record, time=record.time + 80.0) if record.time > 110.0 else record
        for record in given.rankings
    ]


def need_long_to_catch_up(given: History) -> None:
    given.journal[-1]["ended"] = given.journal[-1]["began"] + 181.0


def call_an_operator(given: History) -> None:
    given.exits.append({"name": "run", "code": 3, "asked": False})


def leave_orphans(given: History) -> None:
    given.journal.append({"kind": "orphans", "at": 120.0, "count": 3})


def take_much_memory(given: History) -> None:
    given.memory.append({"at": 300.0, "name": "shard-1", "pid": 9, "bytes": 2e9})


def write_nothing(given: History) -> None:
    for name in ("ledger", "documents", "rankings", "reference", "dead_letters"):
        getattr(given, name).clear()


WRONG: dict[Callable[[History], None], str] = {
    lose: "lane one: 1 rankings lost",
    lose_every_ranking_of_a_lane: "lane split: 20 rankings lost",
    double: "lane one: 1 rankings doubled",
    invent: "lane one: 1 rankings unknown",
    reorder: "lane one: 1 rankings reordered",
    reorder_between_partitions: "lane one: 2 rankings reordered",
    change_a_score: "lane one: 1 rankings different",
    change_a_score_of_shards_by_more_than_rounding: "lane split: 1 rankings different",
    lose_a_dead_letter: "1 garbage events without a dead letter",
    change_a_dead_letter: "1 dead letters that are no garbage or have other bytes",
    bury_a_document: "1 dead letters that are no garbage or have other bytes",
    lose_input: "1 documents that were acknowledged are missing",
    write_by_a_stranger: "1 documents that nobody wrote",
    stall: "lane one: a stall of 81.0 s that no fault explains",
    need_long_to_catch_up: "a calm of 181 s was needed to catch up",
    call_an_operator: "1 workers ended and called for an operator",
    leave_orphans: "3 workers outlived their supervisor",
    take_much_memory: "shard-1 took 2000 MB",
    write_nothing: "no document was written: nothing was tested",
}


@pytest.mark.parametrize("spoil", WRONG, ids=lambda spoil: spoil.__name__)
def test_a_wrong_history_is_found(spoil: Callable[[History], None]) -> None:
    given = history()
    spoil(given)
    assert WRONG[spoil] in judge(given).violations


def harmless(change: Callable[[History], None]) -> Verdict:
    given = history()
    change(given)
    verdict = judge(given)
    assert verdict.violations == []
    return verdict


def test_a_repeated_dead_letter_is_counted_and_allowed() -> None:
    """Tokenizers write at least once."""
    verdict = harmless(lambda given: given.dead_letters.append(given.dead_letters[0]))
    assert verdict.dead_letters_repeated == 1


def test_rounding_is_allowed_to_shards() -> None:
    def change(given: History) -> None:
        changed = ranking("d3", "split", 1.0000000000000002)
        given.rankings[7] = replace(given.rankings[7], value=changed)

    harmless(change)


def test_a_stall_during_a_fault_is_explained() -> None:
    def change(given: History) -> None:
        stall(given)
        given.journal[1]["ended"] = 190.0

    assert harmless(change).lanes["one"].stall == 81.0


@pytest.mark.parametrize(("started", "longest"), [(200.0, 0.0), (150.0, 41.0)])
def test_the_time_in_which_the_workers_start_is_no_stall(started: float, longest: float) -> None:
    """Rankings of documents that arrived before do count as progress."""

    def change(given: History) -> None:
        stall(given)
        given.journal.append({"kind": "start", "touches": ["*"], "began": 90.0, "ended": started})

    assert harmless(change).lanes["one"].stall == longest


def test_a_document_whose_fate_the_load_does_not_know_must_be_ranked_if_it_is_there() -> None:
    def doubt(given: History) -> None:
        given.ledger[6]["offset"] = None

    harmless(doubt)
    given = history()
    doubt(given)
    lose(given)
    assert judge(given).lanes["one"].lost == 1


def test_a_document_that_is_there_twice_needs_two_rankings() -> None:
    def repeat(given: History) -> None:
        given.ledger.append({"kind": "document", "id": "d3", "partition": 1, "offset": 11})
        given.documents.append(replace(given.documents[3], offset=11))
        for of in (given.rankings, given.reference):
            of += [Record(0, 990, 131.0, b"", ranking("d3", lane)) for lane in LANES]

    harmless(repeat)
    given = history()
    repeat(given)
    del given.rankings[-2]
    assert judge(given).lanes["one"].lost == 1


def test_records_of_any_bytes_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.records"
    path.write_bytes(b"0 7 1500 2 3\nk\n\n\n\n\n1 8 1600 -1 -1\n\n")
    expected = [Record(0, 7, 1.5, b"k\n", b"\n\n\n"), Record(1, 8, 1.6, b"", b"")]
    assert list(read_records(path)) == expected


def test_a_line_that_was_cut_is_dropped(tmp_path: Path) -> None:
    (tmp_path / "x").write_text('{"a": 1}\n{"a": ')
    assert read_lines(tmp_path / "x") == [{"a": 1}]


@pytest.mark.parametrize("name", ["checker", "history", "memory", "recreated", "stalls"])
def test_the_checker_has_no_code_of_wirerank(name: str) -> None:
    own = {f"tests.soak.{module}" for module in ("history", "memory", "stalls")}
    for node in ast.walk(ast.parse((FOLDER / f"{name}.py").read_text())):
        if isinstance(node, ast.Import):
            assert all(alias.name in sys.stdlib_module_names for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            assert module in own or module.partition(".")[0] in sys.stdlib_module_names, module
