"""The command line: files in and out, settings, exit codes, messages."""

from __future__ import annotations

import csv
import os
import subprocess
from pathlib import Path
from random import Random

import orjson
import pytest

from learners.measures import MEASURES
from pipeline.replay.settings import DEFAULT_LANES
from pipeline.reports.plots import can_plot
from tests.conftest import missing
from tests.support.command_line import WIRERANK, wirerank, write_events


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_output() -> None:
    result = wirerank(
        "replay", write_events(), "--lane", "mmp:loss=1", "--lane", "perceptron:name=p",
        "--rankings", "r.jsonl", "--curves", "c.csv", "--report", "r.json", "--top", "0",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    rankings = [orjson.loads(line) for line in Path("r.jsonl").read_bytes().splitlines()]
    assert [(r["id"], r["lane"], r["round"]) for r in rankings] == [
        (id_, lane, round_)
        for id_, round_ in (("1", 0), ("2", 1), ("3", 2), ("4", 2))
        for lane in ("mmp:loss=1", "p")
    ]
    assert rankings[2]["time"] == "1987-02-26T15:01:01Z"
    assert rankings[0]["ranking"] == []
    assert [len(r["ranking"]) for r in rankings[::2]] == [0, 1, 2, 2]
    with Path("c.csv").open() as file:
        rows = list(csv.DictReader(file))
    first = {"lane": "mmp:loss=1", "round": "1", "loss": "loss1", "value": "0.0", "recent": "0.0"}
    assert rows[0] == first
    assert {row["round"] for row in rows} == {"1", "2", "3", "4"}
    report = orjson.loads(Path("r.json").read_bytes())
    assert list(report) == ["mmp:loss=1", "p"]
    assert report["p"]["rounds"] == 4
    assert report["p"]["documents"] == 4
    assert report["p"]["rounds_with_topics"] == 3
    assert result.stdout.startswith("lane")
    assert "written: r.jsonl, c.csv, r.json" in result.stderr


def test_report_and_curve_end_alike() -> None:
    wirerank("replay", "synthetic:300", "--curves", "c.csv", "--report", "r.json")
    report = orjson.loads(Path("r.json").read_bytes())
    with Path("c.csv").open() as file:
        last = {(row["lane"], row["loss"]): row for row in csv.DictReader(file)}
    of_sets = {loss for lane, loss in last if lane == "soft-arow"}.difference(MEASURES)
    assert {"micro_f1", "macro_f1", "calibration_error"} <= of_sets  # it assigns topics
    assert len(last) == len(DEFAULT_LANES) * len(MEASURES) + len(of_sets)
    for (lane, loss), row in last.items():
        assert float(row["value"]) == report[lane][loss]
        assert int(row["round"]) == report[lane]["rounds"] == 300


def test_numbers_that_do_not_exist_are_null() -> None:
    Path("empty.jsonl").touch()
    result = wirerank("replay", "empty.jsonl", "--report", "r.json", "--curves", "c.csv")
    assert result.exit_code == 1
    lane = orjson.loads(Path("r.json").read_bytes())["mmp:loss=1"]
    assert lane["rounds"] == lane["documents"] == 0
    for key in ("loss1", "loss2", "loss3", "one_error", "coverage", "r5", "mrr", "harmonic_rank"):
        assert lane[key] is None
    assert Path("c.csv").read_text() == "lane,round,loss,value,recent\n"
    assert "n.a." in result.stdout
    assert "the source has no documents, so nothing was ranked" in result.stderr


def test_top() -> None:
    for top, lengths in (("1", [0, 1, 1, 1]), ("1000", [0, 1, 2, 2])):
        wirerank("replay", write_events(), "--lane", "mmp", "--rankings", "r.jsonl", "--top", top)
        lines = Path("r.jsonl").read_bytes().splitlines()
        assert [len(orjson.loads(line)["ranking"]) for line in lines] == lengths


def test_declared_topics() -> None:
    Path("topics.txt").write_text("trade\n\n crude \ntrade\n")
    wirerank(
        "replay", write_events(), "--lane", "mmp", "--topics", "topics.txt",
        "--rankings", "r.jsonl", "--top", "0",
    )  # fmt: skip
    first = orjson.loads(Path("r.jsonl").read_bytes().splitlines()[0])
    assert [place["topic"] for place in first["ranking"]] == ["trade", "crude"]


def test_malformed_events_are_kept_and_counted() -> None:
    Path("bad.jsonl").write_bytes(
        b'{"id":1,"text":"x","topics":["a"]}\nrubbish\n{"id":2}\n\n{"id":3,"text":"y"}\n'
    )
    result = wirerank("replay", "bad.jsonl", "--report", "r.json", "--dead-letters", "dead.jsonl")
    assert result.exit_code == 0
    assert "kept in dead.jsonl: 2 (no_content 1, not_json 1)" in result.stderr
    report = orjson.loads(Path("r.json").read_bytes())["perceptron"]
    assert (report["documents"], report["dead_letters"]) == (2, 2)
    assert [orjson.loads(x)["line"] for x in Path("dead.jsonl").read_bytes().splitlines()] == [2, 3]


def test_rankings_on_standard_output_stand_alone() -> None:
    result = wirerank("replay", write_events(), "--lane", "mmp", "--rankings", "-")
    assert [orjson.loads(line)["id"] for line in result.stdout.splitlines()] == ["1", "2", "3", "4"]
    assert "AvgP" in result.stderr


def test_quiet_is_not_silent_about_what_may_be_missing() -> None:
    result = wirerank("replay", "synthetic:50", "--quiet", "--report", "r.json")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert "mmp:loss=1" in result.stdout
    Path("bad.jsonl").write_bytes(b'{"id":1,"text":"x","topics":["a"]}\nrubbish\n')
    result = wirerank("replay", "bad.jsonl", "--quiet")
    assert "kept in wirerank-dead-letters.jsonl: 1 (not_json 1)" in result.stderr


def test_ninjs() -> None:
    items: list[dict[str, object]] = [
        {"uri": "urn:1", "headline": "Wheat up", "subject": [{"code": "20000382"}]},
        {
            "uri": "urn:2",
            "headlines": [{"value": "Oil down"}],
            "bodies": [{"value": "<p>Low.</p>"}],
        },
        {"uri": "urn:3", "pubstatus": "canceled", "headline": "Never mind"},
        {"uri": "urn:2", "subjects": [{"literal": "crude"}]},
    ]
    arguments = ("--lane", "mmp", "--rankings", "-")
    result = wirerank("replay", write_events(events=items), "--format", "ninjs", *arguments)
    assert [orjson.loads(line)["id"] for line in result.stdout.splitlines()] == ["urn:1", "urn:2"]
    assert "not_usable 1" in result.stderr
    assert wirerank("replay", "x", "--format", "rss").exit_code == 2


def test_version() -> None:
    assert wirerank("--version").stdout.startswith("wirerank 0.")


def test_the_report_says_what_was_run() -> None:
    arguments = ("--lane", "mmp:margin=0.5,norm=l2", "--min-df", "2", "--limit", "30")
    wirerank("replay", "synthetic:50", *arguments, "--report", "r.json")
    settings = orjson.loads(Path("r.json").read_bytes())["mmp:margin=0.5,norm=l2"]["settings"]
    assert settings["source"] == "synthetic:50"
    options = {"loss": 1, "margin": 0.5, "average": False, "kernel": "linear", "budget": 1000}
    assert settings["options"] == options
    assert (settings["norm"], settings["min_df"], settings["limit"]) == ("l2", 2, 30)
    assert settings["interrupted"] is False


def test_nothing_learned_is_said() -> None:
    events: list[dict[str, object]] = [{"id": n, "text": "x", "labels": ["a"]} for n in range(3)]
    result = wirerank("replay", write_events(events=events))
    assert "nothing was learned: no document has `topics`" in result.stderr
    result = wirerank("replay", "synthetic:50", "--lane", "rocchio")
    assert "rocchio has no prototypes yet: it computes them every 1,000 rounds" in result.stderr


def test_the_comparison_fits_a_terminal() -> None:
    result = wirerank("replay", "synthetic:300")
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_gzip_is_known_by_what_it_is() -> None:
    import gzip

    name = write_events("really-gzip.jsonl")
    Path(name).write_bytes(gzip.compress(Path(name).read_bytes()))
    assert "documents 4 " in wirerank("replay", name).stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("replay absent.jsonl", "absent.jsonl does not exist; expected a file of JSON lines"),
        ("replay rcv7:x", "no corpus kind 'rcv7'"),
        ("replay synthetic:10 --lane nope", "There is no learner 'nope'. Known: arow"),
        ("replay synthetic:10 --lane mmp:loss=9", "must be one of 1, 2, 3. Got '9'"),
        ("replay synthetic:10 --lane mmp --lane mmp", "Two lanes are called 'mmp'"),
        ("replay synthetic:10 --profile x", "There is no profile 'x'. Known: reuters2000,"),
        ("replay synthetic:10 --profile news:stem=xx", "must be none, auto, or a language of"),
        ("rank x synthetic:10 --profile nws", "There is no profile 'nws'. Did you mean news?"),
        ("replay synthetic:10 --report no/such/r.json", "is not a folder that you can write to"),
        ("replay synthetic:10 --topics absent.txt", "The list of topics absent.txt cannot be read"),
        ("replay synthetic:10 --max-topics 2", "103 topics are declared, but max_topics is 2"),
        ("replay synthetic:10 --report .", "is a folder"),
        ("replay synthetic:10 --plot curves.xyz", "must end in .png, .svg or .pdf"),
        ("replay synthetic:10 --report x --curves x", "x is already written by this run"),
        ("replay synthetic:10 --report - --curves -", "- is already written by this run"),
        ("replay synthetic:ten", "'ten' is not a number"),
        ("replay synthetic:10 --dead-letters -", "--dead-letters must be a file"),
        (
            "replay synthetic:10 --lane rocchio:refresh=99999999999999999999",
            "must be a whole number",
        ),
        ("replay synthetic:10 --max-terms 99999999999999999999", "max-terms"),
        ("replay synthetic:10 --kafka x:1 --topic t", "this program has no Kafka client. Run"),
        ("corpora fetch nothing", "there is no corpus 'nothing'"),
        ("corpora fetch synthetic", "cannot be fetched"),
    ],
)
def test_mistakes_are_explained(arguments: str, message: str) -> None:
    result = wirerank(*arguments.split())
    assert result.exit_code != 0
    assert message in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("option", ["--rankings", "--report", "--curves", "--dead-letters"])
