"""The documents name what is served."""

from __future__ import annotations

from pipeline.serving.counters import FAMILIES
from pipeline.serving.openapi import openapi_document
from tests.conftest import REPOSITORY

REFERENCE = (REPOSITORY / "docs/reference/http.md").read_text()


def test_the_reference_has_every_path() -> None:
    assert not [path for path in openapi_document(1)["paths"] if f"`{path}`" not in REFERENCE]


def test_the_reference_has_every_metric() -> None:
    for family in FAMILIES:
        labels = ", ".join(f"`{label}`" for label in family.labels)
        cells = (f"`{family.name}`", family.kind, labels, family.meaning)
        assert f"| {' | '.join(cells)} |".replace("|  |", "| |") in REFERENCE


def test_references_of_the_openapi_document_lead_somewhere() -> None:
    document = openapi_document(1)
    schemas = document["components"]["schemas"]

    def check(value: object) -> int:
        if isinstance(value, dict):
            name = value.get("$ref")
            if isinstance(name, str):
                assert name.removeprefix("#/components/schemas/") in schemas
                return 1
            return sum(map(check, value.values()))
        return sum(map(check, value)) if isinstance(value, list) else 0

    assert check(document) > 10
