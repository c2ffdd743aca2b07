"""What each character is to the tokenizer: its kind, and what it is folded to.

A table has one entry per code point, for compiled code. The tables depend on the profile:

- `fold=compatibility` drops what only changes how a letter looks or sounds: invisible characters,
  the elongation and the vowel marks of Arabic, the points of Hebrew. Variants of the same Arabic
  letter become one, and decimal digits of all scripts become 0 to 9. The joiners of Indic scripts
  vanish without separating anything, so no cluster is broken.
- `fold=accents` also drops the marks of Latin, Greek and Cyrillic letters, and the strokes of
  letters such as Polish l. Marks of other scripts stay: there they are vowels.
- `unspaced` makes the letters of scripts that are written without spaces a kind of their own.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import NamedTuple

import numpy as np

from learners.arrays import Bytes, Ints

BLANK = ord(" ")
SPACE, LETTER, DIGIT, MARK, OTHER, UNSPACED, ACCENTED, DROPPED = range(8)

# Blocks of Unicode with scripts that put no spaces between words, first and last code point.
UNSPACED_BLOCKS = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x1950, 0x19DF),  # Tai Le, New Tai Lue
    (0x1A20, 0x1AAF),  # Tai Tham
    (0x2E80, 0x2FDF),  # radicals
    (0x3005, 0x3007),  # iteration mark, closing mark, zero
    (0x3021, 0x30FF),  # Hangzhou numerals, Hiragana, Katakana
    (0x3100, 0x312F),  # Bopomofo
    (0x31A0, 0x31FF),  # Bopomofo, Katakana
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),  # Han
    (0xA980, 0xA9FF),  # Javanese, Myanmar
    (0xAA60, 0xAA7F),  # Myanmar
    (0xF900, 0xFAFF),  # Han
    (0x1AFF0, 0x1B16F),  # Kana
    (0x20000, 0x3FFFF),  # Han
)
# Signs that put the next consonant below the last one, in one cluster: Myanmar, Khmer, Tai Tham.
STACKERS = (0x1039, 0x17D2, 0x1A60)

# Marks that Arabic and Hebrew leave out of ordinary text, and the Arabic elongation.
OPTIONAL_MARKS = (
    (0x0591, 0x05BD), (0x05BF, 0x05BF), (0x05C1, 0x05C2), (0x05C4, 0x05C5), (0x05C7, 0x05C7),
    (0x0610, 0x061A), (0x0640, 0x0640), (0x064B, 0x065F), (0x0670, 0x0670), (0x06D6, 0x06DC),
    (0x06DF, 0x06E4), (0x06E7, 0x06E8), (0x06EA, 0x06ED), (0x08D3, 0x08E1), (0x08E3, 0x08FF),
)  # fmt: skip
# Soft hyphen, joiners, directions, variation selectors, byte order mark. Not the space of no width.
INVISIBLE = (
    (0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5),
    (0x180B, 0x180F), (0x200C, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164),
    (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xE0000, 0xE0FFF),
)  # fmt: skip
# Arabic: alef with hamza, madda or wasla is alef; alef maksura and Farsi yeh are yeh; the hehs of
# other languages are heh; keheh is kaf. Teh marbuta stays, because it tells the stemmer of Arabic
# where a word ends.
VARIANTS = dict(zip("آأإٱىیےەہک", "اااايييههك", strict=True))
# Letters with a stroke, which Unicode does not decompose, and the dotless i.
STROKES = dict(zip("øłđħŧıƀɨƶ", "oldhtibiz", strict=True))

MARKED_SCRIPTS = ("LATIN", "GREEK", "CYRILLIC")
LAST_ACCENTED = 0x2DFF  # behind it there are only letters that are folded by NFKC


class CharacterTables(NamedTuple):
    """The kind of each code point, and the code point it is folded to."""

    kinds: Bytes
    folded: Ints


def kind_of(character: str) -> int:
    """Return the kind of a character: letter, digit, mark, space or other."""
    if character.isdigit():
        return DIGIT
    if character.isalnum():
        return LETTER
    if character.isspace():
        return SPACE
    return MARK if unicodedata.category(character).startswith("M") else OTHER


# For ASCII text of which only letters and digits stay, this table does it all: letters in lower
# case, digits, and blanks for everything else.
ASCII_WORDS = bytes(
    ord(chr(c).lower()) if kind_of(chr(c)) in (LETTER, DIGIT) else BLANK for c in range(128)
).ljust(256, b" ")


@cache
def character_kinds() -> Bytes:
    """Return the kind of each code point. Planes without characters are skipped, to save time."""
    kinds = np.full(0x110000, OTHER, np.uint8)
    for start, stop in ((0, 0x40000), (0xE0000, 0xE1000)):
        kinds[start:stop] = [kind_of(chr(point)) for point in range(start, stop)]
    return kinds


def without_marks(letter: str) -> str:
    """Return a Latin, Greek or Cyrillic letter without marks and stroke; others as they are.

    >>> without_marks("é"), without_marks("ł"), without_marks("が")
    ('e', 'l', 'が')
    """
    base = unicodedata.normalize("NFD", letter)[0]
    return STROKES.get(base, base) if is_accented(letter) else letter


def is_accented(letter: str) -> bool:
    """Return whether the marks of a letter are accents: it is Latin, Greek or Cyrillic."""
    return unicodedata.name(letter, "").startswith(MARKED_SCRIPTS)


def decimal_digit(character: str) -> str:
    """Return a decimal digit of any script as one of 0 to 9; other characters as they are."""
    value = unicodedata.decimal(character, -1)
    return str(value) if value >= 0 else character


@cache
def character_tables(fold: str, unspaced: bool) -> CharacterTables:
    """Return the tables of a profile."""
    kinds = character_kinds().copy()
    folded = np.arange(0x110000, dtype=np.int32)
    if unspaced:
        for first, last in UNSPACED_BLOCKS:
            block = kinds[first : last + 1]
            block[block == LETTER] = UNSPACED
    if fold != "none":
        for point in np.flatnonzero(kinds == DIGIT).tolist():
            folded[point] = ord(decimal_digit(chr(point)))
        for variant, letter in VARIANTS.items():
            folded[ord(variant)] = ord(letter)
        for first, last in (*OPTIONAL_MARKS, *INVISIBLE):
            kinds[first : last + 1] = DROPPED
    if fold == "accents":
        for point in np.flatnonzero(kinds[:LAST_ACCENTED] == LETTER).tolist():
            if is_accented(chr(point)):
                folded[point] = ord(without_marks(chr(point)))
                kinds[point] = ACCENTED
    return CharacterTables(kinds, folded)