def test_an_output_never_replaces_what_is_read(option: str) -> None:
    name = write_events()
    Path("topics.txt").write_text("grain\n")
    before = Path(name).read_bytes()
    for target in (name, f"./{name}", "topics.txt"):
        result = wirerank("replay", name, "--topics", "topics.txt", option, target)
        assert result.exit_code == 2
        assert "is already read by this run" in result.stderr
    assert Path(name).read_bytes() == before
    assert Path("topics.txt").read_text() == "grain\n"


def test_a_source_with_a_colon_in_its_name_is_safe_too() -> None:
    name = write_events("a:b.jsonl")
    before = Path(name).read_bytes()
    assert wirerank("replay", name, "--rankings", name).exit_code == 2
    assert Path(name).read_bytes() == before


def test_a_picture_of_no_loss_at_all_can_be_drawn() -> None:
    if not can_plot():
        missing("matplotlib", "pip install 'wirerank[experiments]'")
    events: list[dict[str, object]] = [{"id": n, "text": "x", "topics": []} for n in range(9)]
    for name in ("empty.jsonl", write_events(events=events)):
        Path("empty.jsonl").touch()
        result = wirerank("replay", name, "--plot", "p.svg")
        assert result.exit_code == (name == "empty.jsonl"), result.stderr
        assert "<svg" in Path("p.svg").read_text()


