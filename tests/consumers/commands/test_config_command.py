"""`wirerank config`: the example, and the check of a configuration."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import Result

from consumers.cli import new_app
from tests.support.command_line import wirerank


def config(*arguments: str) -> Result:
    return wirerank("config", *arguments, app=new_app())


@pytest.fixture
def example(tmp_path: Path) -> Path:
    path = tmp_path / "wirerank.toml"
    path.write_text(config("--example").stdout)
    return path


def test_the_example_is_a_configuration(example: Path) -> None:
    result = config(str(example))
    assert result.exit_code == 0, result.stderr
    assert 'kafka: bootstrap = "127.0.0.1:9092"' in result.stdout
    assert "stream newswire, lane perceptron: " in result.stdout


def test_settings_in_force_are_shown_without_passwords(
    example: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIRERANK__KAFKA__SECURITY_PROTOCOL", "SASL_PLAINTEXT")
    monkeypatch.setenv("WIRERANK__KAFKA__SASL_MECHANISM", "PLAIN")
    monkeypatch.setenv("WIRERANK__KAFKA__SASL_USERNAME", "reader")
    monkeypatch.setenv("WIRERANK__KAFKA__SASL_PASSWORD", "swordfish")
    result = config(str(example))
    assert result.exit_code == 0, result.stderr
    assert 'sasl_username = "reader"' in result.stdout
    assert "swordfish" not in result.output


@pytest.mark.parametrize("arguments", [(), ("wirerank.toml", "--example")])
def test_a_file_or_the_example(arguments: tuple[str, ...]) -> None:
    result = config(*arguments)
    assert result.exit_code == 2
    assert "expected either a configuration file or --example" in result.stderr


def test_mistakes_are_explained(example: Path) -> None:
    example.write_text(example.read_text() + "\ncolour = 'red'\n")
    result = config(str(example))
    assert result.exit_code == 2
    assert "colour" in result.stderr
