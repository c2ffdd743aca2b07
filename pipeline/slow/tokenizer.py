"""Twins of `pipeline/text/splitting.py`, `expansion.py` and `tokenizer.py`."""

from __future__ import annotations

import unicodedata
from collections import Counter
from dataclasses import dataclass, field

from pipeline.text.characters import (
    INVISIBLE,
    OPTIONAL_MARKS,
    STACKERS,
    UNSPACED_BLOCKS,
    VARIANTS,
    decimal_digit,
    is_accented,
    without_marks,
)
from pipeline.text.expander import folded_stop_words, language_or_guess
from pipeline.text.profile import Profile, letter_lengths, ngram_lengths, parse_profile
from pipeline.text.splitting import NUMBER
from pipeline.text.stemming import Stemmer
from pipeline.text.stopwords import STOPWORDS
from pipeline.text.terms import MAX_TERM_BYTES

WORD, RUN = "word", "run"  # letters and digits; characters of a script without spaces


@dataclass
class Token:
    """A word, a number, or a run of characters of a script without spaces, as clusters."""

    kind: str
    clusters: list[str] = field(default_factory=list)
    is_bare: bool = False  # marks of the last letter vanish
    is_open: bool = False  # the next letter belongs to the last cluster


def is_in(character: str, blocks: tuple[tuple[int, int], ...]) -> bool:
    """Return whether a character is in one of some blocks."""
    return any(first <= ord(character) <= last for first, last in blocks)


def slow_folded(text: str, fold: str) -> str:
    """The text in lower case, composed, without what the profile drops."""
    if fold == "none":
        return unicodedata.normalize("NFC", text).lower()
    text = unicodedata.normalize("NFKC", text).casefold().replace("i\u0307", "i")
    kept = [
        character
        for character in unicodedata.normalize("NFKC", text)
        if not is_in(character, OPTIONAL_MARKS) and not is_in(character, INVISIBLE)
    ]
    return "".join(decimal_digit(VARIANTS.get(character, character)) for character in kept)


def is_mark(character: str) -> bool:
    """Return whether a character is a mark, and not a digit or letter as well."""
    return unicodedata.category(character).startswith("M") and not character.isalnum()


def slow_pieces(text: str, profile: Profile) -> list[Token | None]:
    """The tokens of a text, with None where something separates them."""
    pieces: list[Token | None] = [None]
    for character in slow_folded(text, profile.fold):
        last = pieces[-1]
        if is_mark(character) and last is not None and last.kind != NUMBER:
            if not last.is_bare:
                last.clusters[-1] += character
            last.is_open = ord(character) in STACKERS
        elif character.isdigit() and profile.numbers == "one":
            if last is None or last.kind != NUMBER:
                pieces.append(Token(NUMBER, [NUMBER]))
        elif character.isalnum():
            is_run = is_in(character, UNSPACED_BLOCKS) and not character.isdigit()
            kind = RUN if is_run and profile.unspaced != "none" else WORD
            if last is None or last.kind != kind:
                last = Token(kind)
                pieces.append(last)
            accented = profile.fold == "accents" and kind == WORD and is_accented(character)
            letter = without_marks(character) if accented else character
            if last.is_open and kind == RUN:
                last.clusters[-1] += letter
            else:
                last.clusters.append(letter)
            last.is_bare, last.is_open = accented, False
        elif character.isspace() or profile.split == "space" or (last and last.kind == NUMBER):
            pieces.append(None)
    return pieces


def slow_ngrams(clusters: list[str], lengths: tuple[int, int]) -> list[str]:
    """The n-grams of a run, the shortest first; the run itself if it is shorter."""
    shortest, longest = min(lengths[0], len(clusters)), min(lengths[1], len(clusters))
    return [
        "".join(clusters[first : first + length])
        for length in range(shortest, longest + 1)
        for first in range(len(clusters) - length + 1)
    ]


def slow_words(text: str, profile: Profile) -> list[tuple[str, Token]]:
    """The tokens of a text in order, each with the piece it comes from."""
    lengths = ngram_lengths(profile.unspaced) or (1, 1)
    found = [
        (word, piece)
        for piece in slow_pieces(text, profile)
        if piece is not None
        for word in (
            slow_ngrams(piece.clusters, lengths) if piece.kind == RUN else ["".join(piece.clusters)]
        )
    ]
    stop_words = STOPWORDS if profile.stop_words == "papers" else ()
    return [
        (word, piece)
        for word, piece in found
        if len(word.encode()) <= MAX_TERM_BYTES and word not in stop_words
    ]


