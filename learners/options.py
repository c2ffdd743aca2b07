"""The options of learners: each is declared once, as data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

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

    def check(self, value: object, owner: str) -> Value:
        """Return a value that a program gives, or raise an OptionError that says what is allowed.

        >>> Option("loss", 1, "", choices=(1, 2, 3)).check(4, "MMP")
        Traceback (most recent call last):
        ...
        learners.options.OptionError: The 'loss' option of MMP must be one of 1, 2, 3. Got 4.
        """
        kinds = (int, float) if isinstance(self.default, float) else (type(self.default),)
        plain: Any = value.item() if hasattr(value, "item") else value  # numpy's numbers
        right_kind = type(plain) in kinds or (isinstance(plain, str) and str in kinds)
        if not right_kind or not self._allows(plain):
            raise OptionError(
                f"The {self.name!r} option of {owner} must be {self.rule}. Got {value!r:.80}."
            )
        return type(self.default)(plain)

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
