"""The settings of a vocabulary and of the weights of texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from learners.options import MOST
from pipeline.errors import UsageError
from pipeline.text.profile import Profile


class WeightOptions(NamedTuple):
    """`FeatureSettings` for kernels, and whether the statistics are frozen."""

    max_terms: int
    min_df: int
    slope: float
    pivot: float
    unit_length: bool
    frozen: bool


@dataclass(frozen=True, slots=True)
class FeatureSettings:
    """How text becomes vectors."""

    max_terms: int = 1 << 17
    min_df: int = 1
    slope: float = 0.3
    pivot: float = 0.0  # distinct terms of a usual text; 0: the mean of the stream
    norm: str = "none"  # of texts; features that come ready-made are used as they are

    @classmethod
    def of(
        cls, profile: Profile, max_terms: int | None = None, min_df: int | None = None
    ) -> FeatureSettings:
        """Return the settings of a profile; what is given here goes before it."""
        return cls(
            cls().max_terms if max_terms is None else max_terms,
            profile.min_df if min_df is None else min_df,
            profile.slope,
            profile.pivot,
            profile.norm,
        )

    def __post_init__(self) -> None:
        if self.max_terms < 16:
            raise UsageError(f"max_terms must be at least 16. Got {self.max_terms}.")
        if self.min_df < 1:
            raise UsageError(f"min_df must be at least 1. Got {self.min_df}.")
        if not 0 <= self.slope <= 1:
            raise UsageError(f"slope must be from 0 to 1. Got {self.slope}.")
        if not 0 <= self.pivot <= MOST:
            raise UsageError(f"pivot must be from 0 to {MOST}. Got {self.pivot}.")
        if self.norm not in ("none", "l2"):
            raise UsageError(f"norm must be none or l2. Got {self.norm!r}.")

    @property
    def description(self) -> str:
        """The weights of texts in a word."""
        parts = [f"slope={self.slope:.2f}"]
        parts += [f"pivot={self.pivot:g}"] if self.pivot else []
        parts += [f"norm={self.norm}"] if self.norm != "none" else []
        return f"pivoted({', '.join(parts)})"

    def options(self, frozen: bool) -> WeightOptions:
        """Return the settings as kernels take them."""
        return WeightOptions(
            self.max_terms, self.min_df, self.slope, self.pivot, self.norm == "l2", frozen
        )
