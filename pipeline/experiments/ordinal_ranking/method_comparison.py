"""Compares methods on sequences with ranks: some sequences choose settings, others measure."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from learners.arrays import Floats
from pipeline.experiments.experiment import Part, Result
from pipeline.experiments.figures import Line, Panel
from pipeline.experiments.ordinal_ranking.claims import Claim, claims_table, judge
from pipeline.experiments.ordinal_ranking.rank_sequences import (
    OrdinalMethod,
    RankSequence,
    kept_rounds,
    losses_of,
)
from pipeline.experiments.tables import Column, Number, Row, Table, mean_of

CONFIDENCE = 0.95
Known = Mapping[str, Result]


class Batch(NamedTuple):
    """Sequences that are run together as one part."""

    name: str
    sequences: Callable[[], Sequence[RankSequence]]


@dataclass(frozen=True, slots=True)
class MethodComparison:
    """The methods, the claims about them, and the sequences that choose settings and measure."""

    name: str
    title: str
    ranks: int
    rounds: int
    shown: tuple[int, ...]  # the rounds that the table shows
    methods: tuple[OrdinalMethod, ...]
    claims: tuple[Claim, ...]
    held_out: Sequence[Batch]
    tests: Sequence[Batch]

    @property
    def kept(self) -> list[int]:
        """The rounds at which curves are kept."""
        return kept_rounds(self.rounds, self.shown)

    def parts(self, known: Known) -> Iterator[Part]:
        """First the held-out sequences, then the others with the settings chosen on those."""
        for batch in self.held_out:
            yield Part(batch.name, partial(self._try, batch))
        for batch in self.tests:
            yield Part(batch.name, partial(self._measure, batch, known))

    def _try(self, batch: Batch) -> Result:
        """The final loss of every method with every value of its grid, on each sequence."""
        by_variant: dict[str, list[float]] = {}
        for sequence in batch.sequences():
            for method in self.methods:
                for value in method.grid or (None,):
                    losses = losses_of(method, value, sequence, self.ranks)
                    by_variant.setdefault(variant(method, value), []).append(float(losses.mean()))
        return {"losses": by_variant}

    def _measure(self, batch: Batch, known: Known) -> Result:
        """The summed loss of every method at the kept rounds, on each sequence."""
        chosen, places = self.chosen(known), np.array(self.kept) - 1
        sums: dict[str, list[list[int]]] = {method.key: [] for method in self.methods}
        for sequence in batch.sequences():
            for method in self.methods:
                losses = losses_of(method, chosen[method.key], sequence, self.ranks)
                sums[method.key].append(np.cumsum(losses)[places].tolist())
        values = {key: value for key, value in chosen.items() if value is not None}
        return {"chosen": values, "summed_losses": sums}

    def tried(self, known: Known) -> dict[str, list[float]]:
        """The losses on the held-out sequences, by method and value."""
        by_variant: dict[str, list[float]] = {}
        for batch in self.held_out:
            for key, losses in known[batch.name]["losses"].items():
                by_variant.setdefault(key, []).extend(losses)
        return by_variant

    def chosen(self, known: Known) -> dict[str, float | None]:
        """The value of each method's grid with the smallest loss on the held-out sequences."""
        tried = self.tried(known)
        best: dict[str, float | None] = {}
        for method in self.methods:
            means = [(float(np.mean(tried[variant(method, v)])), v) for v in method.grid]
            best[method.key] = min(means)[1] if means else None
        return best

    def curves(self, known: Known) -> dict[str, Floats]:
        """The time-averaged losses of each method (repetitions x kept rounds)."""
        return {
            method.key: np.concatenate(
                [np.array(known[batch.name]["summed_losses"][method.key]) for batch in self.tests]
            )
            / np.array(self.kept)
            for method in self.methods
        }


def variant(method: OrdinalMethod, value: float | None) -> str:
    """The key of a method with a value of its grid, in the results."""
    return method.key if value is None else f"{method.key} {value:g}"


