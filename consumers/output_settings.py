"""The settings of what a stream publishes: the keys, headers and fields of its rankings."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from consumers.section import Section
from pipeline.engine.ranking_events import ALL_FIELDS, RANK_FIELDS, TOPIC_FIELDS
from pipeline.events.passed_on import PassedOnParts

RECORD_KEY = "record"
HeaderName = Annotated[str, Field(min_length=1, max_length=256)]


class OutputSettings(Section):
    """What the records of rankings have from those of their documents, and which fields."""

    key: Literal["id", "record"] = "id"
    headers: Annotated[tuple[HeaderName, ...], Field(max_length=100)] = ()
    fields: tuple[str, ...] = ()

    @field_validator("fields")
    @classmethod
    def _check_fields(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        unknown = [name for name in value if name not in ALL_FIELDS]
        known = ", ".join(dict.fromkeys((*TOPIC_FIELDS, *RANK_FIELDS)))
        if unknown:
            raise ValueError(f"{unknown[0][:80]!r} is no field of a ranking; choose from {known}")
        return value

    @property
    def chosen_fields(self) -> frozenset[str]:
        """The keys that ranking events have; the rankings themselves are always among them."""
        return frozenset((*self.fields, "ranking", "rank")) if self.fields else ALL_FIELDS

    @property
    def passed_on_parts(self) -> PassedOnParts | None:
        """What tokenizers write to the log beside the documents; None if it is nothing."""
        if self.key == "id" and not self.headers:
            return None
        return PassedOnParts(self.key == RECORD_KEY, frozenset(self.headers))
