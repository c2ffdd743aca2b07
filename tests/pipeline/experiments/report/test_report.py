"""The page of all experiments: what it contains, and what it must never contain."""

from __future__ import annotations

import base64
import json
import re
import shutil
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.experiments.report import experiment_folders as reading
from pipeline.experiments.report.experiment_folders import find_experiments
from pipeline.experiments.report.page import page
from tests.support.command_line import wirerank
from tests.support.hostile_experiment import HOSTILE, SVG, HostileTiny
from tests.support.html_check import Page
from tests.support.tiny_experiment import Tiny, run_tiny

pytest.importorskip("matplotlib", reason="pip install 'wirerank[experiments]'")

KINDS = ("better", "worse", "level", "unjudged")


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ran") / "tiny"
    run_tiny(folder)
    return folder


@pytest.fixture
def done(ran: Path, tmp_path: Path) -> Path:
    """A folder with one experiment that was run."""
    shutil.copytree(ran, tmp_path / "tiny")
    return tmp_path


def made(folder: Path) -> Page:
    report_page = Page(page(find_experiments(folder)))
    assert report_page.problems == []
    return report_page


def change(folder: Path, **changes: Any) -> None:  # noqa: ANN401 - JSON
    """Change entries of `results.json`; an entry of None is removed."""
    path = folder / "results.json"
    whole = {**orjson.loads(path.read_bytes()), **changes}
    path.write_text(json.dumps({k: v for k, v in whole.items() if v is not None}))


def test_the_page_has_everything(done: Path) -> None:
    result = wirerank("report", str(done))
    assert result.exit_code == 0, result.output
    assert result.stdout == f"{done / 'report.html'}: 1 of 1 experiments\n"
    content = (done / "report.html").read_bytes()
    report_page = Page(content)
    assert report_page.problems == []
    results = orjson.loads((done / "tiny" / "results.json").read_bytes())
    for text in (
        "An experiment that takes no time", "Nobody: On Nothing (2001)", "It differs: a method.",
        "Linux", results["versions"]["wirerank"], "grid.C", "1, 10", " UTC", "held",
        "wirerank experiment tiny --seed 0 --splits 2", "not settled",
    ):  # fmt: skip
        assert text in report_page.text
    (picture,) = report_page.values("img", "src")
    svg = (done / "tiny" / "picture-comparison.svg").read_bytes()
    assert base64.b64decode(picture.partition("base64,")[2]) == svg
    (alt,) = report_page.values("img", "alt")
    assert alt.startswith("A picture. tiny data: R1")
    saved = {name: name for name in report_page.values("a", "download")}
    assert set(saved) == {"comparison.csv", "curve-comparison.csv"}
    (numbers, _) = (link for link in report_page.values("a", "href") if link.startswith("data:"))
    csv = (done / "tiny" / "comparison.csv").read_bytes()
    assert base64.b64decode(numbers.partition("base64,")[2]) == csv
    assert page(find_experiments(done)) == content  # the same every time


def test_differences_have_signs_and_say_which_is_better(done: Path) -> None:
    content = page(find_experiments(done)).decode()
    rows = re.findall(r'<tr class="difference">(.*?)</tr>', content)
    assert len(rows) == 2  # the others are not in the paper
    assert "<td><span>&lt;0.1</span>" in content
    seen = re.findall(r'<span class="(\w+)">([^<]+)', rows[0])
    values = [(kind, text) for kind, text in seen if kind in KINDS]
    assert values == [("better", "+0.050"), ("better", "−0.25"), ("unjudged", "+2.0")]  # noqa: RUF001
    assert '<span class="worse">−0.125<' in rows[1]  # noqa: RUF001
    assert re.findall(r"<td><b>([^<]+)</b>", content) == ["0.750", "1.00"]
    counts = re.findall(r'<li class="(\w+)"><b>(\d+)</b>', content)
    assert counts == [
        ("better", "2"), ("worse", "1"), ("unjudged", "1"), ("held", "1"), ("open", "1"),
        ("open", "1"),
    ]  # fmt: skip