def test_any_number_of_topics_may_be_asked_for() -> None:
    result = wirerank("replay", write_events(), "--rankings", "r.jsonl", "--top", "2000000000")
    assert result.exit_code == 0


def test_report_and_curves_on_standard_output() -> None:
    result = wirerank("replay", write_events(), "--lane", "mmp", "--report", "-")
    assert orjson.loads(result.stdout)["mmp"]["rounds"] == 4
    result = wirerank("replay", write_events(), "--lane", "mmp", "--curves", "-")
    assert result.stdout.startswith("lane,round,loss,value,recent\nmmp,1,loss1,")
    assert not Path("-").exists()


def test_a_device_is_written_to_and_not_replaced() -> None:
    wirerank("replay", write_events(), "--report", os.devnull, "--curves", os.devnull)
    assert Path(os.devnull).is_char_device()


def test_dead_letters_of_earlier_runs_stay() -> None:
    Path("bad.jsonl").write_bytes(b'{"id":1,"text":"x"}\nrubbish\n')
    for _ in range(2):
        assert wirerank("replay", "bad.jsonl").exit_code == 0
    assert len(Path("wirerank-dead-letters.jsonl").read_bytes().splitlines()) == 2


def test_a_file_without_one_usable_event_is_no_success() -> None:
    Path("bad.jsonl").write_bytes(Random(1).randbytes(10_000))
    result = wirerank("replay", "bad.jsonl")
    assert result.exit_code == 1
    assert "no document could be used" in result.stderr


