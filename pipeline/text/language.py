"""The language of a text: cheap, deterministic, and the same on every machine.

The script decides first. Languages that share a script are told apart by their most frequent
words and by letters that only some of them have. Only the beginning of a text is read, so long
texts cost no more than short ones.

If a text is too short to tell, the most widespread language of its script is taken: English for
plain Latin letters, Russian for Cyrillic ones. Other Latin texts are then `unknown`, and neither
stemmed nor freed of stop words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from struct import Struct

from pipeline.text.characters import ASCII_WORDS
from pipeline.text.frequent_words import (
    ARABIC_WORDS,
    CYRILLIC_WORDS,
    DEVANAGARI_WORDS,
    HEBREW_WORDS,
    LATIN_WORDS,
    TELLING_LETTERS,
)

UNKNOWN = "unknown"
READ_CHARACTERS = 500  # of the beginning of a text
SAMPLED_CHARACTERS = 40  # of these, to find the script
CACHED_CHARACTERS = 1 << 14
LAST_LATIN = "\u024f"  # up to here all letters are Latin
FOREIGN_SHARE = 3  # Latin letters per letter of another script, at most, that are foreign words
VOTES = 12  # of a word or letter, shared by the languages that have it
LEAST_VOTES = 12  # one word of one language alone, or several shared ones

# By ISO 639-1 code, the name that Snowball uses where it has a stemmer.
CODES: Mapping[str, str] = {
    "ar": "arabic", "hy": "armenian", "eu": "basque", "bg": "bulgarian", "my": "burmese",
    "ca": "catalan", "zh": "chinese", "hr": "croatian", "cs": "czech", "da": "danish",
    "nl": "dutch", "en": "english", "eo": "esperanto", "et": "estonian", "fi": "finnish",
    "fr": "french", "ka": "georgian", "de": "german", "el": "greek", "he": "hebrew",
    "hi": "hindi", "hu": "hungarian", "id": "indonesian", "ga": "irish", "it": "italian",
    "ja": "japanese", "km": "khmer", "ko": "korean", "lo": "lao", "lv": "latvian",
    "lt": "lithuanian", "ms": "malay", "ne": "nepali", "no": "norwegian", "fa": "persian",
    "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian",
    "st": "sesotho", "sk": "slovak", "sl": "slovenian", "es": "spanish", "sv": "swedish",
    "ta": "tamil", "th": "thai", "tr": "turkish", "uk": "ukrainian", "ur": "urdu",
    "vi": "vietnamese", "yi": "yiddish",
}  # fmt: skip
ALIASES: Mapping[str, str] = {
    "nb": "norwegian",
    "nn": "norwegian",
    "iw": "hebrew",
    "in": "indonesian",
}
LANGUAGES = frozenset(CODES.values())

# The first code points of blocks, and the script or language that is written in them from there on.
LATIN, CYRILLIC, ARABIC, DEVANAGARI, HEBREW, HAN, KANA = (
    "latin", "cyrillic", "arabic script", "devanagari", "hebrew script", "han", "kana"
)  # fmt: skip
NONE = ""
BLOCKS: tuple[tuple[int, str], ...] = (
    (0, NONE), (0x41, LATIN), (0x5B, NONE), (0x61, LATIN), (0x7B, NONE), (0xC0, LATIN),
    (0x2B0, NONE), (0x370, "greek"), (0x400, CYRILLIC), (0x530, "armenian"), (0x590, HEBREW),
    (0x600, ARABIC), (0x700, NONE), (0x750, ARABIC), (0x780, NONE), (0x900, DEVANAGARI),
    (0x980, NONE), (0xB80, "tamil"), (0xC00, NONE), (0xE00, "thai"), (0xE80, "lao"),
    (0xF00, NONE), (0x1000, "burmese"), (0x10A0, "georgian"), (0x1100, "korean"), (0x1200, NONE),
    (0x1780, "khmer"), (0x1800, NONE), (0x1E00, LATIN), (0x1F00, "greek"), (0x2000, NONE),
    (0x3040, KANA), (0x3100, NONE), (0x31F0, KANA), (0x3200, NONE), (0x3400, HAN), (0xA000, NONE),
    (0xAC00, "korean"), (0xD7B0, NONE), (0xF900, HAN), (0xFB00, NONE), (0xFB1D, HEBREW),
    (0xFB50, ARABIC), (0xFE00, NONE), (0xFE70, ARABIC), (0xFEFF, NONE), (0xFF66, KANA),
    (0xFFA0, NONE), (0x20000, HAN), (0x32000, NONE),
)  # fmt: skip

SHARED_SCRIPTS: Mapping[str, Mapping[str, str]] = {
    LATIN: LATIN_WORDS,
    CYRILLIC: CYRILLIC_WORDS,
    ARABIC: ARABIC_WORDS,
    DEVANAGARI: DEVANAGARI_WORDS,
    HEBREW: HEBREW_WORDS,
}

# What a text in one of these scripts is taken for if it is too short to tell.
PLAIN_LATIN = "english"  # in Latin letters without marks
USUAL: Mapping[str, str] = {
    CYRILLIC: "russian",
    ARABIC: "arabic",
    DEVANAGARI: "hindi",
    HEBREW: "hebrew",
}


def language_name(text: str) -> str | None:
    """Return the name of a language that is given by its name or code; None if it is not known.

    >>> language_name("de-AT"), language_name("German"), language_name("tlh")
    ('german', 'german', None)
    """
    lower = text.strip().lower()
    if lower in LANGUAGES:
        return lower
    code = lower.replace("_", "-").partition("-")[0]
    return CODES.get(code) or ALIASES.get(code)


class Votes:
    """What words and letters say about the language of a text in one script.

    The votes of all languages are one whole number with 16 bits per language, so that a text is
    judged by one sum.
    """

    def __init__(self, words: Mapping[str, str]) -> None:
        self.languages = tuple(words)
        having: dict[str, list[str]] = {}
        for language, listed in words.items():
            for word in listed.split():
                if len(word) == 1 and word.isascii():  # parts of abbreviations, too: U.S., e.g.
                    continue
                having.setdefault(word, []).append(language)
        self.words = {word: self._shared(languages) for word, languages in having.items()}
        letters = {letter: names.split() for letter, names in TELLING_LETTERS.items()}
        self._letters = {
            letter: self._shared(names) for letter, names in letters.items() if names[0] in words
        }
        self._known = frozenset(self.words)
        self._fields = Struct(f"<{len(words)}H")

    def _shared(self, languages: Sequence[str]) -> int:
        """Return the votes of a word or letter, shared by the languages that have it."""
        votes = VOTES // len(languages)
        return sum(votes << 16 * self.languages.index(language) for language in languages)

    def counted(self, votes: int) -> tuple[int, ...]:
        """Return the votes of each language."""
        return self._fields.unpack(votes.to_bytes(self._fields.size, "little"))

    def leader(self, text: str) -> str | None:
        """Return the language with most votes, if it is clear; a word or letter votes once."""
        if text.isascii():
            words = text.encode().translate(ASCII_WORDS).decode().split()
        else:
            text = text.lower()
            words = text.split()
        votes = sum(map(self.words.__getitem__, self._known.intersection(words)))
        if not text.isascii():
            votes += sum(map(self._letters.__getitem__, self._letters.keys() & set(text)))
        scores = self.counted(votes)
        best = max(scores)
        if best < LEAST_VOTES or scores.count(best) > 1:
            return None
        return self.languages[scores.index(best)]


@cache
def votes_of(script: str) -> Votes:
    """Return the votes of a script, which is made when it is first needed."""
    return Votes(SHARED_SCRIPTS[script])


@lru_cache(CACHED_CHARACTERS)
def script_of(character: str) -> str:
    """Return the script of a character, or the language that alone is written in it."""
    point = ord(character)
    script = NONE
    for first, name in BLOCKS:
        if first > point:
            break
        script = name
    return script


def main_script(text: str) -> str:
    """Return the script of most letters of a sample."""
    if text.isascii():
        return LATIN
    letters = text[:: max(1, len(text) // SAMPLED_CHARACTERS)]
    if max(letters) <= LAST_LATIN:
        return LATIN
    counts: dict[str, int] = {}
    for character in letters:
        script = script_of(character)
        counts[script] = counts.get(script, 0) + 1
    counts.pop(NONE, None)
    if not counts:
        return NONE
    if KANA in counts:  # Japanese mixes them; no other language has them
        counts[KANA] += counts.pop(HAN, 0)
    if counts.get(LATIN, 0) < sum(counts.values()):  # names and terms are often Latin elsewhere
        others = {script: count for script, count in counts.items() if script != LATIN}
        if FOREIGN_SHARE * sum(others.values()) >= counts.get(LATIN, 0):
            counts = others
    return max(counts, key=lambda script: (counts[script], script))


def language_of(text: str) -> str:
    """Return the language of a text, or `unknown`.

    >>> language_of("The price of wheat rose"), language_of("Der Preis von Weizen stieg")
    ('english', 'german')
    >>> language_of("小麦の価格が上がった"), language_of("1234")
    ('japanese', 'unknown')
    """
    text = text[:READ_CHARACTERS]
    script = main_script(text)
    if script == KANA:
        return "japanese"
    if script == HAN:
        return "chinese"
    if script not in SHARED_SCRIPTS:
        return script or UNKNOWN
    if leader := votes_of(script).leader(text):
        return leader
    is_plain = script == LATIN and text.isascii() and any(map(str.isalpha, text))
    return PLAIN_LATIN if is_plain else USUAL.get(script, UNKNOWN)
