"""The commands of docs/guide/operate/back-up.md and recover.md, run as they are printed there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from consumers.cli import new_app
from consumers.config import read_config
from tests.conftest import REPOSITORY
from tests.support.disaster import lose_groups, lose_snapshots, lose_topics
from tests.support.kafka_stream import SMALL, Streaming
from tests.support.late_label_stream import late_label_events

pytestmark = pytest.mark.slow

GUIDE = REPOSITORY / "docs/guide/operate"
LANES = ("mmp:loss=1", "prank:ranks=4")


def commands(page: str) -> list[str]:
    """The commands of a page, in order."""
    blocks = re.findall(r"```shell\n(.*?)```", (GUIDE / page).read_text(), re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


class Reader:
    """Runs the commands of a page, one after another."""

    def __init__(self, page: str) -> None:
        self._commands: Iterator[str] = iter(commands(page))

    def run(self, expected: str) -> str:
        """Run the next command, which must be the expected one; returns what it prints."""
        command = next(self._commands)
        assert command == expected
        command, _, target = command.partition(" > ")
        done = CliRunner().invoke(new_app(), shlex.split(command)[1:])
        assert done.exit_code == 0, done.output
        if target:
            Path(target).write_text(done.stdout)
        return done.stdout

    def skip(self, expected: str) -> None:
        """The next command is one that the test does in another way."""
        assert next(self._commands) == expected

    def finish(self) -> None:
        assert [*self._commands] == []


def work(streaming: Streaming) -> None:
    for name in ("tokenize-0", "learn"):
        streaming.start(name)
    streaming.wait_learned()
    for name in ("tokenize-0", "learn"):
        assert streaming.end(name) == 0, streaming.log(name)


def test_the_commands_of_the_pages(
    broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    events = late_label_events(100)
    with Streaming(broker, tmp_path, LANES) as streaming:
        streaming.produce(events)
        work(streaming)
        Path("documents.jsonl").write_bytes(b'{"id": 1, "text": "wheat"}\n')
        page = Reader("back-up.md")
        page.run("wirerank backup wirerank.toml news.backup")
        # Run in tests/consumers/backup/test_late_lanes.py.
        page.skip("wirerank backup wirerank.toml old.backup --without late")
        page.skip("wirerank backup wirerank.toml late.backup --without mmp:loss=1")
        assert "backup of" in page.run("wirerank inspect news.backup")
        assert "[[streams]]" in page.run("wirerank restore news.backup --print-config")
        ranked = page.run("wirerank rank news.backup documents.jsonl --lane mmp:loss=1")
        assert '"ranking"' in ranked
        page.finish()

        page = Reader("recover.md")
        lose_snapshots(streaming)
        page.run("wirerank restore news.backup wirerank.toml --dry-run")
        page.run("wirerank restore news.backup wirerank.toml")
        lose_snapshots(streaming)
        lose_topics(streaming, streaming.stream.blocks)
        streaming.settings = f'{SMALL}\ninitial = "{tmp_path}/news.backup"'
        streaming.configure(LANES)
        page.run("wirerank restore news.backup wirerank.toml --rank-again")
        lose_topics(streaming, *streaming.stream.written_topics)
        lose_groups(streaming)
        streaming.path.unlink()
        page.run("wirerank inspect news.backup")
        page.run("wirerank restore news.backup --print-config > wirerank.toml")
        page.run("wirerank restore news.backup wirerank.toml")
        page.skip("wirerank run wirerank.toml")
        page.finish()
        streaming.config = read_config(streaming.path, {})
        streaming.stream = streaming.config.streams[0]
        streaming.produce(late_label_events(20))
        work(streaming)
