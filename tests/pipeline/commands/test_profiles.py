"""Tests of `wirerank profiles`."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipeline.commands.app import new_app
from pipeline.replay.profile_comparison import compare_profiles, read_documents, with_alternatives
from pipeline.text.profile import INGREDIENTS, PROFILES, parse_profile


def shown(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(new_app(), ["profiles", *arguments])
    assert result.exit_code == code, result.output
    return result.output


def test_profiles_and_ingredients_are_listed() -> None:
    lines = shown().splitlines()
    for name in PROFILES:
        assert any(line.startswith(name) for line in lines)
    for option in INGREDIENTS:
        assert any(line.startswith(f"  {option.name}={option.default} ") for line in lines)


def test_profiles_are_compared_in_a_table() -> None:
    output = shown("synthetic:60", "--profile", "reuters2000:stem=en", "--profile", "reuters21578")
    title, _, header, _, first, second, *_ = output.splitlines()
    assert title == "synthetic:60: 60 events, lane soft-arow"
    assert header.split("|")[1].strip() == "profile"
    assert first.startswith("| `reuters2000:stem=english` | 0.")
    assert second.startswith("| `reuters21578`")


def test_an_ordinal_lane_is_refused() -> None:
    """It had no measure that the table shows, so there was a traceback behind the header."""
    output = shown("synthetic:60", "--profile", "news", "--lane", "prank:ranks=5", code=2)
    assert "prank:ranks=5 learns ranks. Use another lane" in " ".join(output.split())


def test_results_are_those_of_a_replay_in_any_order() -> None:
    documents = read_documents("synthetic:80", limit=60)
    assert len(documents.events) == 60
    profiles = ["reuters2000", "reuters2000:norm=l2", "reuters21578"]
    results = [
        [
            (one.profile, one.average_precision, one.terms)
            for one in compare_profiles(documents, some)
        ]
        for some in (profiles, profiles[::-1])
    ]
    assert results[0] == results[1][::-1]


def test_files_with_other_keys_are_compared(tmp_path: Path) -> None:
    path = tmp_path / "articles.jsonl"
    path.write_text('{"nr": 1, "body": "wheat", "tags": ["grain"]}\n' * 3)
    options = ["--profile", "news", "--profile", "reuters2000"]
    assert "3 events cannot be used; the first one: `id` is missing" in shown(
        str(path), *options, code=2
    )
    fields = ["--fields", "id=nr", "--fields", "text=body", "--fields", "topics=tags"]
    assert "3 events, lane soft-arow" in shown(str(path), *options, *fields)


def test_one_ingredient_is_changed_at_a_time() -> None:
    base = parse_profile("news:stem=german")
    for name in with_alternatives("news:stem=german")[1 + len(PROFILES) :]:
        other = parse_profile(name)
        changed = [o.name for o in INGREDIENTS if getattr(base, o.name) != getattr(other, o.name)]
        assert len(changed) == 1
        assert other.stem == "german"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.jsonl"], "none.jsonl"),
        (["synthetic:9", "--profile", "nws"], "Did you mean news?"),
        (["synthetic:9", "--lane", "nope"], "There is no learner 'nope'"),
        (["plain.jsonl"], "has no documents with topics"),
    ],
)
def test_mistakes(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plain.jsonl").write_text('{"id": 1, "text": "x"}\nno json\n')
    assert message in shown(*arguments, code=2)
