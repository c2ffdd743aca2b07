"""Whole transcripts of replays, compared line by line with those under tests/golden.

A changed number is a changed result: look at the difference, and if it is meant, write the
transcripts again with `WIRERANK_GOLDEN=write make test`. Rates are left out, as they vary.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.support.command_line import wirerank

GOLDEN = Path(__file__).parent / "golden"

TRANSCRIPTS = {
    "default": "replay synthetic:2000",
    "seeded": "replay synthetic:600,seed=7,topics=20 --lane mmp:loss=1 --lane frequency",
    "drift": "replay synthetic:1500,drift=30 --lane mmp:loss=3 --block 1",
    "options": "replay synthetic:1000 --lane mmp:loss=1,margin=0.5,norm=l2,name=margin"
    " --lane mmp:loss=2,average=true --lane perceptron:average=true --lane rocchio:refresh=100",
    "ceilings": "replay synthetic:800 --lane mmp:loss=1 --max-terms 2000 --min-df 2",
    "profile": "replay synthetic:500 --profile reuters21578 --lane perceptron --limit 400",
    "lanes": "lanes",
    "corpora": "corpora",
}


def without_rates(text: str) -> str:
    """A transcript with its documents per second, and notices of compilation, taken out."""
    text = re.sub(r"documents/s [\d,]+", "documents/s RATE", text)
    text = re.sub(r"^( *[\d.]+ +[\d.]+ .{39}) *[\d,]+  ", r"\1    RATE  ", text, flags=re.M)
    return re.sub(r"^compil.*\n", "", text, flags=re.M)


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_transcript(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = wirerank(*TRANSCRIPTS[name].split())
    assert result.exit_code == 0, result.stderr
    actual = without_rates(
        f"$ wirerank {TRANSCRIPTS[name]}\n--- stderr\n{result.stderr}--- stdout\n{result.stdout}"
    )
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("WIRERANK_GOLDEN") == "write":
        path.write_text(actual)
    assert actual == path.read_text()


def test_no_transcript_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(TRANSCRIPTS)
