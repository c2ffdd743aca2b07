"""Values that programs stumble over: the dictionary of all mutators."""

from __future__ import annotations

from typing import Any

NUMBERS: tuple[int | float, ...] = (
    0, 1, -1, 2, 7, 8, 255, 256, 65_535, 65_536, 2**31 - 1, 2**31, -(2**31), 2**32, 2**53 + 1,
    2**62, 2**63 - 1, -(2**63), 0.5, -0.0, 5e-324, 1e-75, 1e-76, 1e75, 1e76, 1e308, -1e308,
)  # fmt: skip

# JSON texts that no JSON library writes, but that a sender can.
RAW_JSON = (
    b"NaN", b"-Infinity", b"1e999", b"-1e-999", b"9" * 400, b"1" + b"0" * 5000, b"0x10", b"-",
    b"01", b'"\\ud800"', b'"\\udc00\\ud800"', b'"\\u0000"', b'"\\ud83d\\ude00"', b'"\xff"',
    b"[" * 2000, b"[" * 500 + b"]" * 500, b'{"a":' * 500 + b"1" + b"}" * 500, b"", b'"', b"nul",
    b'{"a":1,"a":2}',
)  # fmt: skip

# Pieces of text: combining marks, joiners, directions, controls, case pairs, digits, planes.
CHARACTERS = (
    "a", "Z", "0", " ", "\n", "\r\n", "\t", "\x00", "\x1b[2J", "\x7f", "\x85", "\u00a0", "\u00ad",
    "\u0130", "\u0131", "\u00df", "\u1e9e", "\u03a3", "\u03c2", "\ufb01", "\u01c5", "\u0300",
    "\u0315", "\u0345", "\u0327", "\u0903", "\u093f", "\u1100\u1161\u11a8", "\uac00", "\u0660",
    "\u00b2", "\u2460", "\u2028", "\u200b", "\u200d", "\u202e", "\u2066", "\ufeff", "\ufffd",
    "\uffff", "\U0001f600", "\U0001f3fd", "\U000e0100", "\U000e0041", "\U00020000", "\U0010ffff",
    "\u212b", "\u2126", "e\u0301", "q\u0323\u0307", "$", "\\", '"', "'", "`", "<", ">", "&", ";",
    "%", "{", "}", "[", "]", "=", ",", ":", "#", "../", "NaN", "null", "1e999",
)  # fmt: skip
SURROGATES = (
    "\ud800",
    "\udfff",
    "\udc80",
    "\ud83d",
)  # halves of characters, where text allows them

ODD_JSON: tuple[Any, ...] = (
    None, True, False, "", " ", [], {}, [[]], [{}], {"": None}, {"a": {"b": {"c": []}}}, "x" * 300,
    [None] * 5, ["a", "a"], [1, "a", None], {"id": 1}, "1987-02-26T15:01:01Z", "\u0000", *NUMBERS,
)  # fmt: skip

BYTES = (
    b"\x00", b"\xff", b"\x80", b"\n", b"\r", b" ", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc0\x80",
    b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x1f\x8b", b"PK\x03\x04", b"\x00" * 8, b"\xff" * 8,
    b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff\xff\xff\x7f", b"\x00\x00\x00\x80", b"-1",
    b"99999999999999999999", b"nan", b"1e400", b"%s%n", b"../", b"\x1b]0;x\x07",
)  # fmt: skip
