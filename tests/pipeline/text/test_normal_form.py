"""The composed forms: those of `unicodedata`, without its quadratic time on runs of marks."""

from __future__ import annotations

import random
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.text.normal_form import (
    DECOMPOSED,
    LONGEST_RUN,
    Form,
    composed,
    in_canonical_order,
    is_non_starter,
    non_starters,
)

# Above and below the letter (classes 230, 220, 232), two that decompose to two marks each, the
# second of which has no class of its own, one of half width, and letters that decompose to a letter
# and marks.
MARKS = "\u0300\u0316\u0315\u0344\u0f73\uff9e"
LETTERS = "ae\u00e9\u1f82\uac00\u0915\uff76\ufdfa\u00a8 "
FORMS: tuple[Form, ...] = ("NFC", "NFKC")


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from(MARKS + LETTERS), max_size=300))
def test_equals_the_form_of_unicode(form: Form, text: str) -> None:
    assert composed(text, form) == unicodedata.normalize(form, text)


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(LETTERS), st.integers(0, 200)), max_size=8))
def test_equals_the_form_of_unicode_on_long_runs(
    form: Form, lengths: list[tuple[str, int]]
) -> None:
    rng = random.Random(0)
    text = "".join(letter + "".join(rng.choices(MARKS, k=n)) for letter, n in lengths)
    assert composed(text, form) == unicodedata.normalize(form, text)


@pytest.mark.parametrize("form", FORMS)
def test_every_character_that_can_be_out_of_order_is_known(form: Form) -> None:
    everything = (chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000)
    assert non_starters(form) == {one for one in everything if is_non_starter(one, form)}


@pytest.mark.parametrize("place", range(LONGEST_RUN + 2))
def test_a_long_run_is_found_at_any_place(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []

    def note(run: str, form: Form) -> str:
        found.append(run)
        return run

    monkeypatch.setattr("pipeline.text.normal_form.in_canonical_order", note)
    run = "\u0315\u0300" * (LONGEST_RUN // 2 + 1)
    composed("\u00e9" * place + run[: LONGEST_RUN + 1] + "\u00e9")
    assert found == [run[: LONGEST_RUN + 1]]


@pytest.mark.parametrize("form", FORMS)
def test_a_run_is_sorted_by_class_and_otherwise_keeps_its_order(form: Form) -> None:
    run = "\u0315\u0301\u0316\u0300\u0344\u0317" * 1000
    ordered = in_canonical_order(run, form)
    assert ordered == unicodedata.normalize(DECOMPOSED[form], run)
    classes = [unicodedata.combining(mark) for mark in ordered]
    assert classes == sorted(classes)