def slow_tokens(text: str, profile: str = "reuters2000") -> list[str]:
    """The tokens of a text, in order.

    Examples
    --------
    >>> slow_tokens("U.S. oil-price 3.5%")
    ['u', 's', 'oil', 'price', '3', '5']
    >>> slow_tokens("U.S. oil-price 3.5%", "reuters21578")
    ['us', 'oilprice', '<number>', '<number>']
    >>> slow_tokens("iPhone15を買う", "reuters2000:unspaced=1-2")
    ['iphone15', 'を', '買', 'う', 'を買', '買う']

    """
    return [word for word, _ in slow_words(text, parse_profile(profile))]


def slow_letters(word: str, profile: Profile, language: str) -> list[str]:
    """The n-grams of the letters of a word, without the word itself."""
    lengths = letter_lengths(profile.letters, language)
    if lengths is None:
        return []
    letters: list[str] = []
    for character in word:
        if is_mark(character):
            letters[-1] += character
        else:
            letters.append(character)
    grams = [
        "*" * (first > 0)
        + "".join(letters[first : first + length])
        + "*" * (first + length < len(letters))
        for length in range(lengths[0], min(lengths[1], len(letters) - 1) + 1)
        for first in range(len(letters) - length + 1)
    ]
    return [gram for gram in grams if len(gram.encode()) <= MAX_TERM_BYTES]


def slow_main_terms(words: list[str], profile: Profile, language: str) -> list[str]:
    """What each word becomes: its stem, or nothing for a stop word."""
    stemmer = language if profile.stem == "auto" else profile.stem
    stopped = language if profile.stop_words == "auto" else profile.stop_words
    stops = frozenset() if stopped == "papers" else folded_stop_words(profile, stopped)
    stems = Stemmer(stemmer).stems(words)
    return ["" if word in stops else stem for word, stem in zip(words, stems, strict=True)]


def slow_terms(
    text: str, profile: str = "reuters2000", title_length: int = 0, language: str | None = None
) -> Counter[str]:
    """The terms of a text and their counts.

    Examples
    --------
    >>> dict(slow_terms("Wheat up", "reuters2000:letters=4,title=terms", 5))
    {'wheat': 2, 'whea*': 2, '*heat': 2, 'title:wheat': 2, 'up': 1}

    """
    ingredients = parse_profile(profile)
    if ingredients.title == "text":
        title_length = 0
    language = language_or_guess(text, language)
    counts: Counter[str] = Counter()
    for part, weight in ((text[:title_length], 2), (text[title_length:], 1)):
        found = slow_words(part, ingredients)
        main_terms = slow_main_terms([word for word, _ in found], ingredients, language)
        for (word, piece), main in zip(found, main_terms, strict=True):
            if not main:
                continue
            terms = [main]
            if piece.kind == WORD:
                terms += slow_letters(word, ingredients, language)
            title_term = f"title:{main}"
            is_short = len(title_term.encode()) <= MAX_TERM_BYTES
            if weight > 1 and ingredients.title == "terms" and is_short:
                terms.append(title_term)
            for term in terms:
                counts[term] += weight
        pieces = [piece for _, piece in found]
        for term in slow_word_ngrams(main_terms, pieces, ingredients.words):
            counts[term] += weight
    return counts


def slow_word_ngrams(main_terms: list[str], pieces: list[Token], most: int) -> list[str]:
    """The terms of 2 to `most` words in a row, without stop words."""
    rows: list[list[str]] = [[]]
    for main, piece in zip(main_terms, pieces, strict=True):
        if piece.kind == RUN:
            rows.append([])
        elif main:
            rows[-1].append(main)
    grams = [
        " ".join(row[last - count : last])
        for row in rows
        for last in range(len(row) + 1)
        for count in range(2, min(most, last) + 1)
    ]
    return [gram for gram in grams if len(gram.encode()) <= MAX_TERM_BYTES]