def test_late_labels_alone_are_no_success() -> None:
    Path("labels.jsonl").write_bytes(b'{"id":1,"topics":["a"]}\n')
    result = wirerank("replay", "labels.jsonl")
    assert result.exit_code == 1
    assert "the source has no documents" in result.stderr


def test_an_input_in_another_form_is_named_early_also_when_quiet() -> None:
    Path("documents").write_bytes(b"".join(b"%d,wheat,grain\n" % n for n in range(3000)))
    for quiet in ((), ("--quiet",)):
        result = wirerank("replay", "documents", "--block", "200", *quiet)
        assert result.exit_code == 1
        said = " ".join(result.stderr.split())
        assert "200 of 200 events cannot be used (not_an_object 200)" in said or "not_json" in said
        assert "It looks like CSV with a header: write csv:FILE." in said


def test_byte_order_marks_are_not_part_of_anything() -> None:
    Path("events.jsonl").write_bytes(b'\xef\xbb\xbf{"id":1,"text":"x","topics":["a"]}\r\n')
    Path("topics.txt").write_bytes(b"\xef\xbb\xbfa\r\nb\r\n")
    arguments = ("--lane", "mmp", "--topics", "topics.txt", "--rankings", "-")
    result = wirerank("replay", "events.jsonl", *arguments)
    places = orjson.loads(result.stdout)["ranking"]
    assert [place["topic"] for place in places] == ["a", "b"]


def test_the_limit_of_an_event_is_a_setting() -> None:
    events: list[dict[str, object]] = [{"id": 1, "text": "x" * 300}, {"id": 2, "text": "y"}]
    result = wirerank("replay", write_events(events=events), "--max-event-bytes", "200")
    assert "too_large 1" in result.stderr
    assert "documents 1 " in result.stderr


def test_a_cut_file_ends_with_an_error_after_what_it_had() -> None:
    import gzip

    events = b"".join(b'{"id":%d,"text":"a%d","topics":["t"]}\n' % (n, n) for n in range(5000))
    Path("cut.jsonl.gz").write_bytes(gzip.compress(events)[:-500])
    result = wirerank("replay", "cut.jsonl.gz", "--report", "r.json")
    assert result.exit_code == 1
    assert "damaged or cut off" in result.stderr
    documents = orjson.loads(Path("r.json").read_bytes())["perceptron"]["documents"]
    assert 0 < documents < 5000
    wirerank("replay", "cut.jsonl.gz", "--report", "r.json", "--block", "1")
    assert orjson.loads(Path("r.json").read_bytes())["perceptron"]["documents"] == documents


@pytest.mark.parametrize(
    "command",
    ["", "replay", "rank", "curves", "curves export", "corpora", "corpora fetch", "lanes", "bench"],
)
def test_help(command: str) -> None:
    result = wirerank(*command.split(), "--help")
    assert result.exit_code == 0
    assert "Usage" in result.stdout


def test_an_output_that_cannot_be_written_does_not_cost_the_others() -> None:
    name = write_events()
    files = ["--curves", "/dev/full", "--report", "r.json", "--save", "m.model"]
    result = subprocess.run(
        [*WIRERANK, "replay", name, "--lane", "frequency", *files],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 1
    assert "/dev/full cannot be written: No space left on device." in result.stderr
    assert "written: r.json, m.model" in result.stderr
    assert result.stdout.startswith("lane")
    assert "frequency" in orjson.loads(Path("r.json").read_bytes())
    assert Path("m.model").stat().st_size > 0
