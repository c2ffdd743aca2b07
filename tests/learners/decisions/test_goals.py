"""Goals of sets: what is not understood is explained, with a guess only where it is likely."""

from __future__ import annotations

import pytest

from learners.decisions.goals import MICRO, PRECISION, RECALL, Goal, parse_goal
from learners.options import OptionError


def test_goals_are_read() -> None:
    assert parse_goal("micro") == Goal(MICRO)
    assert parse_goal("precision:0.95") == Goal(PRECISION, 0.95)
    assert parse_goal("recall:1e-3") == Goal(RECALL, 0.001)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("precision:95", " Did you mean precision:0.95?"),
        ("recall:10", " Did you mean recall:0.1?"),
        ("precision:1.5", ""),
        ("precision:100", ""),
        ("precision:nan", ""),
        ("micro:0.9", ""),
        ("precision", ""),
        ("best", ""),
    ],
)
def test_only_percentages_lead_to_a_guess(text: str, hint: str) -> None:
    with pytest.raises(OptionError) as refused:
        parse_goal(text)
    assert str(refused.value).endswith(f"Got {text!r}.{hint}")
