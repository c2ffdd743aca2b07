"""The stack of deploy/compose.yaml: its files, commands and ports fit together.

No test runs the file itself: no registry of images can be reached where the tests run. The image of
Wirerank runs in test_image.py, with the commands of this file.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from consumers.cli import new_app
from consumers.config import read_config
from deploy.grafana.files import FOLDER as DASHBOARDS
from deploy.grafana.files import files
from tests.conftest import REPOSITORY
from tests.deploy.test_prometheus import promtool

FILE = REPOSITORY / "deploy/compose.yaml"
STACK: Any = yaml.safe_load(FILE.read_text())
SERVICES: dict[str, Any] = STACK["services"]
OURS = ["learner", "player", "serve", "tokenizer"]
CONFIG = read_config(REPOSITORY / "deploy/compose/wirerank.toml", {})
SCRAPES: Any = yaml.safe_load((REPOSITORY / "deploy/compose/prometheus.yml").read_text())


def mounts(name: str) -> dict[str, Path | str]:
    """What a service mounts: a path of the repository, or the name of a volume, by its target."""
    found: dict[str, Path | str] = {}
    for text in SERVICES[name].get("volumes", []):
        source, target, *_ = text.split(":")
        found[target] = (FILE.parent / source).resolve() if source.startswith(".") else source
    return found


def test_the_stack_is_whole() -> None:
    assert set(SERVICES) == {*OURS, "kafka", "prometheus", "grafana"}


@pytest.mark.parametrize("name", SERVICES)
def test_what_is_mounted_exists(name: str) -> None:
    for target, source in mounts(name).items():
        if isinstance(source, Path):
            assert source.exists(), target
            (line,) = [x for x in SERVICES[name]["volumes"] if f":{target}" in x]
            assert line.endswith(":ro"), "a file of the repository is never written"
        else:
            assert source in STACK["volumes"]


@pytest.mark.parametrize("name", OURS)
def test_our_commands_can_be_parsed(name: str) -> None:
    command = SERVICES[name]["command"]
    group = get_command(new_app())
    found = group.get_command(group.make_context("wirerank", ["lanes"]), command[0])  # type: ignore[attr-defined]
    assert found.make_context(command[0], command[1:]).params


@pytest.mark.parametrize("name", SERVICES)
def test_images_are_pinned(name: str) -> None:
    image = SERVICES[name]["image"]
    if name in OURS:
        assert image == "${WIRERANK_IMAGE:-localhost/wirerank:latest}"
        assert "IMAGE ?= localhost/wirerank:latest" in (REPOSITORY / "Makefile").read_text()
    else:
        assert re.fullmatch(r"[\w/]+:v?\d+\.\d+\.\d+", image)
        smaller = "kafka" if name == "kafka" else "grafana"
        assert f"image: {image}" in (REPOSITORY / f"deploy/{smaller}/compose.yaml").read_text()


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_can_do_little(name: str) -> None:
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service.get("read_only", False) == (name != "kafka")
    assert not service.get("privileged")
    assert not service.get("network_mode")


def test_ports_are_published_to_this_machine_only() -> None:
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert len(published) == 4
    assert all(re.fullmatch(r"127\.0\.0\.1:(\d+):\1", port) for port in published)
    assert not any(SERVICES[name].get("ports") for name in ("learner", "tokenizer", "player"))


def test_what_is_waited_for_has_a_health_check() -> None:
    """The image has one; that of the player, which ends, is off."""
    assert SERVICES["player"]["healthcheck"] == {"disable": True}
    for service in SERVICES.values():
        for name, wanted in service.get("depends_on", {}).items():
            assert wanted == {"condition": "service_healthy"}
            assert (
                name in {"learner", "tokenizer", "serve"} or "test" in SERVICES[name]["healthcheck"]
            )


def test_prometheus_asks_the_ports_of_the_workers() -> None:
    (stream,) = CONFIG.streams
    asked = {
        job["job_name"]: (*job["dns_sd_configs"][0]["names"], job["dns_sd_configs"][0]["port"])
        for job in SCRAPES["scrape_configs"]
    }
    expected = {
        f"wirerank-{role}": (role, CONFIG.metrics.port_of(0, role, "0"))
        for role in ("learner", "tokenizer")
    }
    assert asked == expected
    assert stream.name == "newswire"
    for role, port in expected.values():
        url = SERVICES[role]["environment"]["WIRERANK_HEALTH_URL"]
        assert url == f"http://127.0.0.1:{port}/healthz"
    small = yaml.safe_load((REPOSITORY / "deploy/prometheus/prometheus.yml").read_text())
    assert SCRAPES["rule_files"] == small["rule_files"]
    assert SCRAPES["global"] == small["global"]


def test_prometheus_accepts_its_configuration(tmp_path: Path) -> None:
    """With the rules where the container has them."""
    for target, source in mounts("prometheus").items():
        if isinstance(source, Path):
            (tmp_path / Path(target).name).symlink_to(source)
    output = promtool("check", "config", "--lint-fatal", str(tmp_path / "prometheus.yml"))
    assert "2 rule files found" in output


def test_workers_server_and_player_agree() -> None:
    (stream,) = CONFIG.streams
    assert CONFIG.kafka.bootstrap == "kafka:9092"
    player = shlex.join(SERVICES["player"]["command"])
    assert f"--kafka {CONFIG.kafka.bootstrap} --topic {stream.documents[0]} " in player
    assert (
        "PLAINTEXT://kafka:9092" in SERVICES["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"]
    )
    folder = CONFIG.snapshots.folder
    assert SERVICES["serve"]["command"][1] == f"{folder}/{stream.name}"
    for name in ("learner", "serve"):
        assert mounts(name)[str(folder.parent)] == "state"
    for name in ("learner", "tokenizer"):
        assert SERVICES[name]["command"][1] in mounts(name)


def test_the_token_of_the_server_is_long_enough() -> None:
    text = SERVICES["serve"]["environment"]["WIRERANK_SERVE_TOKEN"]
    token = re.fullmatch(r"\$\{WIRERANK_SERVE_TOKEN:-(.*)\}", text)
    assert token is not None
    assert len(token[1]) >= 16


def test_the_dashboards_are_those_of_deploy_grafana() -> None:
    found = mounts("grafana")
    assert found["/etc/grafana/provisioning/dashboards"] == DASHBOARDS / "dashboards"
    source = found["/etc/grafana/provisioning/datasources/prometheus.yaml"]
    assert isinstance(source, Path)
    assert source.read_text() == files("http://prometheus:9090")["datasources/prometheus.yaml"]