def test_a_significant_p_has_its_stars(done: Path) -> None:
    """As in the printed table; a p value is never shown as zero."""
    columns = [{"key": "p", "title": "p", "digits": 4, "starred_below": 0.05}]
    rows = [{"label": "a", "ours": {"p": {"value": p}}} for p in (0.0, 0.049, 0.05, None)]
    change(done / "tiny", tables={"t": {"title": "t", "columns": columns, "rows": rows}})
    cells = re.findall(r"<td>(<span.*?)</td>", page(find_experiments(done)).decode())
    stars = ' <span class="stars" title="below 0.05">**</span>'
    assert cells == [
        f"<span>&lt;0.0001</span>{stars}",
        f"<span>0.0490</span>{stars}",
        '<span>0.0500</span> <i class="stars" aria-hidden="true">**</i>',
        '<span class="none">n.a.</span>',
    ]


def test_whatever_files_hold_is_text(tmp_path: Path) -> None:
    folder = tmp_path / HOSTILE.replace("/", "|")
    run_tiny(folder, HostileTiny)
    change(folder, experiment=HOSTILE, versions={HOSTILE: HOSTILE}, sha256={HOSTILE: HOSTILE})
    report_page = made(tmp_path)
    assert report_page.text.count(HOSTILE) > 10
    assert [tag for tag, _ in report_page.tags].count("style") == 1


def test_a_hostile_picture_is_only_ever_an_image(done: Path) -> None:
    (done / "tiny" / "picture-comparison.svg").write_bytes(SVG)
    content = page(find_experiments(done))
    assert Page(content).problems == []
    assert b"<script" not in content
    assert b"192.0.2.1" not in content
    assert b"default-src 'none'" in content.replace(b"&#x27;", b"'")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"{", "results.json is not valid JSON"),
        (b"[]", "it is not a JSON object"),
        (b"\xff\xfe", "results.json is not valid JSON"),
        (b'{"tables": {}}', "experiment: Field required"),
        (b'{"experiment": "x"}', "tables: Field required"),
        (b'{"experiment": "x", "tables": {"../y": {}}}', "should match pattern"),
        (b'{"experiment": "x", "tables": {"y": {"title": "t", "rows": [5]}}}', "tables.y.rows.0"),
        (b'{"experiment": "x", "tables": {}, "drawings": [{"name": "a/../b"}]}', "drawings.0.name"),
        (b"[" * 100_000, "results.json is not valid JSON"),
        (
            orjson.dumps({"experiment": "x", "tables": {}, "title": "t" * 100_000}),
            "at most 20000 characters",
        ),
    ],
)
def test_broken_results_are_named_and_the_others_shown(
    content: bytes, problem: str, done: Path
) -> None:
    (done / "bad").mkdir()
    (done / "bad" / "results.json").write_bytes(content)
    result = wirerank("report", str(done))
    assert result.exit_code == 1
    assert str(done / "bad" / "results.json") in result.stderr
    assert problem in result.stderr
    report_page = Page((done / "report.html").read_bytes())
    assert report_page.problems == []
    assert "1 could not be read." in report_page.text
    assert f"bad/{problem}" in report_page.text or problem in report_page.text
    assert "Nobody: On Nothing (2001)" in report_page.text
    assert str(done) not in report_page.text  # where it lies is nobody's business


