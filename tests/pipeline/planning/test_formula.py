"""Formulas: coefficients of at least 0, least squares of relative errors."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.errors import UsageError
from pipeline.planning.formula import FEATURES, Formula, Load, Sample, feature, fit

LOADS = [Load(topics=k, terms=t, shards=n) for k in (10, 1000) for t in (5, 100) for n in (1, 4)]


def test_what_was_put_in_comes_out() -> None:
    true = Formula({"1": 3.0, "t": 0.5, "K t/N": 0.002})
    fitted = fit([Sample(load, true.at(load)) for load in LOADS], ("1", "t", "K", "K/N", "K t/N"))
    assert fitted.coefficients == pytest.approx(true.coefficients)
    assert fitted.largest_error < 1e-9
    assert fitted.samples == len(LOADS)


@pytest.mark.parametrize("seed", range(5))
def test_noise_never_makes_a_coefficient_negative(seed: int) -> None:
    rng = np.random.default_rng(seed)
    samples = [Sample(load, float(rng.lognormal(3, 1))) for load in LOADS]
    fitted = fit(samples, ("1", "t", "K", "K t", "K/N"))
    assert min(fitted.coefficients.values()) > 0
    assert fitted.median_error <= fitted.largest_error


def test_large_and_small_measurements_count_the_same() -> None:
    """Errors are relative: 10 % of a microsecond is as bad as 10 % of a second."""
    samples = [Sample(Load(topics=1), 1.1), Sample(Load(topics=1e6), 0.9e6)]
    fitted = fit(samples, ("K",))
    errors = [abs(fitted.at(sample.load) / sample.value - 1) for sample in samples]
    assert errors[0] == pytest.approx(errors[1], rel=0.25)


def test_measurements_that_cannot_be_fitted_are_refused() -> None:
    with pytest.raises(ValueError, match="above 0"):
        fit([], ("1",))
    with pytest.raises(ValueError, match="above 0"):
        fit([Sample(Load(), 0.0)], ("1",))


def test_features_grow_with_topics_and_terms() -> None:
    for name in FEATURES:
        small = feature(name, Load(10, 10, 2, 10, 10))
        assert feature(name, Load(20, 10, 2, 10, 10)) >= small
        assert feature(name, Load(10, 20, 2, 10, 10)) >= small


def test_a_formula_is_what_was_written() -> None:
    formula = Formula({"1": 2.0, "K t": 0.25}, 7, 0.0625, 0.125)
    assert Formula.from_content(formula.content(), "x") == formula
    assert formula.times(2).at(Load(4, 2)) == 2 * formula.at(Load(4, 2))


@pytest.mark.parametrize(
    "content",
    [None, {}, {"coefficients": {"1": "x"}}, {"coefficients": [1]},
     {"coefficients": {"Z": 1.0}, "samples": 1, "median_error": 0, "largest_error": 0},
     {"coefficients": {"1": -1.0}, "samples": 1, "median_error": 0, "largest_error": 0},
     {"coefficients": {"1": "nan"}, "samples": 1, "median_error": 0, "largest_error": 0}],
)  # fmt: skip
def test_a_damaged_formula_is_refused(content: object) -> None:
    with pytest.raises(UsageError, match="'lane mmp'"):
        Formula.from_content(content, "lane mmp")
