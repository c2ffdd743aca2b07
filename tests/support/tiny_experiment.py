"""An experiment that takes no time: two parts, a table, a picture and a curve."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from pipeline.experiments.experiment import (
    Drawing,
    Experiment,
    Findings,
    Need,
    Part,
    Result,
    Series,
    Settings,
)
from pipeline.experiments.figures import Dot, Panel, draw_dots
from pipeline.experiments.runner import RunOutcome, run
from pipeline.experiments.tables import Column, Number, Row, Table
from pipeline.replay.progress import Progress


class Tiny(Experiment):
    """The attributes that tests change are at the top."""

    name = "tiny"
    title = "an experiment that takes no time"
    paper = "Nobody: On Nothing (2001)"
    needs: ClassVar[tuple[Need, ...]] = ()
    packages: ClassVar[tuple[str, ...]] = ()
    text = "a method"  # wherever an experiment has text
    file = "comparison"

    @staticmethod
    def do(number: int) -> None:
        """Called when a part is computed; tests override it."""

    def recorded_settings(self) -> Mapping[str, Any]:
        """The seed, and a nested setting."""
        return {"seed": self.settings.seed, "grid": {"C": [1, 10], self.text: self.text}}

    def parts(self) -> Iterator[Part]:
        """One part per split."""
        for number in range(self.settings.splits):
            yield Part(f"split {number}", partial(self._part, number))

    def _part(self, number: int) -> Result:
        self.do(number)
        return {"r1": 0.5 + number / 10}

    def findings(self, results: Mapping[str, Result]) -> Findings:
        """A table of rows that are better than the paper, worse, and not in it."""
        columns = [
            Column("r1", "R1", 3, with_deviation=True, better=1),
            Column("loss", self.text, 2, better=-1),
            Column("d", "d", 1),
        ]
        rows = [
            Row(
                self.text,
                {"r1": Number(0.75, 0.01), "loss": Number(1.0), "d": Number(10.0)},
                {"r1": Number(0.7, 0.02), "loss": Number(1.25), "d": Number(8.0)},
            ),
            Row("worse", {"r1": Number(0.5), "loss": Number(3.0)}, {"r1": Number(0.625)}),
            Row("not in the paper", {"r1": Number(0.25), "loss": Number(float("nan"))}),
            Row("in hindsight", {"r1": Number(0.99), "d": Number(0.001)}, contends=False),
        ]
        notes = [
            f"HELD: {self.text} wins.",
            "NOT SETTLED (not a claim of the paper): why.",
            self.text,
        ]
        notes.append("LEVEL: as good as another.")
        table = Table(self.file, f"Tiny: {self.text}", columns, rows, notes)
        dots = [Dot("a method", "#0072b2", Number(0.75, 0.01), Number(0.7))]
        drawing = Drawing(
            f"picture-{self.file}",
            lambda: draw_dots("A picture", "R1", [Panel("tiny data", dots=dots)]),
        )
        series = Series(f"curve-{self.file}", b"round,loss\n1,0.5\n")
        return Findings([table], [drawing], [f"It differs: {self.text}."], [series])


def run_tiny(
    out: Path, kind: type[Tiny] = Tiny, splits: int = 2, seed: int = 0, anew: bool = False
) -> RunOutcome:
    return run(kind(Settings(seed, splits), {}, lambda line: None), out, anew, Progress())
