"""What a paper claims about two methods, and whether it holds in a run."""

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
    Column("lower", "to be lower", 3),
    Column("higher", "to be higher", 3),
    Column("difference", "difference", 3, with_deviation=True),
    Column("wins", "lower in", 0),
    Column("losses", "higher in", 0),
    Column("ties", "level in", 0),
    Column("p", "p", 4),
)


class Claim(NamedTuple):
    """That some methods lose less than others, each of the ones than each of the others.

    Repetition by repetition the worst of the ones is compared with the best of the others.
    """

    text: str
    lower: tuple[str, ...]
    higher: tuple[str, ...]
    at: int | None = None  # the round; the last one if not said
    ours: bool = False  # of methods that are not the paper's: asked, not claimed by it


class Verdict(NamedTuple):
    """A claim with the numbers of a run."""

    claim: Claim
    at: int
    lower: float
    higher: float
    difference: Number
    test: SignTest
    since: int | None  # from this round on the mean is lower, to the last

    @property
    def word(self) -> str:
        """A claim holds, or fails, if the means say so and the sign test agrees."""
        certain = self.test.p < SIGNIFICANT
        if certain and self.difference.value < 0 and self.test.wins > self.test.losses:
            return HELD
        if certain and self.difference.value > 0 and self.test.wins < self.test.losses:
            return FAILED
        return OPEN

    def line(self) -> str:
        """As it is printed."""
        count = self.test.wins + self.test.losses + self.test.ties
        since = f"lower from round {self.since:,} on" if self.since else "not lower at the end"
        level = f", level in {self.test.ties}" if self.test.ties else ""
        return (
            f"{self.word}{' (asked by us)' if self.claim.ours else ''}: {self.claim.text}. "
            f"Round {self.at:,}: {self.lower:.3f} against {self.higher:.3f}, lower in "
            f"{self.test.wins} of {count} repetitions{level} (sign test p = {self.test.p:.2g}); "
            f"the mean is {since}."
        )


def judge(claim: Claim, rounds: Sequence[int], curves: Mapping[str, Floats]) -> Verdict:
    """Look at a claim; of each method `curves` has time-averaged losses, repetitions x rounds."""
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
    """All claims with their numbers; below them a line on each."""
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
