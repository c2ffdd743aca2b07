"""The options of learners: each is declared once, as data."""

from __future__ import annotations

import math
from dataclasses import dataclass

Value = int | float | bool | str

MOST = 2**31 - 1  # the largest value of an option that declares no smaller one


class OptionError(ValueError):
    """An option of a learner is unknown, or its value is not allowed."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a learner: its name, default, rule and meaning, declared once."""

    name: str
    default: Value
    help: str
    choices: tuple[Value, ...] = ()
    least: float | None = None
    most: float | None = None

    @property
    def rule(self) -> str:
        """The values that it can have, in words."""
        if self.choices:
            return "one of " + ", ".join(str(choice) for choice in self.choices)
        if isinstance(self.default, bool):
            return "true or false"
        kind = {int: "a whole number", float: "a number", str: "a word"}[type(self.default)]
        least = f" from {self.least:g}" if self.least is not None else ""
        most = f" up to {self.most:g}" if self.most is not None else ""
        return kind + least + most

    def read(self, text: str, owner: str) -> Value:
        """The value that a spec gives as text, or an OptionError that says what was expected."""
        value = self._convert(text)
        if value is None or not self._allows(value):
            raise OptionError(
                f"The {self.name!r} option of {owner} must be {self.rule}. Got {text!r}."
            )
        return value

    def _convert(self, text: str) -> Value | None:
        if isinstance(self.default, bool):
            return {"true": True, "false": False}.get(text.lower())
        try:
            return type(self.default)(text)
        except ValueError:
            return None

    def _allows(self, value: Value) -> bool:
        if self.choices:
            return value in self.choices
        if isinstance(value, str):
            return bool(value) and value.isprintable()
        if isinstance(value, float) and not math.isfinite(value):
            return False
        above = self.least is None or value >= self.least
        return above and value <= (MOST if self.most is None else self.most)
