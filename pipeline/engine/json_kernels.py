"""Kernels that copy pieces of JSON text into an output."""

from __future__ import annotations

from learners.arrays import Bytes
from learners.jit import njit_inline
from pipeline.storage.binary_array import BinaryArray

COMMA, ZERO = ord(","), ord("0")


@njit_inline
def put(output: Bytes, at: int, data: Bytes, start: int, stop: int) -> int:
    """Copy `data[start:stop]` to the output; return where the copy ends."""
    for i in range(start, stop):
        output[at] = data[i]
        at += 1
    return at


@njit_inline
def put_string(output: Bytes, at: int, strings: BinaryArray, i: int) -> int:
    """Copy the i-th string to the output; return where the copy ends."""
    return put(output, at, strings.data, strings.offsets[i], strings.offsets[i + 1])


@njit_inline
def put_number(output: Bytes, at: int, number: int) -> int:
    """Write an integer that is not negative; return where its digits end."""
    digits, rest = 1, number // 10
    while rest > 0:
        digits += 1
        rest //= 10
    for i in range(digits):
        output[at + digits - 1 - i] = ZERO + number % 10
        number //= 10
    return at + digits


@njit_inline
def number_end(numbers: Bytes, start: int) -> int:
    """Return where a number of a JSON list ends that starts at `start`."""
    stop = start
    while numbers[stop] != COMMA and stop < len(numbers) - 1:
        stop += 1
    return stop
