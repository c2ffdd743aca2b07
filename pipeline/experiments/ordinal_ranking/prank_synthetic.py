"""`prank-synthetic`: ordinal ranking of points in the unit square, with a polynomial kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from learners.arrays import Floats
from pipeline.experiments.experiment import Drawing, Experiment, Findings, Part, Result, Series
from pipeline.experiments.figures import draw_bands
from pipeline.experiments.ordinal_ranking.claims import Claim
from pipeline.experiments.ordinal_ranking.method_comparison import (
    Batch,
    MethodComparison,
    curves_csv,
    panel_of,
    tables_of,
)
from pipeline.experiments.ordinal_ranking.rank_sequences import OrdinalMethod, RankSequence
from pipeline.reports.plots import COLOURS

PAPER = "Crammer and Singer, Pranking with Ranking, NIPS 2001"
BOUNDS = (-np.inf, -1.0, -0.1, 0.25, 1.0)
NOISE = 0.125
ROUNDS, QUICK_ROUNDS = 7000, 1000
HELD_OUT, QUICK_HELD_OUT = 20, 3
RATES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
SHOWN = (100, 500, 1000, 2000, 4000, 7000)
FIRST_ROUNDS = 100
TEST, CHOICE = 0, 1  # the use of a sequence; part of its random seed

# The rate that can be chosen without any data. As |w - u|^2 shrinks, the squared loss of
# Widrow-Hoff is at most (the loss of any u + |u|^2 / rate) / (1 - rate R^2). R^2 is the largest
# K(x, x), here 3^2. The term with |u|^2 is smallest for the rate 1 / (2 R^2).
BOUND_RATE = 1.0 / 18.0

# The budget is the number of rounds, so no instance is ever removed.
KERNEL = f"kernel=poly2,budget={ROUNDS}"
METHODS = (
    OrdinalMethod("prank", "PRank", COLOURS[0], f"prank:{KERNEL}"),
    OrdinalMethod("wh", "Widrow-Hoff", COLOURS[1], f"widrow-hoff:rate={{}},{KERNEL}", RATES),
    OrdinalMethod("mcp", "multiclass perceptron", COLOURS[2], f"multiclass-perceptron:{KERNEL}"),
    OrdinalMethod(
        "wh-bound", "Widrow-Hoff, rate 1/18", COLOURS[4],
        f"widrow-hoff:rate={BOUND_RATE!r},{KERNEL}", ours=True,
    ),
    OrdinalMethod(
        "average", "PRank, averaged", COLOURS[3], f"prank:average=true,{KERNEL}", ours=True
    ),
)  # fmt: skip
CLAIMS = (
    Claim("PRank ends below Widrow-Hoff", ("prank",), ("wh",)),
    Claim("PRank ends below the multiclass perceptron", ("prank",), ("mcp",)),
    Claim("the multiclass perceptron ends worst", ("prank", "wh"), ("mcp",)),
    Claim("Widrow-Hoff is best in the first rounds", ("wh",), ("prank", "mcp"), FIRST_ROUNDS),
    Claim(
        "PRank ends below Widrow-Hoff with rate 1/18", ("prank",), ("wh-bound",), ours=True
    ),
    Claim(
        "Widrow-Hoff with rate 1/18 is best in the first rounds",
        ("wh-bound",), ("prank", "mcp"), FIRST_ROUNDS, ours=True,
    ),
    Claim("averaged PRank ends below all three", ("average",), ("prank", "wh", "mcp"), ours=True),
)  # fmt: skip


def saddle(rng: np.random.Generator, length: int) -> RankSequence:
    """Points in the unit square; the rank is the height of a saddle there, with noise."""
    points: Floats = rng.random((length, 2))
    height = 10.0 * (points[:, 0] - 0.5) * (points[:, 1] - 0.5) + rng.normal(0.0, NOISE, length)
    return RankSequence(points, (height[:, None] > np.array(BOUNDS)).sum(axis=1))


class PRankSynthetic(Experiment):
    """The left part of figure 3 of the paper."""

    name = "prank-synthetic"
    title = "ordinal ranking of points in a square, with a polynomial kernel"
    paper = PAPER
    needs = ()
    packages = ("matplotlib", "scipy")
    splits = (100, 10)

    @property
    def _rounds(self) -> int:
        return QUICK_ROUNDS if self.settings.quick else ROUNDS

    def recorded_settings(self) -> Mapping[str, Any]:
        """The seed, the length of sequences, how they are generated, and the lanes."""
        return {
            "seed": self.settings.seed,
            "rounds": self._rounds,
            "held_out": QUICK_HELD_OUT if self.settings.quick else HELD_OUT,
            "ranks": len(BOUNDS),
            "thresholds": BOUNDS[1:],
            "noise": NOISE,
            "lanes": {method.key: method.spec for method in METHODS},
            "rates": RATES,
        }

    def _sequence(self, use: int, number: int) -> list[RankSequence]:
        rng = np.random.default_rng([self.settings.seed, use, number])
        return [saddle(rng, self._rounds)]

    def _comparison(self) -> MethodComparison:
        def batches(word: str, use: int, count: int) -> list[Batch]:
            return [
                Batch(f"{word} {number + 1}", partial(self._sequence, use, number))
                for number in range(count)
            ]

        return MethodComparison(
            "synthetic", "Synthetic data", len(BOUNDS), self._rounds, SHOWN, METHODS, CLAIMS,
            batches("held-out sequence", CHOICE, int(self.recorded_settings()["held_out"])),
            batches("sequence", TEST, self.settings.splits),
        )  # fmt: skip

    def parts(self) -> Iterator[Part]:
        """First the held-out sequences, then the others; all methods on each."""
        yield from self._comparison().parts(self.known)

    def findings(self, results: Mapping[str, Result]) -> Findings:
        """The tables, the curves and the claims."""
        comparison = self._comparison()
        panels = [panel_of(comparison, results, [method.key for method in METHODS])]
        title = "Ordinal ranking, polynomial kernel of degree 2"
        measure = "time-averaged ranking loss, 95 % confidence interval"
        drawing = Drawing(
            "curves-synthetic", partial(draw_bands, title, "round (log scale)", measure, panels)
        )
        series = Series("curves-synthetic", curves_csv(comparison, results))
        tables = tables_of(comparison, results)
        return Findings(tables, [drawing], self._remarks(comparison, results), [series])

    def _remarks(self, comparison: MethodComparison, results: Mapping[str, Result]) -> list[str]:
        tried = {key: np.mean(losses) for key, losses in comparison.tried(results).items()}
        worse = [f"{rate:g}" for rate in RATES if tried[f"wh {rate:g}"] > tried["prank"]]
        remarks = [
            "The paper shows its curves only as a picture. About the rate of Widrow-Hoff it says "
            "only that it is constant; here it is the rate with the smallest loss on the held-out "
            f"sequences. Of the rates {', '.join(f'{rate:g}' for rate in RATES)}, PRank is better "
            f"than Widrow-Hoff there for {', '.join(worse) or 'none'}.",
            "The rate 1/18 is 1 / (2 R^2), where R^2 = 9 is the largest K(x, x). It minimises a "
            "bound on the loss of Widrow-Hoff and can be known without any data.",
            f"Where the paper speaks of the first rounds, round {FIRST_ROUNDS} is used.",
        ]
        if self.settings.quick:
            remarks.append(
                f"With --quick the sequences have {QUICK_ROUNDS:,} rounds instead of {ROUNDS:,}."
            )
        return remarks
