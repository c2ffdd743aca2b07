"""The paper's claims that one method loses less than another, and whether they hold in a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from learners.arrays import Floats
from pipeline.experiments.claim_outcomes import FAILED, HELD, OPEN
from pipeline.experiments.sign_test import SignTest, sign_test
from pipeline.experiments.tables import Column, Number, Row, Table, mean_of

SIGNIFICANT = 0.05

COLUMNS = (
    Column("lower", "claimed lower", 3),
    Column("higher", "claimed higher", 3),
    Column("difference", "difference", 3, with_deviation=True),
    Column("wins", "lower in", 0),
    Column("losses", "higher in", 0),
    Column("ties", "level in", 0),
    Column("p", "p value", 4),
)


class Claim(NamedTuple):
    """The claim that every method of `lower` loses less than every method of `higher`.

    In each repetition the worst method of `lower` is compared with the best of `higher`.
    """

    text: str
    lower: tuple[str, ...]
    higher: tuple[str, ...]
    at: int | None = None  # the round; None means the last one
    ours: bool = False  # about methods that the paper does not have, so not a claim of the paper


class Verdict(NamedTuple):
    """A claim with the numbers of a run."""

    claim: Claim
    at: int
    lower: float
    higher: float
    difference: Number
    test: SignTest
    since: int | None  # the mean is lower from this round to the last

    @property
    def outcome(self) -> str:
        """HELD or FAILED if the means and a significant sign test agree, otherwise OPEN."""
        certain = self.test.p < SIGNIFICANT
        if certain and self.difference.value < 0 and self.test.wins > self.test.losses:
            return HELD
        if certain and self.difference.value > 0 and self.test.wins < self.test.losses:
            return FAILED
        return OPEN

    def line(self) -> str:
        """The outcome, the claim and its numbers, as one line."""
        count = self.test.wins + self.test.losses + self.test.ties
        since = f"lower from round {self.since:,} on" if self.since else "not lower at the end"
        level = f", level in {self.test.ties}" if self.test.ties else ""
        ours = " (not a claim of the paper)" if self.claim.ours else ""
        return (
            f"{self.outcome}{ours}: {self.claim.text}. Mean loss at round {self.at:,}: "
            f"{self.lower:.3f} against {self.higher:.3f}, lower in {self.test.wins} of {count} "
            f"repetitions{level} (sign test, p = {self.test.p:.2g}). The mean is {since}."
        )


def judge(claim: Claim, rounds: Sequence[int], curves: Mapping[str, Floats]) -> Verdict:
    """Check a claim; `curves` holds time-averaged losses (repetitions x rounds) per method."""
    lower = np.max([curves[key] for key in claim.lower], axis=0)
    higher = np.min([curves[key] for key in claim.higher], axis=0)
    at = rounds[-1] if claim.at is None else max(r for r in rounds if r <= claim.at)
    place = list(rounds).index(at)
    test = sign_test(higher[:, place].tolist(), lower[:, place].tolist())
    not_below = np.flatnonzero(lower.mean(axis=0) >= higher.mean(axis=0))
    first = int(not_below[-1]) + 1 if len(not_below) else 0
    return Verdict(
        claim, at, float(lower[:, place].mean()), float(higher[:, place].mean()),
        mean_of((lower - higher)[:, place].tolist()), test,
        rounds[first] if first < len(rounds) else None,
    )  # fmt: skip


def claims_table(name: str, title: str, verdicts: Sequence[Verdict]) -> Table:
    """All claims with their numbers, and a note per claim with its outcome."""
    rows = [
        Row(
            verdict.claim.text,
            {
                "lower": Number(verdict.lower),
                "higher": Number(verdict.higher),
                "difference": verdict.difference,
                "wins": Number(verdict.test.wins),
                "losses": Number(verdict.test.losses),
                "ties": Number(verdict.test.ties),
                "p": Number(verdict.test.p),
            },
        )
        for verdict in verdicts
    ]
    return Table(name, title, COLUMNS, rows, [verdict.line() for verdict in verdicts])
