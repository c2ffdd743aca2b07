"""The documents are right: their commands run, and the options, links and paths they name exist."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from consumers.cli import new_app
from consumers.registry_settings import RegistrySettings
from consumers.settings import (
    AuditSettings,
    Config,
    KafkaSettings,
    MetricsSettings,
    SnapshotSettings,
)
from consumers.stream_settings import LaneSettings, StreamSettings
from learners.specs import LEARNERS
from pipeline.events.event import REASONS
from pipeline.reports.plots import can_plot
from tests.conftest import REPOSITORY, missing
from tests.fuzz.targets import TARGETS
from tests.support.made_up_runs import Shape, write_runs
from tests.support.prometheus_server import program as need_program

DOCUMENTS = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
EVERY_PAGE = [*DOCUMENTS, REPOSITORY / "CHANGELOG.md", REPOSITORY / "deploy/kafka/README.md"]
FOLDERS = ("consumers", "deploy", "docs", "learners", "pipeline", "tests")
README_LINES, LINE_LENGTH = 150, 100
MODEL = "news.model"  # commands that need it run after one that saves it


def shown_commands() -> list[str]:
    """Lines that start with `$ ` in console blocks; a backslash continues a line."""
    commands = []
    for path in DOCUMENTS:
        for block in re.findall(r"```console\n(.*?)```", path.read_text(), re.S):
            lines = block.replace("\\\n", "").splitlines()
            commands += [line[2:] for line in lines if line.startswith("$ ")]
    return commands


COMMANDS = [c for c in dict.fromkeys(shown_commands()) if not c.startswith("make ")]


def test_commands_were_found() -> None:
    assert len(COMMANDS) > 5
    assert {"make demo", "make test"} <= set(shown_commands())


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_shown_command(command: str, tmp_path: Path) -> None:
    draws = "--plot" in command or (" experiment " in command and "--list" not in command)
    if draws and not can_plot():
        missing("matplotlib", "pip install 'wirerank[experiments]'")
    if "promtool" in command:
        need_program("promtool")
    shutil.copytree(REPOSITORY / "docs", tmp_path / "docs")
    script = tmp_path / "bin" / "wirerank"
    script.parent.mkdir()
    program = f"{shlex.quote(sys.executable)} -m consumers"
    script.write_text(f'#!/bin/sh\nexec {program} "$@"\n')
    script.chmod(0o755)
    path = f"{script.parent}{os.pathsep}{os.environ['PATH']}"
    if any(f"{use} {MODEL}" in command for use in ("--resume", "rank", "inspect", "weights")):
        first = f"wirerank replay docs/samples/example.jsonl --save {MODEL}"
        command = f"{first} --rankings rankings.jsonl && {command}"
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    for name in re.findall(r"--(?:rankings|curves|report|plot|openmetrics) (\S+\.\w+)", command):
        assert (tmp_path / name).stat().st_size > 0


def test_options_that_the_documents_name_exist() -> None:
    commands = (
        "",
        "replay",
        "rank",
        "profiles",
        "serve",
        "curves export",
        "experiment",
        "report",
        "tokenize",
        "learn",
        "run",
        "config",
        "check",
        "init",
        "acls",
        "trim",
        "inspect",
        "diff",
        "export weights",
        "bench",
        "plan",
        "backup",
        "restore",
        *(f"dead-letters {name}" for name in ("count", "list", "show", "send-back")),
    )
    shown = "".join(
        CliRunner(env={"COLUMNS": "200"}).invoke(new_app(), [*command.split(), "--help"]).stdout
        for command in commands
    )
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", "".join(p.read_text() for p in DOCUMENTS)))
    others = {"--multilabel_oaa", "--multilabel", "--plt"}  # Vowpal Wabbit's
    others |= {
        "--require-hashes",
        "--replay",
        "--only",
        "--write",
        "--mixed",
        "--shuffles",
        "--unlabelled",
    }  # pip, benchmarks
    others |= {"--config", "--storage", "--query", "--web", "--max-block-duration"}  # Prometheus's
    others |= {
        "--from-file",
        "--set",
        "--set-file",
        "--for",
        "--timeout",
    }  # Helm's
    # Of podman, docker, systemd and the installation script.
    others |= {"--rm", "--read-only", "--tmpfs", "--cap-drop", "--network", "--volume", "--user"}
    others |= {"--stop-timeout", "--build-arg", "--secret", "--ulimit", "--no-healthcheck"}
    others |= {"--detach", "--follow", "--scale", "--volumes", "--now", "--unit", "--priority"}
    others |= {"--wheel", "--uninstall", "--purge"}
    # Of pip, of Kafka's tools, and of Debian's programs.
    others |= {"--requirement", "--no-deps", "--no-build-isolation"}
    others |= {"--bootstrap-server", "--list", "--describe", "--delete", "--group"}
    others |= {"--append", "--groups", "--parents", "--fail"}
    unknown = {option for option in named - others if option not in shown}
    assert not unknown


def test_make_targets_that_the_documents_name_exist() -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    text = "\n".join(page.read_text() for page in EVERY_PAGE)
    named = set(re.findall(r"(?:`|^\$ |^    )make ([a-z-]+)", text, re.M))
    assert {"demo", "test", "kafka"} <= named
    assert not [target for target in named if f"\n{target}:" not in makefile]


@pytest.mark.slow
def test_the_demo_is_what_the_readme_says(tmp_path: Path) -> None:
    """The demo's own command, as the Makefile has it, in a folder of its own."""
    makefile = (REPOSITORY / "Makefile").read_text()
    (command,) = re.findall(r"\$\(BIN\)/wirerank (replay .*)", makefile)
    if not can_plot():
        missing("matplotlib", "pip install 'wirerank[experiments]'")
    result = CliRunner().invoke(new_app(), shlex.split(command.replace("demo/", f"{tmp_path}/")))
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert "mmp:loss=1 20,000 " in result.stdout


