"""The notebooks of the guide run, and what is stored in them is what they give now."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipeline.reports.plots import can_plot
from tests.conftest import REPOSITORY, missing

pytest.importorskip("nbclient", reason="pip install 'wirerank[dev]'")

from tests.support.notebooks import METADATA, nbformat, results, run_notebook

NOTEBOOKS = sorted((REPOSITORY / "docs").rglob("*.ipynb"))
notebooks = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)


def test_there_is_a_notebook() -> None:
    assert REPOSITORY / "docs/guide/first-steps.ipynb" in NOTEBOOKS


@pytest.mark.slow
@notebooks
def test_the_stored_results_are_current(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If they are not: `make notebooks`."""
    pytest.importorskip("sklearn", reason="pip install 'wirerank[sklearn]'")
    if not can_plot():
        missing("matplotlib", "pip install 'wirerank[experiments]'")
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    stored = nbformat.read(path, as_version=4)
    assert list(results(run_notebook(path))) == list(results(stored))


@notebooks
def test_nothing_of_a_machine_is_stored(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    assert notebook.metadata == METADATA
    assert [cell.id for cell in notebook.cells] == [
        f"cell-{number}" for number in range(1, len(notebook.cells) + 1)
    ]
    text = re.sub(r'"image/png": "[^"]*"', "", path.read_text())
    assert not re.search(r"/(home|root|work|tmp|usr)\b|site-packages|\.\./shared", text)
    assert not any("iopub" in line for line in text.splitlines())
