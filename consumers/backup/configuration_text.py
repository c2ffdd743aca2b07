"""The configuration of one stream as TOML, without secrets, for a backup."""

from __future__ import annotations

from typing import Any

from pydantic import SecretStr

from consumers.section import Section
from consumers.settings import Config
from consumers.stream_settings import StreamSettings
from pipeline.events.suggestions import toml_of


def configuration_text(config: Config, stream: StreamSettings) -> str:
    """What the configuration sets for a stream; secrets are named in a comment.

    >>> stream = StreamSettings(name="news", lanes=[{"spec": "mmp:loss=1"}])
    >>> kafka = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN",
    ...          "sasl_username": "ann", "sasl_password": "swordfish"}
    >>> text = configuration_text(Config(kafka=kafka, streams=[stream]), stream)
    >>> "swordfish" in text, '# sasl_password is not in the backup' in text
    (False, True)
    """
    lines = list[str]()
    for name in type(config).model_fields:
        section = getattr(config, name)
        if isinstance(section, Section) and section.model_fields_set:
            lines += [f"[{name}]", *settings_lines(section), ""]
    lines += ["[[streams]]", *settings_lines(stream), ""]
    return "\n".join(lines)


def settings_lines(section: Section) -> list[str]:
    """The settings of a section that were given, one per line."""
    lines = []
    for name in type(section).model_fields:
        if name not in section.model_fields_set:
            continue
        value = getattr(section, name)
        if isinstance(value, SecretStr):
            lines.append(f"# {name} is not in the backup: it is a secret; give it again")
        elif value is not None:
            lines.append(f"{name} = {toml_of(plain(value))}")
    return lines


def plain(value: Any) -> Any:  # noqa: ANN401 - whatever a setting can be
    """A value of a setting as strings, numbers, lists and tables."""
    if isinstance(value, Section):
        given = {name: getattr(value, name) for name in value.model_fields_set}
        return {
            name: plain(inner)
            for name, inner in sorted(given.items())
            if inner is not None and not isinstance(inner, SecretStr)
        }
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    return value if isinstance(value, bool | int | float) else str(value)


def with_initial(configuration: str, file: str) -> str:
    """The configuration of a stream that begins with a backup."""
    lines = [line for line in configuration.splitlines() if not line.startswith("initial = ")]
    place = lines.index("[[streams]]") + 1
    lines.insert(place, f"initial = {toml_of(file)}  # keep this file as long as the log")
    return "\n".join([*lines, ""])