def without_fences(text: str) -> str:
    """A page without its fenced blocks, which may hold anything."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)


def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", without_fences(page.read_text()), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", without_fences(page.read_text())):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_paths_of_the_repository_exist(page: Path) -> None:
    paths = re.findall(rf"(?<![\w./-])(?:{'|'.join(FOLDERS)})/[\w./-]*\w/?", page.read_text())
    assert not [path for path in paths if not (REPOSITORY / path).exists()]


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_lines_are_short(page: Path) -> None:
    """Tables and code may be longer."""
    lines = without_fences(page.read_text()).splitlines()
    assert not [x for x in lines if len(x) > LINE_LENGTH and not x.startswith(("|", "    "))]


def test_the_readme_is_short() -> None:
    assert len((REPOSITORY / "README.md").read_text().splitlines()) <= README_LINES


def test_the_index_names_every_page() -> None:
    docs = REPOSITORY / "docs"
    for index in (docs, docs / "measurements", docs / "decisions", docs / "guide" / "operate"):
        named = set(re.findall(r"\]\(([\w./-]+\.md)", (index / "README.md").read_text()))
        folders = ("guide", "reference", "concepts") if index == docs else (".",)
        pages = {p for folder in folders for p in (index / folder).glob("*.md")}
        missing_pages = {p for p in pages if str(p.relative_to(index)) not in named}
        assert missing_pages <= {index / "README.md"}


def test_the_map_of_the_code_is_right() -> None:
    """Each name that the table "Where is what" gives is defined in a file of its row."""
    text = (REPOSITORY / "docs/concepts/architecture.md").read_text()
    rows = re.findall(r"^\| [^|]+\? \| ([^|]+) \| ?([^|]*?) ?\|$", text, re.M)
    assert len(rows) > 25
    for files, names in rows:
        paths = [REPOSITORY / path for path in re.findall(r"`([\w/]+\.py)`", files)]
        code = "".join(path.read_text() for path in paths)
        for name in re.findall(r"`(\w+)`", names):
            assert re.search(rf"^(?:class|def|    def) {name}\b", code, re.M), (files, name)


def test_the_tests_that_the_threat_model_names_exist() -> None:
    text = (REPOSITORY / "docs/concepts/threat-model.md").read_text()
    tests = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
    assert len(tests) > 30
    for path, name in tests:
        code = (REPOSITORY / path).read_text()
        assert re.search(rf"^def {name}\(", code, re.M), (path, name)
    targets = {
        name
        for names in re.findall(r"targets? ((?:`[\w-]+`(?:, )?)+)", text)
        for name in re.findall(r"`([\w-]+)`", names)
    }
    assert len(targets) > 20
    assert targets <= set(TARGETS)


def test_the_glossary_has_its_words() -> None:
    text = (REPOSITORY / "docs/concepts/glossary.md").read_text()
    words = re.findall(r"^\| ([a-z -]+?) \|", text, re.M)
    assert words[0] == "word"
    assert words[1:] == sorted(words[1:])
    wanted = {
        "event", "document", "topic", "round", "block", "log", "lane", "lane group", "segment",
        "stretch", "shard", "ranking", "learning curve", "snapshot", "dead letter", "late label",
    }  # fmt: skip
    assert wanted <= set(words)


def table_row(text: str, name: str) -> str:
    """The second column of the row that begins with a name."""
    match = re.search(rf"^\| [^|]*`{name}(?:=[^`]*)?`[^|]*\| ([^|]+?) \|", text, re.M)
    assert match, f"no row for {name}"
    return match[1]


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_reference_has_every_option_of_a_learner(learner: str) -> None:
    pages = ("reference/learners.md", "guide/stacking.md")
    text = "".join((REPOSITORY / "docs" / page).read_text() for page in pages)
    assert f"`{learner}`" in text
    section = re.search(rf"^## `{learner}`\n(.*?)(?=^## )", text, re.M | re.S)
    text = section[1] if section and learner != "svm-map" else text
    for option in LEARNERS[learner].options:
        shown = table_row(text, option.name)
        default = str(option.default).removesuffix(".0").lower()
        assert default in ("", shown), option.name


def test_the_reference_has_every_setting() -> None:
    text = (REPOSITORY / "docs/reference/configuration.md").read_text()
    sections = (
        KafkaSettings, RegistrySettings, SnapshotSettings, MetricsSettings, AuditSettings,
        StreamSettings, LaneSettings,
    )  # fmt: skip
    for section in sections:
        for name, field in section.model_fields.items():
            if name == "lanes":
                continue
            shown = table_row(text, name).strip("`")
            if isinstance(field.default, int | float):
                assert shown == str(field.default).removesuffix(".0").lower(), name
    assert set(Config.model_fields) == {
        "kafka", "registry", "snapshots", "metrics", "page", "audit", "streams",
    }  # fmt: skip


def test_the_reference_has_every_command() -> None:
    text = (REPOSITORY / "docs/reference/command-line.md").read_text()
    app = new_app()
    names = [command.name for command in app.registered_commands]
    names += [group.name for group in app.registered_groups]
    assert len(names) > 10
    assert not [name for name in names if f"`wirerank {name}" not in text]


def test_the_reference_has_every_reason_for_a_dead_letter() -> None:
    text = (REPOSITORY / "docs/reference/events.md").read_text()
    for reason in REASONS:
        assert table_row(text, reason)


@pytest.mark.slow
def test_the_python_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On made-up runs, which are there under the names that the example uses."""
    text = (REPOSITORY / "docs/guide/query-document-ranking.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", text, re.S)
    write_runs(tmp_path, 3, Shape(systems=3, topics=20, depth=20, documents=100, relevant=(4, 9)))
    (tmp_path / "qrels").rename(tmp_path / "qrels.txt")
    shutil.copytree(tmp_path / "runs", tmp_path / "new-runs")
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "example", "exec"), {})  # noqa: S102 - our own page
    assert (tmp_path / "ranker").stat().st_size > 0


