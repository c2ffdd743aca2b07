"""The commands of the pages on monitoring, on security and of the runbook do what they say."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from consumers.cli import new_app
from consumers.scrape_target import ScrapeTarget, target_address
from pipeline.access import checked_token
from pipeline.corpora import open_source
from tests.conftest import REPOSITORY, missing
from tests.support.command_line import wirerank
from tests.support.kafka_stream import Streaming

BOOK = REPOSITORY / "docs" / "guide" / "operate"
EXAMPLE = (REPOSITORY / "consumers" / "example.toml").read_text()


def indented(page: str, beginning: str) -> list[str]:
    """The lines of a page's examples that begin so, without comments."""
    lines = re.findall(rf"^    ({re.escape(beginning)}.*)$", (BOOK / page).read_text(), re.M)
    assert lines, f"{page} has no {beginning}"
    return [re.sub(r"\s+#.*", "", line) for line in lines]


def test_ended_workers_are_found_by_their_files(tmp_path: Path) -> None:
    if shutil.which("flock") is None:
        missing("flock", "install the package util-linux")
    (loop,) = indented("monitor.md", "for file in")
    address = target_address("127.0.0.1", 9610)
    kept, ended = (
        ScrapeTarget(tmp_path, "wirerank-learner", f"learner of stream {name}", name, address)
        for name in ("kept", "ended")
    )
    path = ended.path
    content = path.read_text()
    ended.withdraw()
    path.write_text(content)  # as if the worker had been killed: the file is there, not its lock
    loop = loop.replace("/var/lib/wirerank/targets", str(tmp_path))
    done = subprocess.run(["bash", "-c", loop], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [f"ended: {path}"], done.stderr
    kept.withdraw()


def test_a_token_is_made_as_the_page_says(tmp_path: Path) -> None:
    text = (BOOK / "secure.md").read_text()
    (command,) = re.findall(r"`(head -c 32 .*? > metrics\.token)`", text)
    subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True)
    assert checked_token((tmp_path / "metrics.token").read_bytes(), "metrics.token")


def test_rights_are_printed_as_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wirerank.toml").write_text(EXAMPLE)
    for line in indented("secure.md", "wirerank acls"):
        command = shlex.split(line.partition(" > ")[0])
        done = wirerank(*command[1:], app=new_app())
        assert done.exit_code == 0, done.output
        for option in command[3:]:
            assert option.removeprefix("learner=") in done.stdout or option == "--principal"


def test_a_first_look(broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of the runbook; the last one needs snapshots, and has tests of its own."""
    lines = [line for line in indented("runbook.md", "wirerank ") if "SNAPSHOTS" not in line]
    assert len(lines) == 2
    streaming = Streaming(broker, tmp_path, ["mmp:loss=1"])
    streaming.produce(open_source("synthetic:5,topics=3"))
    monkeypatch.chdir(tmp_path)
    for line in lines:
        done = wirerank(*shlex.split(line)[1:], app=new_app())
        assert done.exit_code == 0, done.output
        assert streaming.name in done.output or "5 documents" in done.output
