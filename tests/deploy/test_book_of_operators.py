"""The commands of the pages on monitoring, on security and of the runbook do what they say."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
import subprocess
import textwrap
from pathlib import Path

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, OffsetAndMetadata, TopicPartition

from consumers.cli import new_app
from consumers.kafka_names import lane_consumer_group, tokenizer_consumer_group
from deploy.kafka.tools import write_tools
from pipeline.access import checked_token
from pipeline.corpora import open_source
from pipeline.metrics.scrape_target import ScrapeTarget, target_address
from tests.conftest import REPOSITORY, missing
from tests.support.command_line import wirerank
from tests.support.kafka_fixture import need_kafka
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
    (command,) = indented("monitor.md", "find ")
    address = target_address("127.0.0.1", 9610)
    kept, ended = (
        ScrapeTarget(tmp_path, "wirerank-learner", f"learner of stream {name}", name, address)
        for name in ("kept", "ended")
    )
    path = ended.path
    content = path.read_text()
    ended.withdraw()
    path.write_text(content)  # as if the worker had been killed: the file is there, not its lock
    command = command.replace("/var/lib/wirerank/targets", str(tmp_path))
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [f"ended: {path}"], done.stderr
    kept.withdraw()
    path.unlink()
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stdout == ""
    assert [*tmp_path.iterdir()] == []  # flock creates a file that does not exist


def test_a_token_is_made_as_the_page_says(tmp_path: Path) -> None:
    text = (BOOK / "secure.md").read_text()
    (command,) = re.findall(r"`(\(umask .*? > metrics\.token\))`", text)
    subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True)
    file = tmp_path / "metrics.token"
    assert checked_token(file.read_bytes(), "metrics.token")
    assert not file.stat().st_mode & stat.S_IROTH  # workers would warn


def test_prometheus_accepts_the_configuration_of_the_page(tmp_path: Path) -> None:
    """With the rules where the page copies them to, and a target that a worker has written."""
    promtool = shutil.which("promtool")
    if promtool is None:
        missing("promtool", "apt install prometheus")
    text = (BOOK / "monitor.md").read_text()
    (example,) = re.findall(r"    # prometheus.yml\n((?:    .*\n)+)", text)
    (copied,) = indented("monitor.md", "sudo cp")
    targets, rules = tmp_path / "targets", tmp_path / "wirerank"
    rules.mkdir()
    address = target_address("127.0.0.1", 9610)
    ScrapeTarget(targets, "wirerank-learner", "learner of stream news", "news", address)
    folders = {"/var/lib/wirerank/targets": targets, "/etc/prometheus/wirerank": rules}
    for named, own in folders.items():
        example, copied = (part.replace(named, str(own)) for part in (example, copied))
    copied = copied.removeprefix("sudo ")
    subprocess.run(["bash", "-c", copied], cwd=REPOSITORY, check=True)
    path = tmp_path / "prometheus.yml"
    path.write_text(textwrap.dedent(example))
    done = subprocess.run(
        [str(promtool), "check", "config", str(path)], capture_output=True, text=True, check=False
    )
    shown = done.stdout + done.stderr
    assert done.returncode == 0, shown
    assert "2 rule files found" in shown
    assert "WARNING" not in shown


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


def test_the_groups_of_a_stream_are_deleted(broker: str, tmp_path: Path) -> None:
    """As the page on recovery says, with Kafka's own tools."""
    need_kafka()
    streaming = Streaming(broker, tmp_path, ["mmp:loss=1"])
    streaming.produce(open_source("synthetic:3,topics=3"))
    names = {tokenizer_consumer_group(streaming.name), lane_consumer_group(streaming.name, "mmp")}
    other = tokenizer_consumer_group(f"{streaming.name}2")
    for name in (*names, other):
        consumer = KafkaConsumer(bootstrap_servers=broker, group_id=name)
        consumer.commit({TopicPartition(streaming.documents, 0): OffsetAndMetadata(1, "", -1)})
        consumer.close()
    text = (BOOK / "recover.md").read_text()
    (commands,) = re.findall(r"((?:^    .*\n)+)", text[text.index("show and delete") :], re.M)[:1]
    commands = commands.replace("BROKER", broker).replace("newswire", streaming.name)
    write_tools(tmp_path / "bin")
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-e", "-c", commands],
        env=environment, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert set((tmp_path / "groups").read_text().split()) == names
    admin = KafkaAdminClient(bootstrap_servers=broker)
    left = {group["group_id"] for group in admin.list_groups()}
    admin.delete_groups([other])
    admin.close()
    assert other in left
    assert not names & left


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
