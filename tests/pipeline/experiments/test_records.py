"""What a run records about itself, and which files --anew deletes."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.support.tiny_experiment import Tiny, run_tiny

pytest.importorskip("matplotlib", reason="pip install 'wirerank[experiments]'")


class Renamed(Tiny):
    file = "other"


def read(path: Path) -> dict[str, Any]:
    actual: dict[str, Any] = orjson.loads(path.read_bytes())
    return actual


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


WRITTEN = {
    "comparison.csv",
    "curve-comparison.csv",
    "picture-comparison.png",
    "picture-comparison.svg",
    "results.json",
}
PARTS = {"parts/split-0.json", "parts/split-1.json"}


def test_results_say_when_how_long_and_by_which_version(tmp_path: Path) -> None:
    run_tiny(tmp_path)
    run = read(tmp_path / "results.json")["run"]
    parts = [read(path)["made"] for path in sorted((tmp_path / "parts").iterdir())]
    assert run["wirerank"] == [version("wirerank")]
    assert run["seconds"] == pytest.approx(sum(part["seconds"] for part in parts), abs=2e-3)
    assert run["finished"] == max(part["finished"] for part in parts)
    assert run["settings"] == {"seed": 0, "splits": 2, "quick": False, "unconstrained": False}
    record = read(tmp_path / "run.json")["run"]
    assert record["wirerank"] == version("wirerank")
    assert record["parts"] == 2
    assert set(record["written"]) == WRITTEN


def test_a_run_goes_on_from_parts_of_another_version_and_says_so(tmp_path: Path) -> None:
    run_tiny(tmp_path, splits=1)
    (part,) = (tmp_path / "parts").iterdir()
    kept = read(part)
    kept["made"]["wirerank"] = "0.0.1"
    part.write_bytes(orjson.dumps(kept))
    run_tiny(tmp_path, splits=2)
    assert read(tmp_path / "results.json")["run"]["wirerank"] == ["0.0.1", version("wirerank")]
    del kept["made"]  # of a version that did not say
    part.write_bytes(orjson.dumps(kept))
    run_tiny(tmp_path, splits=2)
    run = read(tmp_path / "results.json")["run"]
    assert (run["wirerank"], run["seconds"], run["finished"]) == (None, None, None)


def test_columns_and_pictures_are_described(tmp_path: Path) -> None:
    run_tiny(tmp_path)
    results = read(tmp_path / "results.json")
    first = results["tables"]["comparison"]["columns"][0]
    assert first == {
        "key": "r1", "title": "R1", "digits": 3, "with_deviation": True, "better": 1,
        "starred_below": None,
    }  # fmt: skip
    (drawing,) = results["drawings"]
    assert drawing["title"] == "A picture"
    assert "tiny data: R1" in drawing["text"]
    assert "a method" in drawing["text"]


def test_anew_removes_what_the_experiment_wrote_and_nothing_else(tmp_path: Path) -> None:
    run_tiny(tmp_path)
    own_files = {"mine.csv", "picture-comparison.png.bak", "parts/notes.json", "parts/split-9.json"}
    for name in own_files:
        (tmp_path / name).write_text('{"part": "something else"}')
    assert names(tmp_path) == WRITTEN | PARTS | {"run.json"} | own_files
    run_tiny(tmp_path, Renamed, seed=1, anew=True)
    renamed = {name.replace("comparison", "other") for name in WRITTEN}
    assert names(tmp_path) == renamed | PARTS | {"run.json"} | own_files


def test_files_of_findings_that_are_no_more_are_removed(tmp_path: Path) -> None:
    run_tiny(tmp_path)
    run_tiny(tmp_path, Renamed)  # the same choices: it goes on, and finds other tables
    assert not names(tmp_path) & (WRITTEN - {"results.json"})


def test_anew_after_a_run_without_a_record_removes_what_results_name(tmp_path: Path) -> None:
    run_tiny(tmp_path)
    record = read(tmp_path / "run.json")
    del record["run"]
    (tmp_path / "run.json").write_bytes(orjson.dumps(record))
    run_tiny(tmp_path, Renamed, anew=True)
    left = names(tmp_path) & WRITTEN - {"results.json"}
    assert left == WRITTEN - {"results.json", "comparison.csv"}  # pictures and curves: not named


@pytest.mark.parametrize("name", ["../outside.csv", "inner/deep.csv", "/outside.csv", "notes.txt"])
def test_a_record_cannot_lead_elsewhere(name: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_tiny(out)
    (out / "inner").mkdir()
    others = [tmp_path / "outside.csv", out / "inner" / "deep.csv", out / "notes.txt"]
    for path in others:
        path.write_text("mine")
    record = read(out / "run.json")
    record["run"]["written"] = [name, 5, None]
    (out / "run.json").write_bytes(orjson.dumps(record))
    run_tiny(out, anew=True)
    assert all(path.read_text() == "mine" for path in others)
