"""Pacing by the events' own times, on a clock that a test winds."""

from __future__ import annotations

import pytest

from pipeline.errors import UsageError
from pipeline.replay.pacing import Pace, read_speed, seconds_of


def test_due() -> None:
    pace = Pace(60)
    assert pace.due(None, 100.0) == 100.0
    assert pace.due("1987-02-26T10:00:00Z", 200.0) == 200.0  # the clock starts here
    assert pace.due("1987-02-26T10:01:00Z", 200.1) == 201.0
    assert pace.due("1987-02-26T10:00:30Z", 201.0) == 201.0  # earlier: at once
    assert pace.due(None, 201.5) == 201.0
    assert pace.due("1987-02-26T12:02:00+02:00", 201.5) == 202.0
    assert pace.due("1987-02-31T00:00:00Z", 202.5) == 202.0
    assert pace.due("1987-02-26T10:03:00Z", 500.0) == 203.0  # late: catches up


@pytest.mark.parametrize(
    "text", ["", "x", "60", "-1x", "0x", "0.0x", "1e3x", "nanx", "infx", "MAX"]
)
def test_what_is_no_speed(text: str) -> None:
    with pytest.raises(UsageError, match="--speed must be max, or a factor such as 60x"):
        read_speed(text)


def test_every_time_that_events_may_have() -> None:
    assert seconds_of("1970-01-01t00:00:01z") == 1.0
    assert seconds_of("1970-01-01 00:00:01.1234567891Z") == pytest.approx(1.123456)
    assert seconds_of("1969-12-31T23:00:00-01:30") == 1800.0
    assert seconds_of("0000-01-01T00:00:00Z") is None
    assert seconds_of("9999-12-31T23:59:60Z") is None
