"""Topic ranking as Crammer and Singer (2002) compare it: their methods and their measures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pipeline.curves.topic_curve import TopicCurve
from pipeline.experiments.experiment import Result
from pipeline.experiments.learner_colours import LEARNER_COLOURS
from pipeline.reports.plots import COLOURS

PAPER = "Crammer and Singer, A New Family of Online Algorithms for Category Ranking, SIGIR 2002"
LOSSES = ("loss1", "loss2", "loss3")
MEASURES = (*LOSSES, "one_error", "coverage", "average_precision", "max_f1")
HIGHER_IS_BETTER = ("average_precision", "max_f1")
IN_PERCENT = ("loss1", "loss3", "one_error")


class TopicMethod(NamedTuple):
    """A row of the tables: its name, its colour, and its spec if it is a lane."""

    key: str
    label: str
    colour: str
    spec: str = ""
    added: bool = False  # not in the paper

    @property
    def title(self) -> str:
        """The label in tables and figures."""
        return f"{self.label} (added)" if self.added else self.label


ROCCHIO = TopicMethod("rocchio", "Rocchio", COLOURS[7], "rocchio")
ONLINE = (
    TopicMethod("perceptron", "Perceptron", LEARNER_COLOURS["perceptron"], "perceptron"),
    TopicMethod("mmp1", "MMP loss 1", COLOURS[0], "mmp:loss=1"),
    TopicMethod("mmp2", "MMP loss 2", COLOURS[2], "mmp:loss=2"),
    TopicMethod("mmp3", "MMP loss 3", COLOURS[5], "mmp:loss=3"),
)
OF_THE_PAPER = (ROCCHIO, *ONLINE)


class MethodResults(NamedTuple):
    """The results of a method: what `measures_on_test` returns, per fold or test set."""

    method: TopicMethod
    folds: Sequence[Result]

    def values(self, measure: str) -> list[float]:
        """The values of a measure, one per fold."""
        return [fold["measures"][measure] for fold in self.folds]


def measures_on_test(curve: TopicCurve) -> Result:
    """The measures of a test set that a curve followed, with precision and recall at each rank."""
    values = {**curve.last().values, "max_f1": curve.max_f1()}
    precision, recall = curve.precision_recall()
    return {
        "measures": {measure: values[measure] for measure in MEASURES},
        "precision": precision.tolist(),
        "recall": recall.tolist(),
    }


def learning_curve(curve: TopicCurve) -> Result:
    """The round-averaged losses at the rounds that a curve keeps."""
    points = list(curve.all_points())
    return {
        "round": [point.round for point in points],
        **{loss: [point.values[loss] for point in points] for loss in LOSSES},
    }