def test_results_that_are_too_large_are_refused(
    done: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MOST_RESULTS_BYTES", 100)
    (actual,) = find_experiments(done)
    assert actual.problem.endswith("bytes; expected at most 100")


def test_an_unfinished_experiment_says_how_far_it_is(done: Path) -> None:
    class Stopped(Tiny):
        name = "stopped"

        @staticmethod
        def do(number: int) -> None:
            if number == 2:
                raise KeyboardInterrupt

    run_tiny(done / "half", Stopped, splits=5)
    result = wirerank("report", str(done))
    assert result.exit_code == 0, result.output
    assert "1 of 2 experiments" in result.stdout
    report_page = Page((done / "report.html").read_bytes())
    assert report_page.problems == []
    assert "Not finished: 2 of 5 parts done." in report_page.text
    assert "stopped (half)" in report_page.text
    # A longer run that was interrupted leaves the results of the shorter one.
    Stopped.name = "tiny"
    run_tiny(done / "tiny", Stopped, splits=7)
    assert "A longer run has begun: 2 of its 7 parts are done." in made(done).text


def test_missing_damaged_and_linked_files_are_said(done: Path) -> None:
    folder = done / "tiny"
    (done / "secret").write_bytes(b"\x89PNG\r\n\x1a\nsecret")
    (folder / "picture-comparison.svg").write_bytes(b"no picture")
    (folder / "picture-comparison.png").unlink()
    (folder / "picture-comparison.png").symlink_to(done / "secret")
    (folder / "comparison.csv").unlink()
    (folder / "curve-comparison.csv").unlink()
    (folder / "curve-comparison.csv").symlink_to("/etc/hostname")
    result = wirerank("report", str(done))
    assert result.exit_code == 0, result.output
    assert "comparison.csv cannot be read: No such file" in result.stderr
    report_page = made(done)
    assert "Not in this page: picture-comparison.png is not a regular file" in report_page.text
    assert "not in this page: curve-comparison.csv is not a regular file" in report_page.text
    assert not report_page.values("img", "src")
    assert not report_page.values("a", "download")


def test_without_an_svg_the_png_is_shown(done: Path) -> None:
    (done / "tiny" / "picture-comparison.svg").unlink()
    (picture,) = made(done).values("img", "src")
    assert picture.startswith("data:image/png;base64,iVBOR")


def test_what_is_too_large_for_the_page_stays_outside(done: Path) -> None:
    budget = reading.Budget(100)
    actual = reading.read_folder(done, done / "tiny", budget)
    assert actual is not None
    assert "at most" in actual.pictures[0].file.problem
    assert actual.numbers[1].content  # 17 bytes


def test_results_of_an_earlier_version_are_read(done: Path) -> None:
    change(done / "tiny", run=None, drawings=None, series=None)
    tables = orjson.loads((done / "tiny" / "results.json").read_bytes())["tables"]
    for table in tables.values():
        del table["columns"]
    change(done / "tiny", tables=tables)
    report_page = made(done)
    assert "0.750" in report_page.text
    assert "±0.010" in report_page.text
    assert report_page.values("img", "alt") == ["picture-comparison."]
    assert "n.a." in report_page.text


def test_odd_values_are_shown_as_they_are(done: Path) -> None:
    deep: list[Any] = []
    for _ in range(200):
        deep = [[deep], {}]
    odd = {"settings": {"text": None, "flag": True}, "finished": "yesterday", "seconds": 1e300}
    change(done / "tiny", deep=deep, wide={str(n): n for n in range(3000)}, run=odd)
    report_page = made(done)
    assert "yesterday" in report_page.text
    assert "nested too deep to be shown" in report_page.text
    assert "--flag" in report_page.text


def test_a_broken_record_does_not_hide_results(done: Path) -> None:
    (done / "tiny" / "run.json").write_bytes(b"{")
    assert "Nobody: On Nothing (2001)" in made(done).text
    (done / "tiny" / "results.json").unlink()
    (actual,) = find_experiments(done)
    assert actual.problem.startswith("run.json is not valid JSON")


def test_folders_are_looked_for_in_depth_but_not_through_links(done: Path) -> None:
    shutil.copytree(done / "tiny", done / "a" / "b" / "deep")
    (done / "a" / "loop").symlink_to(done)
    (done / ".hidden").mkdir()
    (done / ".hidden" / "results.json").write_bytes(b"{")
    assert [one.name for one in find_experiments(done)] == ["a/b/deep", "tiny"]
    (alone,) = find_experiments(done / "tiny")
    assert alone.name == "tiny"


@pytest.mark.parametrize("name", ["nothing", "file", "empty"])
def test_a_folder_without_experiments_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    result = wirerank("report", str(tmp_path / name))
    assert result.exit_code == 2
    assert str(tmp_path / name) in result.stderr
    assert not list(tmp_path.rglob("*.html"))


def test_where_the_page_goes(done: Path) -> None:
    out = done / "elsewhere.html"
    assert wirerank("report", str(done), "--out", str(out)).exit_code == 0
    assert out.read_bytes().startswith(b"<!doctype html>")
    shown = wirerank("report", str(done), "--out", "-")
    assert shown.stdout_bytes == out.read_bytes()
    results = done / "tiny" / "results.json"
    refused = wirerank("report", str(done), "--out", str(results))
    assert refused.exit_code == 2
    assert orjson.loads(results.read_bytes())
    assert wirerank("report", str(done), "--out", str(done / "no" / "x.html")).exit_code == 2