def tables_of(comparison: MethodComparison, known: Known) -> list[Table]:
    """Three tables: losses at some rounds, claims, and losses on the held-out sequences."""
    curves, chosen = comparison.curves(known), comparison.chosen(known)
    kept = comparison.kept
    columns = [
        Column(f"round_{r}", f"round {r:,}", 3, with_deviation=True, better=-1)
        for r in comparison.shown
        if r in kept
    ]
    rows = [
        Row(
            method.name(chosen[method.key]),
            {
                f"round_{r}": mean_of(curves[method.key][:, kept.index(r)].tolist())
                for r in comparison.shown
                if r in kept
            },
            contends=bool(method.spec),
        )
        for method in comparison.methods
    ]
    count = len(next(iter(curves.values())))
    title = f"{comparison.title}: time-averaged ranking loss, {count} repetitions"
    verdicts = [judge(claim, kept, curves) for claim in comparison.claims]
    return [
        Table(f"loss-{comparison.name}", title, columns, rows),
        claims_table(f"claims-{comparison.name}", f"{comparison.title}: claims", verdicts),
        grid_table(comparison, known),
    ]


def grid_table(comparison: MethodComparison, known: Known) -> Table:
    """The loss of every setting on the held-out sequences."""
    tried, chosen = comparison.tried(known), comparison.chosen(known)
    rows = []
    for method in comparison.methods:
        for value in method.grid or (None,):
            mark = " (chosen)" if method.grid and value == chosen[method.key] else ""
            loss = mean_of(tried[variant(method, value)])
            rows.append(Row(method.name(value) + mark, {"loss": loss}))
    count = len(next(iter(tried.values())))
    title = f"{comparison.title}: settings are chosen on these {count} held-out sequences"
    columns = [Column("loss", f"loss at round {comparison.rounds:,}", 3, with_deviation=True)]
    return Table(f"held-out-{comparison.name}", title, columns, rows)


def half_widths(losses: Floats) -> list[float | None]:
    """Half the width of the 95 % confidence interval of each column's mean (Student's t)."""
    from scipy.stats import t  # noqa: PLC0415 - an extra, and slow to import

    count, rounds = losses.shape
    if count < 2:
        return [None] * rounds
    quantile = float(t.ppf(0.5 + CONFIDENCE / 2, count - 1))
    widths: list[float | None] = (quantile * losses.std(axis=0, ddof=1) / count**0.5).tolist()
    return widths


def panel_of(comparison: MethodComparison, known: Known, keys: Sequence[str]) -> Panel:
    """The curves of some methods, with the confidence interval of the mean."""
    curves, chosen = comparison.curves(known), comparison.chosen(known)
    lines = []
    for method in comparison.methods:
        if method.key in keys:
            losses = curves[method.key]
            numbers = map(Number, losses.mean(axis=0).tolist(), half_widths(losses))
            points = list(zip(comparison.kept, numbers, strict=True))
            style = "--" if method.ours else "-"
            label = method.name(chosen[method.key])
            lines.append(Line(label, method.colour, style, "", points))
    return Panel(f"{comparison.title}, {len(losses)} repetitions", lines=lines, log=True)


def curves_csv(comparison: MethodComparison, known: Known) -> bytes:
    """The curves as CSV: a line per method and kept round."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(
        ("method", "round", "loss", "deviation", "confidence_95", "repetitions", "ours")
    )
    chosen = comparison.chosen(known)
    methods = {method.key: method for method in comparison.methods}
    for key, losses in comparison.curves(known).items():
        widths = half_widths(losses)
        name, ours = methods[key].name(chosen[key]), int(methods[key].ours)
        for place, at in enumerate(comparison.kept):
            mean, deviation = mean_of(losses[:, place].tolist())
            cells = ("" if x is None else x for x in (mean, deviation, widths[place]))
            writer.writerow((name, at, *cells, len(losses), ours))
    return file.getvalue().encode()
