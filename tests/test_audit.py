"""The audit of dependencies: what is installed here passes, and what is wrong is noticed."""

from __future__ import annotations

import pytest

from tests import audit
from tests.audit import Locked, lock_problems, offline_problems, read_lock, vulnerabilities

HASH = "--hash=sha256:" + "0" * 64
MARKED = f"colorama==0.4.6 ; sys_platform == 'win32' \\\n    {HASH}\n"
GOOD = f"numpy==2.4.6 \\\n    {HASH} \\\n    {HASH}\n{MARKED}"


def test_the_dependencies_here_have_no_problem() -> None:
    assert offline_problems() == []


def test_a_lock_is_read() -> None:
    assert read_lock(GOOD) == [Locked("numpy", "2.4.6", 2), Locked("colorama", "0.4.6", 1)]


@pytest.mark.parametrize(
    "text",
    ["numpy>=2 \\\n    " + HASH, "numpy==2 @ https://x", "-e .", f"numpy==2 \\\n    {HASH[:-1]}"],
)
def test_a_lock_holds_nothing_but_pinned_packages(text: str) -> None:
    with pytest.raises(ValueError, match="expected name==version and its hashes"):
        read_lock(text)


def test_missing_hashes_and_different_versions_are_noticed() -> None:
    locks = {"dev": [Locked("a", "1", 0)], "bench": [Locked("a", "2", 1)]}
    assert list(lock_problems(locks)) == [
        "dev: a has no hash; run `make lock`",
        "bench: a is 2, in another lock 1",
    ]


def test_vulnerabilities_and_silence_are_told_apart() -> None:
    answer = b"""{"dependencies": [
      {"name": "a", "version": "1", "vulns": [{"id": "X-1", "fix_versions": ["2"]}]},
      {"name": "b", "skip_reason": "not found"}, {"name": "c", "version": "1", "vulns": []}]}"""
    assert vulnerabilities(answer) == (["a 1: X-1, fixed in 2"], ["b"])


@pytest.mark.parametrize(
    ("problems", "answer", "code"),
    [
        ([], ([], ""), 0),
        (["one"], ([], ""), audit.PROBLEM),
        ([], (["a vulnerability"], "silence"), audit.PROBLEM),
        ([], ([], "silence"), audit.NOT_ASKED),
    ],
)
def test_the_exit_code_tells_a_problem_from_silence(
    problems: list[str],
    answer: tuple[list[str], str],
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(audit, "offline_problems", lambda: problems)
    monkeypatch.setattr(audit, "ask_service", lambda: answer)
    assert audit.main() == code
    assert ("NOT checked" in capsys.readouterr().out) == bool(answer[1])
