"""Claims of papers, chosen settings and tables, on made-up losses and results."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from learners.arrays import Floats
from pipeline.experiments.experiment import Result
from pipeline.experiments.ordinal_ranking.claims import Claim, claims_table, judge
from pipeline.experiments.ordinal_ranking.method_comparison import (
    Batch,
    MethodComparison,
    curves_csv,
    half_widths,
    tables_of,
)
from pipeline.experiments.ordinal_ranking.rank_sequences import (
    OrdinalMethod,
    RankSequence,
    kept_rounds,
    losses_of,
)

pytest.importorskip("scipy", reason="pip install 'wirerank[experiments]'")
ROUNDS = [1, 2, 4]


def losses(last: list[float], first: float = 1.0) -> Floats:
    return np.array([[first, first, value] for value in last])


@pytest.mark.parametrize(
    ("ours", "others", "word", "wins"),
    [
        ([0.1] * 10, [0.2] * 10, "HELD", 10),
        ([0.1] * 9 + [0.3], [0.2] * 10, "HELD", 9),
        ([0.2] * 10, [0.1] * 10, "DID NOT HOLD", 0),
        ([0.1] * 8 + [0.3] * 2, [0.2] * 10, "NOT SETTLED", 8),  # p = 0.11
        ([0.1] * 5, [0.2] * 5, "NOT SETTLED", 5),  # p = 0.0625
        ([0.2] * 10, [0.2] * 10, "NOT SETTLED", 0),
        ([0.1] * 9 + [9.0], [0.2] * 10, "NOT SETTLED", 9),  # lower almost always, but not in mean
    ],
)
def test_a_claim_holds_if_means_and_sign_test_agree(
    ours: list[float], others: list[float], word: str, wins: int
) -> None:
    claim = Claim("a ends below b", ("a",), ("b",))
    verdict = judge(claim, ROUNDS, {"a": losses(ours), "b": losses(others)})
    assert verdict.outcome == word
    assert verdict.test.wins == wins
    assert verdict.line().startswith(f"{word}: a ends below b. Mean loss at round 4: ")
    assert f"lower in {wins} of {len(ours)} repetitions" in verdict.line()


def test_the_worst_of_the_lower_meets_the_best_of_the_higher() -> None:
    curves = {
        "a": losses([0.1, 0.4]), "b": losses([0.2, 0.1]),
        "c": losses([0.3, 0.5]), "d": losses([0.9, 0.3]),
    }  # fmt: skip
    verdict = judge(Claim("t", ("a", "b"), ("c", "d")), ROUNDS, curves)
    assert [verdict.lower, verdict.higher] == pytest.approx([0.3, 0.3])
    assert verdict.test[:3] == (1, 1, 0)


def test_a_claim_is_about_its_round_and_says_since_when() -> None:
    curves = {"a": np.array([[3.0, 1.0, 1.0]] * 6), "b": np.array([[2.0, 2.0, 2.0]] * 6)}
    late, early = (judge(Claim("t", ("a",), ("b",), at), ROUNDS, curves) for at in (None, 1))
    assert (late.outcome, late.at, late.since) == ("HELD", 4, 2)
    assert "The mean is lower from round 2 on." in late.line()
    assert (early.outcome, early.at) == ("DID NOT HOLD", 1)
    back = judge(Claim("t", ("b",), ("a",), ours=True), ROUNDS, curves)
    assert back.since is None
    assert back.line().startswith("DID NOT HOLD (not a claim of the paper): t. ")
    assert back.line().endswith("The mean is not lower at the end.")
    table = claims_table("claims", "Claims", [late, back])
    assert table.notes == [late.line(), back.line()]
    assert table.rows[0].ours["difference"].value == -1.0


def test_curves_are_kept_at_the_rounds_of_the_table_and_the_last() -> None:
    kept = kept_rounds(7000, (100, 500, 9000))
    assert kept == sorted(set(kept))
    assert {1, 100, 500, 7000} <= set(kept)
    assert max(kept) == 7000
    assert len(kept) < 100


def test_the_confidence_interval_by_hand() -> None:
    # Student's t with one degree of freedom: 12.706; the deviation of 1 and 3 is the root of 2.
    assert half_widths(np.array([[1.0], [3.0]])) == pytest.approx([12.7062])
    assert half_widths(np.array([[1.0, 2.0]])) == [None, None]


def test_the_best_constant_is_the_median() -> None:
    ranks = np.array([1, 5, 4, 5, 3, 2])
    sequence = RankSequence(np.zeros((6, 1)), ranks)
    actual = losses_of(OrdinalMethod("c", "constant", "", ""), None, sequence, 5)
    assert actual.sum() == min(np.abs(ranks - rank).sum() for rank in range(1, 6))


def test_settings_are_chosen_on_held_out_sequences_alone() -> None:
    methods = (
        OrdinalMethod("p", "P", "", "prank"),
        OrdinalMethod("w", "W", "", "widrow-hoff:rate={}", (0.1, 0.2), ours=True),
    )
    comparison = MethodComparison(
        "made-up", "Made up", 5, 4, (2, 4), methods, (Claim("P ends below W", ("p",), ("w",)),),
        [Batch("h 1", list), Batch("h 2", list)], [Batch("t", list)],
    )  # fmt: skip
    known: dict[str, Result] = {
        "h 1": {"losses": {"p": [0.5], "w 0.1": [0.1], "w 0.2": [0.3]}},
        "h 2": {"losses": {"p": [0.5], "w 0.1": [0.9], "w 0.2": [0.3]}},
        "t": {"summed_losses": {"p": [[1, 1, 1, 2], [0, 0, 0, 0]], "w": [[1, 2, 3, 4]] * 2}},
    }
    assert comparison.kept == [1, 2, 3, 4]
    assert comparison.chosen(known) == {"p": None, "w": 0.2}
    loss, claims, grid = tables_of(comparison, known)
    assert loss.title == "Made up: time-averaged ranking loss, 2 repetitions"
    assert [row.label for row in loss.rows] == ["P", "W (rate 0.2, ours)"]
    assert loss.rows[0].ours["round_4"] == pytest.approx((0.25, 0.5 / 2**0.5))
    start = "NOT SETTLED: P ends below W. Mean loss at round 4: 0.250 against 1.000"
    assert claims.notes[0].startswith(start)
    labels = [row.label for row in grid.rows]
    assert labels == ["P", "W (rate 0.1, ours)", "W (rate 0.2, ours) (chosen)"]
    rows = list(csv.DictReader(io.StringIO(curves_csv(comparison, known).decode())))
    assert len(rows) == 8
    assert (rows[3]["method"], rows[3]["round"]) == ("P", "4")
    assert float(rows[3]["loss"]) == 0.25
    assert float(rows[3]["confidence_95"]) == pytest.approx(12.7062 * 0.25)
    assert {row["repetitions"] for row in rows} == {"2"}
