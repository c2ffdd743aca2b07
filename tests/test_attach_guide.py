"""The examples of the guide to field mappings are right."""

from __future__ import annotations

import re
import tomllib

import orjson
import pytest

from pipeline.events.fields import SETTINGS, parse_fields
from pipeline.events.formats import new_decoder
from pipeline.events.paths import SOURCES
from pipeline.events.record import Record
from tests.conftest import REPOSITORY

GUIDE = (REPOSITORY / "docs/guide/attach.md").read_text()
REFERENCE = (REPOSITORY / "docs/reference/events.md").read_text()
EXAMPLES = re.findall(r"```json\n(.*?)```.*?```toml\n(.*?)```", GUIDE, re.S)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 4


@pytest.mark.parametrize(("event", "fields"), EXAMPLES)
def test_an_example(event: str, fields: str) -> None:
    decode = new_decoder("wirerank", parse_fields(tomllib.loads(fields)))
    mapped = decode(Record(orjson.dumps(orjson.loads(event))), 10_000)
    assert isinstance(mapped.content, str)
    assert "Wheat" in mapped.content
    assert mapped.topics is not None
    assert mapped.topics[0] == "grain"
    assert mapped.time is not None
    assert mapped.time.startswith("1987-02-26T15:01")


def test_the_reference_has_every_setting_and_source() -> None:
    for name in SETTINGS:
        assert f"`{name}`" in REFERENCE, name
    for source in SOURCES:
        assert source.removesuffix(".NAME") in GUIDE, source
