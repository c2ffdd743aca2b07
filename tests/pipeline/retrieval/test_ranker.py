"""A ranker in a file: it is read back bit for bit, or refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pipeline.errors import UsageError
from pipeline.retrieval.features import Description, Form
from pipeline.retrieval.normalisation import NORMALISATIONS, normalised
from pipeline.retrieval.ranker import KIND, VERSION, Ranker
from pipeline.storage.container import pack
from tests.support.two_queries import two_queries


def a_ranker(form: Form) -> Ranker:
    queries = two_queries()
    description = Description.fitted(form, normalised(queries, form.normalise))
    weights = np.random.default_rng(2).normal(size=description.width)
    return Ranker(queries.functions, description, weights, {"machine": "map", "cost": 0.1})


@pytest.mark.parametrize("normalise", NORMALISATIONS)
@pytest.mark.parametrize("cuts", [0, 7])
def test_a_ranker_comes_back_bit_for_bit(tmp_path: Path, normalise: str, cuts: int) -> None:
    ranker = a_ranker(Form(normalise, cuts))
    ranker.save(tmp_path / "ranker")
    back = Ranker.load(tmp_path / "ranker")
    assert back.weights.tobytes() == ranker.weights.tobytes()
    assert back.description.cuts.tobytes() == ranker.description.cuts.tobytes()
    assert (back.functions, back.description.form) == (ranker.functions, Form(normalise, cuts))
    assert back.settings == {"machine": "map", "cost": 0.1}
    scores = ranker.scores(two_queries())
    np.testing.assert_array_equal(back.scores(two_queries()), scores)
    back.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "ranker").read_bytes()


def test_documents_by_falling_score() -> None:
    queries = two_queries()
    description = Description.fitted(Form("minmax", 0), queries.values)
    actual = Ranker(queries.functions, description, np.array([1.0, 0.0])).ranked(queries, top=2)
    assert actual == {"1": [("c", 1.0), ("d", 0.25)], "2": [("b", 1.0), ("a", 0.0)]}


def test_other_functions_are_refused() -> None:
    ranker = a_ranker(Form())
    other = Ranker(("f", "h"), ranker.description, ranker.weights)
    with pytest.raises(UsageError, match="trained on the functions f, h; expected the same"):
        other.scores(two_queries())


def test_damage_is_noticed_wherever_it_is(tmp_path: Path) -> None:
    path = tmp_path / "ranker"
    a_ranker(Form("minmax", 3)).save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(7)
    for place in [0, 4, 8, 12, 16, len(whole) - 1, *rng.integers(0, len(whole), 40).tolist()]:
        if 6 <= place < 8:  # two bytes that mean nothing
            continue
        damaged = bytearray(whole)
        damaged[place] ^= 0x10
        path.write_bytes(damaged)
        with pytest.raises(UsageError, match=r"damaged|wrong file type|version|cut off"):
            Ranker.load(path)
    for length in (0, 3, 15, 40, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(UsageError, match="save the ranker again"):
            Ranker.load(path)
    with pytest.raises(UsageError, match="cannot be read"):
        Ranker.load(tmp_path / "none")


def test_what_does_not_fit_together_is_refused(tmp_path: Path) -> None:
    """A valid container with unexpected content is refused."""
    good = {"functions": ["f"], "normalise": "minmax", "cuts": 2, "settings": {}}
    arrays = {"weights": np.zeros(2), "cuts": np.zeros((1, 2))}
    path = tmp_path / "ranker"
    path.write_bytes(pack(KIND, VERSION, good, arrays))
    assert Ranker.load(path).functions == ("f",)
    for content, other in (
        ({**good, "functions": ["f", "g"]}, arrays),
        ({**good, "functions": [1]}, arrays),
        ({**good, "functions": None}, arrays),
        ({**good, "normalise": "mean"}, arrays),
        ({**good, "normalise": []}, arrays),
        ({**good, "cuts": "2"}, arrays),
        ({**good, "cuts": 10**9}, arrays),
        ({**good, "settings": 3}, arrays),
        (good, {"weights": np.zeros(2)}),
        (good, {**arrays, "weights": np.zeros(3)}),
        (good, {**arrays, "weights": np.full(2, np.nan)}),
        (good, {**arrays, "weights": np.zeros(2, np.int64)}),
    ):
        path.write_bytes(pack(KIND, VERSION, content, other))
        with pytest.raises(UsageError, match="do not fit together"):
            Ranker.load(path)
