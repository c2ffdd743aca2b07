"""The schema of `results.json`, which may come from another machine or version and is checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

MOST_CHARACTERS = 20_000
MOST_TABLES, MOST_ROWS, MOST_COLUMNS, MOST_NOTES = 500, 5_000, 200, 1_000

Text = Annotated[str, Field(max_length=MOST_CHARACTERS)]
Notes = Annotated[list[Text], Field(max_length=MOST_NOTES)]
FileName = Annotated[str, Field(pattern=r"^[^/\\\x00]{1,200}$")]


class Model(BaseModel):
    """Types are not converted; unknown keys are accepted and ignored."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


class Number(Model):
    """A mean and its standard deviation."""

    value: float | None
    deviation: float | None = None

    @property
    def known(self) -> float | None:
        """The value, if it is a finite number."""
        return self.value if self.value is not None and math.isfinite(self.value) else None


Numbers = Annotated[dict[Text, Number | None], Field(max_length=MOST_COLUMNS)]


class Column(Model):
    """A measure: its name, how it is shown, and whether higher (1) or lower (-1) is better."""

    key: Text
    title: Text
    digits: Annotated[int, Field(ge=0, le=12)]
    with_deviation: bool = False
    better: Literal[-1, 0, 1] = 0
    starred_below: float | None = None


class Row(Model):
    """A method or setting."""

    label: Text
    ours: Numbers
    paper: Numbers = Field(default_factory=dict)
    contends: bool = True


class Table(Model):
    """A table of our numbers and the paper's."""

    title: Text
    columns: Annotated[list[Column], Field(max_length=MOST_COLUMNS)] | None = None
    rows: Annotated[list[Row], Field(max_length=MOST_ROWS)]
    notes: Notes = Field(default_factory=list)

    @cached_property
    def shown_columns(self) -> list[Column]:
        """The columns; results of early versions do not list them, so the rows are searched."""
        if self.columns is not None:
            return self.columns
        keys = dict.fromkeys(key for row in self.rows for key in (*row.ours, *row.paper))
        return [self._guessed(key) for key in keys]

    def _guessed(self, key: str) -> Column:
        numbers = [number for row in self.rows for number in (row.ours.get(key),) if number]
        values = [value for number in numbers if (value := number.known) is not None]
        whole = all(value == int(value) for value in values)
        large = max(map(abs, values), default=0.0) >= 1000
        deviates = any(number.deviation is not None for number in numbers)
        return Column(
            key=key, title=key, digits=0 if whole or large else 3, with_deviation=deviates
        )


class Drawing(Model):
    """A figure: the name of its file without the suffix, and a description."""

    name: FileName
    title: Text = ""
    text: Text = ""


class Run(Model):
    """When, for how long and by which versions the results were computed."""

    settings: dict[Text, Any] = Field(default_factory=dict)
    machine: Text | None = None
    wirerank: Annotated[list[Text], Field(max_length=100)] | None = None
    seconds: float | None = None
    finished: Text | None = None


class Results(Model):
    """The results of an experiment."""

    model_config = ConfigDict(strict=True, frozen=True, extra="allow")

    experiment: Text
    title: Text = ""
    paper: Text = ""
    tables: Annotated[dict[FileName, Table], Field(max_length=MOST_TABLES)]
    remarks: Notes = Field(default_factory=list)
    drawings: Annotated[list[Drawing], Field(max_length=MOST_TABLES)] | None = None
    series: Annotated[list[FileName], Field(max_length=MOST_TABLES)] | None = None
    sha256: dict[Text, Text] = Field(default_factory=dict)
    data: dict[Text, Text] = Field(default_factory=dict)
    versions: dict[Text, Text] = Field(default_factory=dict)
    run: Run = Field(default_factory=Run)
    parts: dict[str, Any] = Field(default_factory=dict)

    @property
    def settings(self) -> Mapping[str, Any]:
        """The recorded settings of the experiment, which are all keys not named above."""
        return self.model_extra or {}

    @property
    def quick(self) -> bool:
        """Whether it was run on a part of the data and cannot be compared with the paper."""
        return bool(self.run.settings.get("quick", self.settings.get("quick", False)))
