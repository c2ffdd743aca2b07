"""Stems of English words, in compiled code, for words of ASCII letters and digits.

The algorithm is Porter's second one (https://snowballstem.org/algorithms/english/stemmer.html), and
the stems are exactly those of PyStemmer. PyStemmer takes several times as long per word, because it
makes Python objects of words and stems.

A word is in an array with eight zeros before it, so that its last eight letters are one number. The
functions take the `end` of the word in the array. They change the word there, and return its new
end. Its vowels, and the places `r1` and `r2` where the regions R1 and R2 begin, are bits of numbers
(see `letter_places`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from learners.arrays import Bytes, Longs
from learners.jit import njit, njit_inline
from pipeline.text.eight_bytes import eight_bytes, first_bytes
from pipeline.text.letter_places import FIRST, has_vowel, place, region, vowels_of

Packed = npt.NDArray[np.uint64]  # of up to eight letters each

SHORTEST = 3  # letters of a word that has another stem
LONGEST = 60  # letters of a word whose places fit into one number
CONSONANT_Y = ord("Y")  # a y at the beginning or after a vowel; no other letter is of upper case
NO_SUFFIX = -1
LETTER = 31  # the bits that tell letters of one case apart


def packed(text: str) -> int:
    """Return up to eight letters as one number, the first one lowest, with zeros behind them."""
    return int.from_bytes(text.encode(), "little")


def letter_set(letters: str) -> np.uint64:
    """Return the bits of some letters of lower case: bit 1 for a, bit 26 for z."""
    return np.uint64(sum(1 << (ord(letter) & LETTER) for letter in set(letters)))


class Suffixes(NamedTuple):
    """The suffixes of one step by their last letter, the longest first, and what replaces each."""

    firsts: Longs  # those that end with letter i are from `firsts[i]` to `firsts[i + 1]`
    ends: Packed  # as the last ones of eight letters
    lengths: Longs
    cuts: Longs  # how many of the last letters go
    added: Bytes  # the letter that comes instead, or 0


def suffixes(replaced: Mapping[str, str]) -> Suffixes:
    """Return suffixes that are replaced by their own beginning, with or without one more letter."""
    ordered = sorted(replaced, key=lambda suffix: (suffix[-1], -len(suffix)))
    last_letters = [ord(suffix[-1]) & LETTER for suffix in ordered]
    cuts, added = [], bytearray()
    for suffix in ordered:
        replacement = replaced[suffix]
        more = "" if suffix.startswith(replacement) else replacement[-1]
        cuts.append(len(suffix) - len(replacement) + len(more))
        added += more.encode() or b"\0"
    return Suffixes(
        np.searchsorted(last_letters, np.arange(LETTER + 2)).astype(np.int64),
        np.array([packed(suffix.rjust(8, "\0")) for suffix in ordered], np.uint64),
        np.array([len(suffix) for suffix in ordered], np.int64),
        np.array(cuts, np.int64),
        np.frombuffer(added, np.uint8),
    )


def packed_words(words: str) -> Packed:
    """Return words of at most eight letters as numbers."""
    return np.array([packed(word) for word in words.split()], np.uint64)


VOWELS = letter_set("aeiouy")
DOUBLES = letter_set("bdfgmnprt")
BEFORE_LI = letter_set("cdeghkmnrt")
LAST_LETTERS = letter_set("cdegilmnrsty")  # words with another last letter are their own stems

# Words with stems of their own, and those that stay as they are.
SPECIAL_WORDS = (
    "skis skies idly gently ugly early only singly sky news howe atlas cosmos bias andes"
)
SPECIAL_STEMS = "ski sky idl gentl ugli earli onli singl sky news howe atlas cosmos bias andes"
SPECIAL, SPECIAL_BECOMES = packed_words(SPECIAL_WORDS), packed_words(SPECIAL_STEMS)
# Words that keep their ending.
KEPT_EED = packed_words("proc exc succ")
KEPT_ING = packed_words("inn out cann herr earr even")
# Words that begin with one of these have R1 behind it.
PREFIXES = packed_words("gener commun arsen past univers later emerg organ inter")
PAST = np.uint64(packed("past"))
PREFIX_LENGTHS = np.array([5, 6, 5, 4, 7, 5, 5, 5, 5], np.int64)
PREFIX_LETTERS = letter_set("gcapuleoi")  # the first letters of these

PLURALS = suffixes({"sses": "ss", "ied": "i", "ies": "i", "us": "us", "ss": "ss", "s": ""})
STEP_2 = suffixes({
    "tional": "tion", "enci": "ence", "anci": "ance", "abli": "able", "entli": "ent",
    "izer": "ize", "ization": "ize", "ational": "ate", "ation": "ate", "ator": "ate",
    "alism": "al", "aliti": "al", "alli": "al", "fulness": "ful", "ousli": "ous",
    "ousness": "ous", "iveness": "ive", "iviti": "ive", "biliti": "bl", "bli": "ble", "ogi": "og",
    "ogist": "og", "fulli": "ful", "lessli": "less", "li": "",
})  # fmt: skip
STEP_3 = suffixes({
    "tional": "tion", "ational": "ate", "alize": "al", "icate": "ic", "iciti": "ic", "ical": "ic",
    "ful": "", "ness": "", "ative": "",
})  # fmt: skip
STEP_4 = suffixes(dict.fromkeys((
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ism", "ate",
    "iti", "ous", "ive", "ize", "ion",
), ""))  # fmt: skip


@njit_inline
def is_in(letter: int, letters: np.uint64) -> bool:
    """Return whether a letter of lower case is in a set. Digits and the consonant Y never are."""
    return bool(letter >= ord("a") and letters >> np.uint64(letter & 31) & np.uint64(1))


@njit_inline
def is_one_of(word: Bytes, end: int, words: Packed) -> bool:
    """Return whether the word is one of these."""
    if end - FIRST >= 8:
        return False
    found = False
    for other in words:
        found |= other == first_bytes(eight_bytes(word, FIRST), end - FIRST)
    return found


@njit_inline
def ends_in_short_syllable(word: Bytes, end: int) -> bool:
    """Return whether a short vowel is near the end: as in rap, trap, entrap, or ow, on, at."""
    size = end - FIRST
    if size < 2 or is_in(word[end - 1], VOWELS) or not is_in(word[end - 2], VOWELS):
        return bool(eight_bytes(word, end - 8) >> np.uint64(32) == PAST)  # treated as if it were
    if size == 2:
        return True
    last = word[end - 1]
    return not (
        last == ord("w") or last == ord("x") or last == CONSONANT_Y or is_in(word[end - 3], VOWELS)
    )


@njit_inline
def longest_suffix(word: Bytes, end: int, table: Suffixes) -> int:
    """Return the number of the longest suffix in the table that the word has, or -1."""
    letter = np.uint64(word[end - 1] & LETTER)
    last = eight_bytes(word, end - 8)
    for number in range(table.firsts[letter], table.firsts[letter + np.uint64(1)]):
        if (last ^ table.ends[number]) >> np.uint64(64 - 8 * table.lengths[number]) == np.uint64(0):
            return number
    return NO_SUFFIX


@njit_inline
def replaced_suffix(word: Bytes, end: int, table: Suffixes, number: int) -> int:
    """Replace a suffix that the word has."""
    end -= table.cuts[number]
    word[end] = table.added[number]
    return int(end + (table.added[number] > 0))


@njit_inline
def without_plural(word: Bytes, end: int, vowels: np.uint64) -> int:
    """Step 1a: sses, ies, ied and s."""
    number = longest_suffix(word, end, PLURALS)
    if number == NO_SUFFIX:
        return end
    if word[end - 3] == ord("i") and word[end - 2] == ord("e"):
        return end - 2 if end - FIRST > 4 else end - 1
    if PLURALS.lengths[number] == 1:
        return end - 1 if has_vowel(vowels, end - 2) else end
    return replaced_suffix(word, end, PLURALS, number)


@njit_inline
def without_participle(word: Bytes, end: int, vowels: np.uint64, r1: np.uint64) -> int:
    """Step 1b: eed, ed and ing, all of them also with ly."""
    last = end
    if word[end - 1] == ord("y") and word[end - 2] == ord("l"):
        last -= 2
    if word[last - 1] == ord("d") and word[last - 2] == ord("e"):
        if word[last - 3] == ord("e"):
            is_kept = place(last - 3) < r1 or is_one_of(word, last - 3, KEPT_EED)
            return end if is_kept else last - 1
        start = last - 2
    elif (
        word[last - 1] == ord("g") and word[last - 2] == ord("n") and word[last - 3] == ord("i")
    ):  # fmt: skip
        start = last - 3
        if last == end:
            is_y = word[start - 1] == ord("y")
            if is_y and start - FIRST == 2 and not is_in(word[FIRST], VOWELS):
                word[start - 1], word[start] = ord("i"), ord("e")
                return start + 1
            if is_one_of(word, start, KEPT_ING):
                return end
    else:
        return end
    if not has_vowel(vowels, start):
        return end
    return with_e(word, start, r1)


@njit_inline
def with_e(word: Bytes, end: int, r1: np.uint64) -> int:
    """Add the e that a participle has lost, or remove the letter that it has doubled."""
    last, before = word[end - 1], word[end - 2]
    if last == before and is_in(last, DOUBLES):
        first = word[FIRST]
        is_kept = end - FIRST == 3 and (
            first == ord("a") or first == ord("e") or first == ord("o")
        )  # fmt: skip
        return end if is_kept else end - 1
    if (
        (last == ord("t") and before == ord("a"))
        or (last == ord("l") and before == ord("b"))
        or (last == ord("z") and before == ord("i"))
        or (place(end) == r1 and ends_in_short_syllable(word, end))
    ):  # fmt: skip
        word[end] = ord("e")
        return end + 1
    return end


@njit_inline
def step_2(word: Bytes, end: int, r1: np.uint64) -> int:
    """Step 2: suffixes such as ization and fulness become shorter."""
    number = longest_suffix(word, end, STEP_2)
    if number == NO_SUFFIX:
        return end
    length = STEP_2.lengths[number]
    before = word[end - length - 1]
    if (
        place(end - length) < r1
        or (length == 2 and not is_in(before, BEFORE_LI))
        or (length == 3 and word[end - 2] == ord("g") and before != ord("l"))  # ogi
    ):  # fmt: skip
        return end
    is_biliti = length == 6 and word[end - 6] == ord("b")
    end = replaced_suffix(word, end, STEP_2, number)
    if is_biliti:
        word[end] = ord("e")
        end += 1
    return end


@njit_inline
def step_3(word: Bytes, end: int, r1: np.uint64, r2: np.uint64) -> int:
    """Step 3: suffixes such as icate become shorter or go."""
    number = longest_suffix(word, end, STEP_3)
    if number == NO_SUFFIX or place(end - STEP_3.lengths[number]) < r1:
        return end
    if word[end - 2] == ord("v") and place(end - STEP_3.lengths[number]) < r2:  # ative
        return end
    return replaced_suffix(word, end, STEP_3, number)


@njit_inline
def step_4(word: Bytes, end: int, r2: np.uint64) -> int:
    """Step 4: the suffixes that are left go."""
    number = longest_suffix(word, end, STEP_4)
    if number == NO_SUFFIX or place(end - STEP_4.lengths[number]) < r2:
        return end
    is_ion = word[end - 1] == ord("n")
    if is_ion and word[end - 4] != ord("s") and word[end - 4] != ord("t"):
        return end
    return end - int(STEP_4.lengths[number])


@njit_inline
def step_5(word: Bytes, end: int, r1: np.uint64, r2: np.uint64) -> int:
    """Step 5: a last e, and the second l of two."""
    start = end - 1
    if word[start] == ord("e"):
        if place(start) >= r2 or (place(start) >= r1 and not ends_in_short_syllable(word, start)):
            return start
    elif word[start] == ord("l") and place(start) >= r2 and word[start - 1] == ord("l"):
        return start
    return end


@njit_inline
def mark_consonants(word: Bytes, end: int) -> np.uint64:
    """Make each y a Y that is a consonant; return their places."""
    marked = np.uint64(0)
    after_vowel = True
    for at in range(FIRST, end):
        if after_vowel and word[at] == ord("y"):
            word[at] = CONSONANT_Y
            marked |= place(at)
        after_vowel = is_in(word[at], VOWELS)
    return marked


@njit_inline
def special_stem(word: Bytes, end: int) -> int:
    """Return the end of the stem of a word with a stem of its own, or 0 for other words."""
    if not is_one_of(word, end, SPECIAL):
        return 0
    given = first_bytes(eight_bytes(word, FIRST), end - FIRST)
    for number in range(len(SPECIAL)):
        if SPECIAL[number] == given:
            stem = SPECIAL_BECOMES[number]
            end = FIRST
            while stem > np.uint64(0):
                word[end] = np.uint8(stem)
                stem >>= np.uint64(8)
                end += 1
    return end


@njit_inline
def prefix_region(word: Bytes, end: int) -> np.uint64:
    """Return where R1 begins in a word with one of the prefixes, or 0 for other words."""
    r1 = np.uint64(0)
    if is_in(word[FIRST], PREFIX_LETTERS):
        for number in range(len(PREFIXES)):
            length = PREFIX_LENGTHS[number]
            if first_bytes(eight_bytes(word, FIRST), length) == PREFIXES[number]:
                r1 = place(FIRST + length)
    return r1 if r1 <= place(end) else np.uint64(0)


@njit
def english_stem(word: Bytes, end: int) -> int:
    """Make a word its stem; return the end of the stem.

    The word has at most 60 letters of lower case and digits. It begins at 8, behind zeros, and
    there must be eight bytes behind it.
    """
    if end - FIRST < SHORTEST or not is_in(word[end - 1], LAST_LETTERS):
        return end
    vowels, ys = vowels_of(word, end)
    if vowels == np.uint64(0):  # every rule needs a vowel or a y
        return end
    special = special_stem(word, end)
    if special > 0:
        return special
    marked = np.uint64(0)
    if ys & (vowels << np.uint64(1) | np.uint64(1)):  # a y that begins the word or follows a vowel
        marked = mark_consonants(word, end)
        vowels &= ~marked
    r1 = prefix_region(word, end)
    if r1 == np.uint64(0):
        r1 = region(vowels, np.uint64(1), end)
    r2 = region(vowels, r1, end)
    end = without_plural(word, end, vowels)
    end = without_participle(word, end, vowels, r1)
    if word[end - 1] == ord("y") and end - FIRST > 2 and not is_in(word[end - 2], VOWELS):
        word[end - 1] = ord("i")
    if place(end) > r1:
        end = step_2(word, end, r1)
        end = step_3(word, end, r1, r2)
        end = step_4(word, end, r2)
        end = step_5(word, end, r1, r2)
    if marked:
        for at in range(FIRST, end):
            if word[at] == CONSONANT_Y:
                word[at] = ord("y")
    return end
