"""The numbers of Madani, Connor and Greiner (2010): figures 9, 10, 11, 13 and 15 to 17."""

from __future__ import annotations

from pipeline.experiments.tables import Number

PAPER = "Madani, Connor & Greiner: Learning When Concepts Abound, JMLR 11 (2010)"

Numbers = dict[str, Number]


def row(
    hr: float, r1: float, r5: float, seconds: float | None = None, d: float | None = None,
    connections: float | None = None, deviation: float | None = None,
) -> Numbers:  # fmt: skip
    """A row of figures 9 and 10."""
    given = {"hr": hr, "r5": r5, "seconds": seconds, "d": d, "connections": connections}
    numbers = {key: Number(value) for key, value in given.items() if value is not None}
    return {**numbers, "r1": Number(r1, deviation)}


def r1(value: float, deviation: float | None = None, seconds: float | None = None) -> Numbers:
    """A row of the other figures, which show R1 and sometimes the training time."""
    numbers = {"r1": Number(value, deviation)}
    return numbers if seconds is None else {**numbers, "seconds": Number(seconds)}


# By corpus, then by row. Entries such as "74+" or "0s" of the paper are left out.
COMPARISON: dict[str, dict[str, Numbers]] = {
    "reuters21578": {
        "ff-0": row(1.082, 0.860, 0.998, None, 4.9, 55e3),
        "ff-0.5": row(1.066, 0.884, 0.997, None, 5, 73e3, 0.009),
        "ff-chosen": row(1.066, 0.884, 0.997, None, 5, 73e3, 0.009),
        "perceptron": row(1.08, 0.871, 0.995, 4, 10, 74e3),
        "committee": row(1.06, 0.891, 0.999, 40, 10),
        "svm": row(1.052, 0.906, 0.998, 11, 10, None, 0.009),
        "frequency": row(1.6, 0.42, 0.86),
    },
    "newsgroups": {
        "ff-0": row(1.137, 0.798, 0.978, 2, 10, 113e3),
        "ff-0.5": row(1.085, 0.865, 0.987, 2, 10, 171e3, 0.005),
        "ff-chosen": row(1.085, 0.865, 0.987, 2, 10, 171e3, 0.005),
        "perceptron": row(1.229, 0.728, 0.928, 20, 20, 189e3),
        "committee": row(1.122, 0.830, 0.970, 220, 20),
        "svm": row(1.1020, 0.852, 0.975, 92, 20, None, 0.005),
        "independent": r1(0.846, 0.006),
        "frequency": row(3.33, 0.05, 0.25),
    },
}
# Figures 11 (with the time of one pass), 15, 16 and 17.
OPTIONS: dict[str, dict[str, Numbers]] = {
    "reuters21578": {
        "default": r1(0.884, 0.008),
        "unconstrained": r1(0.884, 0.008),
    },
    "newsgroups": {
        "default": r1(0.865, 0.005, 2),
        "unconstrained": r1(0.866, 0.006, 3),
        "no-leak": r1(0.866, 0.005),
        "no-rating": r1(0.860, 0.005),
        "independent": r1(0.846, 0.006),
        "boolean-7": r1(0.860, 0.006),
    },
}
WORDS: dict[str, Numbers] = {
    "ff-0": row(2.71, 0.272, 0.480, 40, 8.7, 1.5e6, 0.002),
    "ff-0.1": row(2.73, 0.279, 0.462, 160, 9.1, 1.6e6, 0.002),
    "ff-0.5": row(3.01, 0.243, 0.425, 160, 9.1, 1.6e6, 0.002),
    "frequency": row(10.3, 0.037, 0.15),
}
WORDS_UNCONSTRAINED: dict[str, Numbers] = {
    "default": r1(0.274, None, 41),
    "unconstrained": r1(0.276, None, 3600),
}