def test_the_scripts_on_comparing_lanes_print_what_the_page_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = (REPOSITORY / "docs/measurements/comparing-lanes.md").read_text()
    for script in re.findall(r"```python\n(.*?)```", text, re.S):
        exec(compile(script, "script", "exec"), {})  # noqa: S102 - our own page
    *certain, equal, wrong = capsys.readouterr().out.splitlines()
    table = re.findall(r"^\| (\d+) \| ([\d,]+) \|$", text, re.M)
    assert [line.split()[0] for line in certain] == [points for points, _ in table]
    for line, (_, rounds) in zip(certain, table, strict=True):
        assert int(line.split()[1]) == pytest.approx(int(rounds.replace(",", "")), rel=0.02)
    assert float(equal.strip("[]")) == pytest.approx(2.0, abs=0.05)
    assert float(wrong) == pytest.approx(0.39, abs=0.01)


def test_the_example_of_sizes_is_right() -> None:
    """It computes with numbers of the tables, which come from measurements."""
    page = REPOSITORY / "docs/guide/operate/size.md"
    failures, tried = doctest.testfile(str(page), False)
    assert (failures, tried > 5) == (0, True)
    measured = (REPOSITORY / "docs/measurements/storage.md").read_text()
    for number in ("821", "1,555", "892", "445", "242"):
        assert f"| {number} |" in measured
        assert number in page.read_text()


@pytest.mark.slow
def test_the_examples_of_learners_are_right() -> None:
    page = REPOSITORY / "docs/guide/use-from-python.md"
    failures, tried = doctest.testfile(str(page), False, optionflags=doctest.ELLIPSIS)
    assert tried > 5
    assert failures == 0


def test_panels_that_the_guide_names_exist() -> None:
    """Panels of the dashboards, and the dashboards themselves."""
    text = (REPOSITORY / "docs/guide/operate/runbook.md").read_text()
    named = {
        " ".join(title.split()) for title in re.findall(r"(?<!\*)\*([A-Z][^*]+)\*(?!\*)", text)
    }
    titles = set[str]()
    for path in (REPOSITORY / "deploy/grafana/provisioning/dashboards/wirerank").glob("*.json"):
        titles |= {
            title.removeprefix("Wirerank: ").capitalize() if "Wirerank: " in title else title
            for title in re.findall(r'"title": "([^"]*)"', path.read_text())
        }
    assert len(named) > 3
    assert named <= titles
