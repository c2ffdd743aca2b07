"""Mutators of bytes, of text, and of JSON trees. All randomness comes from the given generator."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import orjson

from tests.fuzz.values import BYTES, CHARACTERS, NUMBERS, ODD_JSON, RAW_JSON

MARK = "\u241amark"  # stands for raw JSON text until the tree is written


def few(rng: Random, most: int = 8) -> int:
    """Return how many changes to make: mostly one, seldom many."""
    return min(most, 1 + int(rng.expovariate(0.9)))


def span_of(rng: Random, length: int) -> tuple[int, int]:
    """Return a random span, short ones more often."""
    start = int(rng.random() * length)
    size = int(length * rng.random() ** 4) + 1
    return start, min(length, start + size)


def blown_up(rng: Random, data: bytes, most: int) -> bytes:
    """Return the data with a piece of it repeated until it is large: finds what is not linear."""
    start, stop = span_of(rng, len(data) or 1)
    piece = data[start:stop] or b"a"
    if rng.random() < 0.3:
        piece = rng.choice(CHARACTERS).encode()
    if rng.random() < 0.3:
        piece += rng.choice(CHARACTERS).encode()
    size = int(most * 2.0 ** (-6 * rng.random()))
    return data[:start] + piece * (size // len(piece)) + data[start:]


def mutate_bytes(rng: Random, data: bytes, other: bytes, words: Sequence[bytes] = BYTES) -> bytes:
    """Return the data with a few changes; `other` is another input to take pieces from."""
    for _ in range(few(rng)):
        start, stop = span_of(rng, len(data) or 1)
        kind = int(rng.random() * 9)
        if kind == 0 and data:
            changed = bytearray(data)
            changed[start] ^= 1 << int(rng.random() * 8)
            data = bytes(changed)
        elif kind == 1:
            data = data[:start] + rng.choice(words) + data[start:]
        elif kind == 2:
            data = data[:start] + rng.choice(words) + data[stop:]
        elif kind == 3:
            data = data[:start] + data[stop:]
        elif kind == 4:
            data = data[:stop] + data[start:]
        elif kind == 5:
            data = data[:start] + data[start:stop] * int(2 + rng.random() * 30) + data[stop:]
        elif kind == 6:
            begin, end = span_of(rng, len(other) or 1)
            data = data[:start] + other[begin:end] + data[stop:]
        elif kind == 7:
            data = data[:start] + rng.randbytes(min(16, stop - start)) + data[stop:]
        else:
            number = rng.choice(NUMBERS)
            data = data[:start] + repr(number).encode() + data[stop:]
    return data


def mutate_text(rng: Random, text: str, other: str, words: Sequence[str] = CHARACTERS) -> str:
    """Return the text with a few changes."""
    for _ in range(few(rng)):
        start, stop = span_of(rng, len(text) or 1)
        kind = int(rng.random() * 9)
        if kind <= 1:
            text = text[:start] + rng.choice(words) + text[start:]
        elif kind == 2:
            text = text[:start] + rng.choice(words) + text[stop:]
        elif kind == 3:
            text = text[:start] + text[stop:]
        elif kind == 4:
            text = text[:start] + text[start:stop] * int(2 + rng.random() * 30) + text[stop:]
        elif kind == 5:
            begin, end = span_of(rng, len(other) or 1)
            text = text[:start] + other[begin:end] + text[stop:]
        elif kind == 6:
            text = text[:start] + random_character(rng) + text[start + 1 :]
        elif kind == 7:
            text = text[:start] + text[start:stop].swapcase() + text[stop:]
        else:
            run = rng.choice(words) + rng.choice(words)
            text = text[:start] + run * int(1 + rng.random() * 60) + text[start:]
    return text


def random_character(rng: Random) -> str:
    """Return a character of any script; never half of one."""
    point = int(rng.choice((0x80, 0x250, 0x3000, 0x10000, 0x110000)) * rng.random())
    return " " if 0xD800 <= point < 0xE000 else chr(point)


class JsonMutator:
    """Changes JSON trees: values, keys, lists and nesting; `words` are keys and strings to use."""

    def __init__(self, keys: Sequence[str] = (), words: Sequence[Any] = ()) -> None:
        self._keys = [*keys, "", "a", "\u0000", "x" * 300]
        self._values = [*words, *words, *ODD_JSON]
        self._raw: list[bytes] = []

    def mutate(self, rng: Random, data: bytes, other: bytes) -> bytes:
        """Return a changed JSON text; bytes that are not JSON are changed as bytes."""
        try:
            tree = orjson.loads(data)
        except orjson.JSONDecodeError:
            return mutate_bytes(rng, data, other)
        text = self.written(rng, self.changed(rng, tree))
        return mutate_bytes(rng, text, other) if rng.random() < 0.08 else text

    def changed(self, rng: Random, tree: Any) -> Any:  # noqa: ANN401 - any JSON value
        """Return a tree with a few changes; it may be changed in place."""
        self._raw = []
        holder = [tree]
        for _ in range(few(rng, 5)):
            self._change(rng, holder)
        return holder[0]

    def written(self, rng: Random, tree: Any) -> bytes:  # noqa: ANN401
        """Return the changed tree as JSON text."""
        try:
            text = orjson.dumps(tree)
        except TypeError:  # a number beyond 64 bits, or too deep
            return rng.choice(RAW_JSON)
        for number, raw in enumerate(self._raw):
            text = text.replace(f'"{MARK}{number}"'.encode(), raw)
        return text

    def _change(self, rng: Random, holder: list[Any]) -> None:
        place: Any = holder
        key: Any = 0
        while isinstance(value := place[key], dict | list) and value and rng.random() < 0.75:
            if isinstance(value, dict):
                place, key = value, rng.choice(list(value))
            else:
                place, key = value, int(rng.random() * len(value))
        place[key] = self._other_value(rng, value)
        if place is not holder and rng.random() < 0.15:
            if isinstance(place, dict) and rng.random() < 0.5:
                place[rng.choice(self._keys)] = place.pop(key)
            else:
                del place[key]

    def _other_value(self, rng: Random, value: Any) -> Any:  # noqa: ANN401
        kind = rng.random()
        if kind < 0.08:
            self._raw.append(rng.choice(RAW_JSON))
            return f"{MARK}{len(self._raw) - 1}"
        if kind < 0.3:
            return self._odd(rng)
        if isinstance(value, str):
            return mutate_text(rng, value, rng.choice(CHARACTERS))
        if isinstance(value, int | float):
            numbers = (value + 1, value - 1, -value, value * 2, value / 3, rng.choice(NUMBERS))
            return rng.choice(numbers)
        if isinstance(value, list):
            return self._other_list(rng, value)
        if isinstance(value, dict):
            copy = dict(value)
            copy[rng.choice(self._keys)] = self._odd(rng)
            return copy
        return self._odd(rng)

    def _odd(self, rng: Random) -> Any:  # noqa: ANN401
        """Return an odd value; containers are copied, because trees are changed in place."""
        value = rng.choice(self._values)
        return orjson.loads(orjson.dumps(value)) if isinstance(value, list | dict) else value

    def _other_list(self, rng: Random, value: list[Any]) -> list[Any]:
        kind = rng.random()
        if kind < 0.3:
            return [*value, self._odd(rng)]
        if kind < 0.5:
            return value * int(1 + rng.random() * 40)
        if kind < 0.7:
            return value[::-1]
        start, stop = span_of(rng, len(value) or 1)
        return value[:start] + value[stop:] if kind < 0.85 else [value]


def keys_in(tree: Any) -> set[str]:  # noqa: ANN401 - any JSON value
    """Return all keys of a tree."""
    if isinstance(tree, dict):
        return set(tree).union(*map(keys_in, tree.values()))
    return set[str]().union(*map(keys_in, tree)) if isinstance(tree, list) else set()
