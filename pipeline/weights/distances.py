"""How far the weights of a lane are from those of the same lane in another model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from learners.arrays import Floats, Longs
from learners.weight_rows import WeightRows
from pipeline.weights.lane_weights import LaneWeights

NOWHERE = 2**31 - 1  # the number of a term that a model does not have: its row is empty


class MovedTopic(NamedTuple):
    """How far a topic has moved: the length of the difference, and its own length before and now.

    Lengths are Euclidean, over the weights of all terms and the bias.
    """

    topic: str
    distance: float
    norm_a: float
    norm_b: float


def moved_topics(
    a: LaneWeights, b: LaneWeights, numbers_a: Mapping[str, int], numbers_b: Mapping[str, int]
) -> list[MovedTopic]:
    """Return the topics of both models, those that moved most first.

    `numbers_a` and `numbers_b` have the number of each term. A term that a model does not have has
    the weight 0 there.
    """
    place_b = {name: place for place, name in enumerate(b.columns)}
    shared = [name for name in a.columns if name in place_b]
    column_a, column_b = columns_among(a.columns, shared), columns_among(b.columns, shared)
    squares = np.zeros((3, len(shared)))  # of the difference, of a, of b
    for terms_a, terms_b in term_pairs(a, b, numbers_a, numbers_b):
        add_squares(squares, a.rows(terms_a), column_a, b.rows(terms_b), column_b)
    bias_a, bias_b = a.biases[column_a >= 0], b.biases[[place_b[name] for name in shared]]
    squares += np.stack(((bias_b - bias_a) ** 2, bias_a**2, bias_b**2))
    lengths = np.sqrt(squares)
    order = np.argsort(-lengths[0], kind="stable").tolist()
    return [MovedTopic(shared[i], *lengths[:, i].tolist()) for i in order]


def columns_among(names: list[str], shared: list[str]) -> Longs:
    """Return the place of each name among the shared ones; -1 if it is not among them."""
    places = {name: place for place, name in enumerate(shared)}
    return np.array([places.get(name, -1) for name in names], np.int64)


def term_pairs(
    a: LaneWeights, b: LaneWeights, numbers_a: Mapping[str, int], numbers_b: Mapping[str, int]
) -> Iterator[tuple[Longs, Longs]]:
    """Yield the numbers of all terms in both models, in blocks of bounded size."""
    of_a = [*numbers_a.values(), *(NOWHERE for word in numbers_b if word not in numbers_a)]
    of_b = [numbers_b.get(word, NOWHERE) for word in numbers_a]
    of_b += [number for word, number in numbers_b.items() if word not in numbers_a]
    size = min(a.terms_at_once, b.terms_at_once)
    for start in range(0, len(of_a), size):
        some = slice(start, start + size)
        yield np.array(of_a[some], np.int64), np.array(of_b[some], np.int64)


def add_squares(
    squares: Floats, rows_a: WeightRows, column_a: Longs, rows_b: WeightRows, column_b: Longs
) -> None:
    """Add the squares of some terms: of the differences, and of the weights of both models."""
    shared = squares.shape[1]
    keys_a, values_a = cells_of(rows_a, column_a, shared)
    keys_b, values_b = cells_of(rows_b, column_b, shared)
    cells, cell = np.unique(np.concatenate((keys_a, keys_b)), return_inverse=True)
    difference = np.bincount(
        cell, np.concatenate((-values_a, values_b)), minlength=len(cells)
    )  # fmt: skip
    if shared:
        squares[0] += np.bincount(cells % shared, difference**2, minlength=shared)
        squares[1] += np.bincount(keys_a % shared, values_a**2, minlength=shared)
        squares[2] += np.bincount(keys_b % shared, values_b**2, minlength=shared)


def cells_of(rows: WeightRows, columns: Longs, shared: int) -> tuple[Longs, Floats]:
    """Return a number for each weight of a shared topic, by row and topic, and the weights."""
    column = columns[rows.columns] if len(columns) else np.empty(0, np.int64)
    used = column >= 0
    return rows.row_numbers()[used] * shared + column[used], rows.values[used]
