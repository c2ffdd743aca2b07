"""The colour of each learner, the same in the figures of all experiments."""

from pipeline.reports.plots import COLOURS

LEARNER_COLOURS = {
    "feature-focus": COLOURS[0],
    "perceptron": COLOURS[1],
    "committee": COLOURS[2],
    "svm": COLOURS[3],
    "top-down": COLOURS[4],
    "independent": COLOURS[5],
    "frequency": COLOURS[7],
}
