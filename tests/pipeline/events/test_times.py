"""Times of other forms become RFC 3339."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import UsageError
from pipeline.events.event import MalformedEvent
from pipeline.events.times import MAX_SIMPLE, UNITS, parse_number, since_1970, time_parser


@pytest.mark.parametrize(
    ("format_", "zone", "value", "time"),
    [
        ("seconds", "", 541350061, "1987-02-26T15:01:01Z"),
        ("seconds", "", 541350061.5, "1987-02-26T15:01:01.5Z"),
        ("seconds", "", "541350061", "1987-02-26T15:01:01Z"),
        ("seconds", "", "541350061.250", "1987-02-26T15:01:01.25Z"),
        ("milliseconds", "", 541350061007, "1987-02-26T15:01:01.007Z"),
        ("milliseconds", "", -1, "1969-12-31T23:59:59.999Z"),
        ("microseconds", "", 541350061000001, "1987-02-26T15:01:01.000001Z"),
        ("nanoseconds", "", 541350061000000999, "1987-02-26T15:01:01Z"),
        ("rfc3339", "", "1987-02-26t15:01:01z", "1987-02-26t15:01:01z"),
        ("iso8601", "", "1987-02-26T15:01+0100", "1987-02-26T15:01:00+01:00"),
        ("iso8601", "Europe/Zurich", "1987-07-26", "1987-07-26T00:00:00+02:00"),
        ("iso8601", "Europe/Zurich", "1987-02-26T15:01:01Z", "1987-02-26T15:01:01Z"),
        ("%d.%m.%Y %H:%M:%S %z", "", "26.02.1987 15:01:01 +0100", "1987-02-26T15:01:01+01:00"),
        ("%d.%m.%Y", "+05:30", "26.02.1987", "1987-02-26T00:00:00+05:30"),
        ("%d.%m.%y %H:%M", "UTC", "26.02.87 15:01", "1987-02-26T15:01:00Z"),
        ("%a, %d %b %Y %H:%M:%S %z", "", "Thu, 26 Feb 1987 15:01:01 GMT", None),
        ("%a, %d %b %Y %H:%M:%S %z", "", "Thu, 26 Feb 1987 15:01:01 +0000", "1987-02-26T15:01:01Z"),
        ("%d.%m.%Y", "UTC", "31.02.1987", None),
        ("%d.%m.%Y", "UTC", 26021987, None),
        ("iso8601", "", "1987-02-26T15:01:01", None),
        ("iso8601", "UTC", "yesterday", None),
        ("iso8601", "UTC", "1" * 10_000, None),
        ("seconds", "", True, None),
        ("seconds", "", "1e9", None),
        ("seconds", "", float("1e300"), None),
        ("seconds", "", 10**18, None),
        ("milliseconds", "", {"a": 1}, None),
        ("rfc3339", "", 541350061, None),
    ],
)
def test_a_time(format_: str, zone: str, value: object, time: str | None) -> None:
    parse = time_parser(format_, zone)
    assert parse(None) is None
    if time is not None:
        assert parse(value) == time
        return
    with pytest.raises(MalformedEvent) as refused:
        parse(value)
    assert refused.value.reason == "bad_time"


@pytest.mark.parametrize(
    ("format_", "zone", "advice"),
    [
        ("epoch", "", "write one of rfc3339, iso8601, seconds"),
        ("%d.%m.%Y", "", "add %z, or zone ="),
        ("%d.%m.%Y %z", "UTC", "leave out `zone`"),
        ("%d.%m.%Y %Z", "UTC", "write %z"),
        ("%H:%M", "UTC", "must have year, month and day"),
        ("%d.%m.%Y %Q", "UTC", "cannot be used"),
        ("%d.%m.%Y %", "UTC", "cannot be used"),
        ("%d.%m.%Y", "Mars/Olympus", "no time zone"),
        ("%d.%m.%Y", "../../etc/passwd", "no time zone"),
        ("seconds", "UTC", "leave out `zone`"),
        ("rfc3339", "UTC", "iso8601"),
    ],
)
def test_a_format_that_cannot_be_used(format_: str, zone: str, advice: str) -> None:
    with pytest.raises(UsageError) as refused:
        time_parser(format_, zone)
    assert advice in str(refused.value)


@given(st.integers(0, 2**33), st.integers(0, 999_999_999), st.sampled_from(sorted(UNITS)))
def test_the_fast_way_agrees(seconds: int, fraction: int, unit: str) -> None:
    number = seconds * UNITS[unit] + fraction * UNITS[unit] // 10**9
    if number < MAX_SIMPLE * UNITS[unit]:
        assert since_1970(number, UNITS[unit]) == parse_number(number, unit)
