"""Times in other forms than RFC 3339: numbers since 1970, and formats with a zone."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from pipeline.errors import UsageError
from pipeline.events.event import MalformedEvent, parse_time
from pipeline.events.json_types import describe_value

UNITS = {"seconds": 1, "milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}
MAX_TIME_CHARACTERS = 100
MAX_SIMPLE = 200 * 366 * 86_400  # seconds: until about 2170
SAMPLE = datetime(2004, 12, 31, 13, 14, 15, tzinfo=UTC)  # the day is not a month, nor the year

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBER = re.compile(r"-?\d{1,20}(?:\.\d{1,20})?", re.ASCII)
_OFFSET = re.compile(r"([+-])([01]\d|2[0-3]):?([0-5]\d)", re.ASCII)

TimeParser = Callable[[object], str | None]  # from a value to RFC 3339


def time_parser(format_: str, zone: str) -> TimeParser:
    """Return the parser of a time format, or raise `UsageError` with what to write instead."""
    if format_ == "rfc3339":
        if zone:
            raise UsageError("rfc3339 times have a zone; write format = 'iso8601' beside `zone`")
        return parse_time
    if format_ in UNITS:
        if zone:
            raise UsageError(f"{format_} since 1970 have no zone; leave out `zone`")
        return lambda value: parse_number(value, format_)
    if format_ == "iso8601":
        where = parse_zone(zone) if zone else None
        return lambda value: parse_iso8601(value, where)
    if "%" not in format_:
        known = ", ".join(("rfc3339", "iso8601", *UNITS))
        raise UsageError(
            f"there is no time format {format_[:80]!r}; write one of {known}, or one such as "
            "'%d.%m.%Y %H:%M:%S %z'"
        )
    where = _check_format(format_, zone)
    return lambda value: parse_formatted(value, format_, where)


def _check_format(format_: str, zone: str) -> tzinfo | None:
    if "%Z" in format_:
        raise UsageError("%Z, the name of a zone, is ambiguous; write %z, or the name as `zone`")
    if "%z" in format_ and zone:
        raise UsageError("the time format has %z, so leave out `zone`")
    if "%z" not in format_ and not zone:
        raise UsageError(
            f"the time format {format_[:80]!r} has no zone; add %z, or zone = 'Europe/Zurich' or "
            "'UTC'"
        )
    try:
        read = datetime.strptime(SAMPLE.strftime(format_), format_)
    except (ValueError, re.error, IndexError) as error:
        raise UsageError(f"the time format {format_[:80]!r} cannot be used: {error}") from None
    if read.date() != SAMPLE.date():
        raise UsageError(
            f"the time format {format_[:80]!r} must have year, month and day: %Y, %m and %d"
        )
    return parse_zone(zone) if zone else None


def parse_zone(name: str) -> tzinfo:
    """Return a time zone by its name, or by its difference to UTC."""
    offset = _OFFSET.fullmatch(name)
    if offset:
        sign = -1 if offset[1] == "-" else 1
        return timezone(sign * timedelta(hours=int(offset[2]), minutes=int(offset[3])))
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise UsageError(
            f"there is no time zone {name[:80]!r} on this machine; write a name such as "
            "'Europe/Zurich', a difference such as '+01:00', or 'UTC'"
        ) from None


def refused(value: object, expected: str) -> MalformedEvent:
    """Return the refusal of a value that is no such time."""
    return MalformedEvent("bad_time", f"expected {expected}, found {describe_value(value)}")


def parse_number(value: object, unit: str) -> str | None:
    """Parse a number since 1970, or its digits.

    >>> parse_number(541350061250, "milliseconds"), parse_number("-1.5", "seconds")
    ('1987-02-26T15:01:01.25Z', '1969-12-31T23:59:58.5Z')
    """
    if value is None:
        return None
    expected = f"{unit} since 1970"
    number = value
    if isinstance(number, str) and _NUMBER.fullmatch(number):
        number = float(number) if "." in number else int(number)
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise refused(value, expected)
    try:
        if isinstance(number, int):
            moment = _EPOCH + timedelta(microseconds=number * 10**6 // UNITS[unit])
        else:
            moment = _EPOCH + timedelta(seconds=number / UNITS[unit])
    except (OverflowError, ValueError):
        raise refused(value, f"{expected}, in the years 1 to 9999") from None
    return rfc3339(moment)


def since_1970(number: int, unit: int) -> str:
    """Return the time of a whole number of units since 1970; the usual case, so it is fast."""
    seconds, fraction = divmod(number, unit)
    minutes, seconds = divmod(seconds, 60)
    text = f"{minute_text(minutes)}{seconds:02}"
    if not fraction:
        return f"{text}Z"
    microseconds = fraction * 10**6 // unit
    return f"{text}.{microseconds:06}".rstrip("0") + "Z" if microseconds else f"{text}Z"


@lru_cache(maxsize=4096)
def minute_text(minutes: int) -> str:
    """Return the date, hour and minute so many minutes after the beginning of 1970."""
    return (_EPOCH + timedelta(minutes=minutes)).isoformat()[:17]


def parse_iso8601(value: object, zone: tzinfo | None) -> str | None:
    """Parse a time of ISO 8601, also a date alone; `zone` holds for times without one."""
    if value is None:
        return None
    expected = "a time as in ISO 8601"
    if not isinstance(value, str) or len(value) > MAX_TIME_CHARACTERS:
        raise refused(value, expected)
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise refused(value, expected) from None
    if moment.tzinfo is None:
        if zone is None:
            raise refused(value, f"{expected} with a zone (or set `zone`)")
        moment = moment.replace(tzinfo=zone)
    return rfc3339(moment)


def parse_formatted(value: object, format_: str, zone: tzinfo | None) -> str | None:
    """Parse a time by a format; `zone` is the zone of a format without %z."""
    if value is None:
        return None
    expected = f"a time in the format {format_[:80]!r}"
    if not isinstance(value, str) or len(value) > MAX_TIME_CHARACTERS:
        raise refused(value, expected)
    try:
        moment = datetime.strptime(value, format_)
    except ValueError:
        raise refused(value, expected) from None
    return rfc3339(moment if zone is None else moment.replace(tzinfo=zone))


def rfc3339(moment: datetime) -> str:
    """Return a moment as text, with no more digits of a second than it has.

    Zones with seconds, and years below 1000, which RFC 3339 cannot write, are refused.
    """
    offset = moment.utcoffset()
    text = moment.isoformat()
    if moment.microsecond:
        head, tail = text[:26], text[26:]
        text = head.rstrip("0") + tail
    text = text.removesuffix("+00:00") + "Z" if not offset else text
    parsed = parse_time(text)
    if parsed is None:
        raise refused(text, "a time")
    return parsed
