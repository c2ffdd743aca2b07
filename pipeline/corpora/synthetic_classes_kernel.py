"""The kernel of the stream of many classes: makes an event from a seed and the event's number.

There is no table of words. The words that signal classes lie on a ring, and every class has a
window of the ring that overlaps the windows of its neighbours. So 100,000 classes need no more
memory than the table of their frequencies. Only integers are used, as in the synthetic newswire.
"""

from __future__ import annotations

import numpy as np

from learners.jit import njit
from learners.splitmix import mix
from pipeline.corpora.synthetic_newswire_kernel import (
    TIME,
    Bytes,
    Ints,
    pick,
    put,
    put_digits,
    put_time,
    share,
    skewed,
)

WINDOW = 12
"""Number of words that signal a class; the first ones are the most frequent."""
STEP = 6
"""Words from the start of one window to the next; neighbouring classes share WINDOW - STEP."""
COMMON = 2_000
"""Number of words that signal no class."""
NEAR = 2
"""Distance up to which neighbouring classes contribute words to a document."""
LENGTH = 22, 36
"""Least and most words of a document; about 21 of them are different."""
TWO_CLASSES = 8
"""One document in TWO_CLASSES has two classes."""
MISFILED = 16
"""One document in MISFILED has the words of a class that is not its label."""

# Of SOURCES words of a document, this many are of its own class, of neighbouring classes and of any
# class; the others are common words.
OWN, NEIGHBOURS, ANY, SOURCES = 7, 2, 1, 16

ID = np.frombuffer(b'{"id":"classes-', dtype=np.uint8)
TEXT = np.frombuffer(b'","text":"', dtype=np.uint8)
LABELS = np.frombuffer(b'","topics":["class-', dtype=np.uint8)
AND = np.frombuffer(b'","class-', dtype=np.uint8)
TIME_AFTER_QUOTE = np.frombuffer(b'"' + TIME.tobytes(), dtype=np.uint8)
END = np.frombuffer(b'"}', dtype=np.uint8)
CONSONANTS = np.frombuffer(b"bcdfghjklmnpqrstvwxz", dtype=np.uint8)
VOWELS = np.frombuffer(b"aeiou", dtype=np.uint8)
SYLLABLES = len(CONSONANTS) * len(VOWELS)
MOST_BYTES = 160 + LENGTH[1] * 7
"""More bytes than any event needs: words have at most six letters."""


@njit
def signal(bits: np.uint64, chosen: int, classes: int, period: int, n: int) -> int:
    """The number of a word that signals a class when document `n` is written."""
    ring = STEP * classes
    place = (STEP * chosen + skewed(bits, WINDOW)) % ring
    if period > 0:
        # Each place changes at its own moment in the period, so that words change one at a time.
        # The new word of a place signalled other classes before, and may still do so.
        own = mix(np.uint64(place))
        epoch = (n + np.int64(own >> np.uint64(32)) % period) // period
        if epoch > 0:
            return share(mix(own + np.uint64(epoch)), ring)
    return int(place)


@njit
def put_word(buffer: Bytes, at: int, number: int, syllables: int) -> int:
    """Write an invented word and a space: one syllable per digit of its number in base 100."""
    for i in range(syllables):
        syllable = number // SYLLABLES ** (syllables - 1 - i) % SYLLABLES
        buffer[at] = CONSONANTS[syllable // len(VOWELS)]
        buffer[at + 1] = VOWELS[syllable % len(VOWELS)]
        at += 2
    buffer[at] = ord(" ")
    return at + 1


@njit
def put_text(
    bits: np.uint64, buffer: Bytes, at: int, common: Ints, first: int, second: int,
    classes: int, period: int, n: int,
) -> int:  # fmt: skip
    """Write the words of a document about two classes, which may be the same."""
    for _ in range(LENGTH[0] + share(bits, LENGTH[1] - LENGTH[0] + 1)):
        bits = mix(bits)
        source = share(bits, SOURCES)
        chosen = first if share(bits << np.uint64(32), 2) == 0 else second
        bits = mix(bits)
        if source < OWN + NEIGHBOURS + ANY:
            if source >= OWN + NEIGHBOURS:
                chosen = share(bits, classes)
            elif source >= OWN:
                chosen = (chosen + classes + share(bits, 2 * NEAR + 1) - NEAR) % classes
            word = signal(mix(bits), chosen, classes, period, n)
            at = put_word(buffer, at, word, 3)
        else:
            at = put_word(buffer, at, pick(bits, common, 0, COMMON), 2)
    return at - 1


@njit
def put_event(
    bits: np.uint64, buffer: Bytes, at: int, popular: Ints, common: Ints, period: int, n: int
) -> int:
    """Write event `n`, counted from 0; return where the next one goes."""
    classes = len(popular) // 2
    first = pick(bits, popular, 0, classes)
    bits = mix(bits)
    second = pick(bits, popular, 0, classes) if share(mix(bits), TWO_CLASSES) == 0 else first
    bits = mix(mix(bits))
    about, other = first, second
    if share(bits, MISFILED) == 0:
        about = other = pick(mix(bits), popular, 0, classes)
    bits = mix(mix(bits))
    at = put_digits(buffer, put(buffer, at, ID, 0, len(ID)), n + 1, 1)
    at = put(buffer, at, TEXT, 0, len(TEXT))
    at = put_text(bits, buffer, at, common, about, other, classes, period, n)
    at = put_digits(buffer, put(buffer, at, LABELS, 0, len(LABELS)), first, 5)
    if second != first:
        at = put_digits(buffer, put(buffer, at, AND, 0, len(AND)), second, 5)
    at = put(buffer, at, TIME_AFTER_QUOTE, 0, len(TIME_AFTER_QUOTE))
    return put(buffer, put_time(buffer, at, 35 * n), END, 0, len(END))


@njit
def write_events(
    popular: Ints, common: Ints, period: int, seed: int, first: int, last: int,
    buffer: Bytes, ends: Ints,
) -> None:  # fmt: skip
    """Write events `first` to `last` - 1, and where each of them ends."""
    at = 0
    for n in range(first, last):
        # Each event starts from its own number, so it does not depend on earlier events.
        bits = mix(mix(np.uint64(seed)) + np.uint64(n))
        at = put_event(bits, buffer, at, popular, common, period, n)
        ends[n - first] = at
