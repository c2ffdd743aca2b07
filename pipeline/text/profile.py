"""Profiles: how text becomes terms and weights, written down as a name and its exceptions.

`news` is a profile, and `news:stem=german,letters=3-5` is the same with two other ingredients. The
profiles of the papers, `reuters2000` and `reuters21578`, never change. Whatever a profile says is
part of a model: two models can be compared, merged or continued only if their profiles are equal.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from learners.options import Option, OptionError, Value
from pipeline.errors import UsageError
from pipeline.text.stemming import stemmer_language
from pipeline.text.stop_words import stop_word_language

MAX_PROFILE_CHARACTERS = 300
CACHED_PROFILES = 256
LONGEST_NGRAM = 8
AUTO_LETTERS = (3, 3)
# Languages with few compounds, whose forms the stemmers know: n-grams of letters gain nothing.
WITHOUT_LETTERS = frozenset(
    ("catalan", "english", "french", "italian", "portuguese", "romanian", "spanish")
)


@dataclass(frozen=True, slots=True)
class Profile:
    """The ingredients of a profile; see `INGREDIENTS`. `name` is its canonical text."""

    name: str
    split: str
    numbers: str
    fold: str
    unspaced: str
    stop_words: str
    stem: str
    words: int
    letters: str
    title: str
    slope: float
    pivot: float
    norm: str
    min_df: int


INGREDIENTS = (
    Option(
        "split", "space", "what characters do that are neither letters nor digits: separate words "
        "(space), or vanish, so that U.S. is us (join)", choices=("space", "join"),
    ),
    Option(
        "numbers", "keep", "keep digits as they are, or make every run of digits one and the same "
        "term", choices=("keep", "one"),
    ),
    Option(
        "fold", "none", "compatibility: forms that mean the same become one, as in full width, "
        "ligatures, Arabic and Hebrew; accents: marks on letters go as well",
        choices=("none", "compatibility", "accents"),
    ),
    Option(
        "unspaced", "none", "n-grams of characters for scripts without spaces (Chinese, Japanese, "
        "Thai, Lao, Khmer, Burmese), as 2 or 1-2; none: a whole run is one word",
    ),
    Option(
        "stop_words", "none", "leave out the stop words of a language; auto: of the language "
        "found in each text; papers: the English list of the profile reuters21578",
    ),
    Option(
        "stem", "none", "cut words to their stems, by the rules of a language; auto: of the "
        "language found in each text",
    ),
    Option("words", 1, "terms of up to this many words in a row", least=1, most=3),
    Option(
        "letters", "none", "n-grams of the letters of words as further terms, as 3-5; auto: 3, but "
        "none in English and Romance languages",
    ),
    Option(
        "title", "text", "read the title as part of the text, count it twice, or count it twice "
        "with its words as terms of their own too", choices=("text", "twice", "terms"),
    ),
    Option("slope", 0.3, "of the normalisation by length", least=0, most=1),
    Option(
        "pivot", 0.0, "distinct terms of a usual text; 0: the mean of the stream",
        least=0, most=1e9,
    ),
    Option("norm", "none", "l2: every vector has length one", choices=("none", "l2")),
    Option("min_df", 1, "ignore terms that occur in fewer documents", least=1, most=1e9),
)  # fmt: skip

DECLARED = {option.name: option for option in INGREDIENTS}

PROFILES: Mapping[str, Mapping[str, Value]] = {
    "reuters2000": {},
    "reuters21578": {"split": "join", "numbers": "one", "stop_words": "papers"},
    "news": {
        "fold": "compatibility", "unspaced": "1-2", "stop_words": "auto", "stem": "auto",
        "letters": "auto", "title": "terms",
    },
    "multilingual": {"fold": "accents", "unspaced": "1-2", "letters": "3", "title": "terms"},
}  # fmt: skip
PLAIN_PROFILE = "reuters2000"  # words as they are, as in the papers
DEFAULT_PROFILE = "news"  # of streams and replays


def ngram_lengths(text: str) -> tuple[int, int] | None:
    """Read `none`, `3` or `3-5` as the shortest and longest n-gram; raise ValueError.

    >>> ngram_lengths("3-5"), ngram_lengths("2"), ngram_lengths("none")
    ((3, 5), (2, 2), None)
    """
    if text == "none":
        return None
    first, _, last = text.partition("-")
    last = last or first
    if first.isdecimal() and last.isdecimal():
        shortest, longest = int(first), int(last)
        if 1 <= shortest <= longest <= LONGEST_NGRAM:
            return shortest, longest
    raise ValueError(
        f"none, a length, or two lengths such as 2-4, with lengths from 1 to {LONGEST_NGRAM}"
    )


def canonical_lengths(text: str) -> str:
    """Return the one way to write the lengths of n-grams; raise ValueError."""
    lengths = ngram_lengths(text)
    if lengths is None:
        return "none"
    shortest, longest = lengths
    return str(shortest) if shortest == longest else f"{shortest}-{longest}"


def canonical_letters(text: str) -> str:
    """Return the one way to write which n-grams of letters are terms; raise ValueError."""
    try:
        return text if text == "auto" else canonical_lengths(text)
    except ValueError as error:
        raise ValueError(f"auto, {error}") from None


def letter_lengths(letters: str, language: str) -> tuple[int, int] | None:
    """Return the shortest and longest n-gram of letters in a language; None if there are none.

    >>> letter_lengths("auto", "german"), letter_lengths("auto", "english")
    ((3, 3), None)
    """
    if letters != "auto":
        return ngram_lengths(letters)
    return None if language in WITHOUT_LETTERS else AUTO_LETTERS


def canonical_stemmer(text: str) -> str:
    """Return the name of a stemmer that is given by name or code; raise ValueError."""
    name = text if text in ("none", "auto") else stemmer_language(text)
    if name is None:
        raise ValueError("none, auto, or a language of Snowball such as german or de")
    return name


def canonical_stop_words(text: str) -> str:
    """Return the name of a list of stop words; raise ValueError."""
    name = text if text in ("none", "auto", "papers") else stop_word_language(text)
    if name is None:
        raise ValueError("none, auto, papers, or a language with a list such as german or de")
    return name


CANONICAL: Mapping[str, Callable[[str], str]] = {
    "unspaced": canonical_lengths,
    "letters": canonical_letters,
    "stem": canonical_stemmer,
    "stop_words": canonical_stop_words,
}


def read_ingredient(part: str, name: str) -> tuple[str, Value]:
    """Read one `key=value` of a profile."""
    key, equals, value = (piece.strip() for piece in part.partition("="))
    if key in DECLARED and not equals:
        rule = DECLARED[key].rule
        raise UsageError(f"Ingredient {key!r} of profile {name} needs a value, {key}=...: {rule}.")
    if key not in DECLARED:
        known = ", ".join(DECLARED)
        raise UsageError(
            f"Profile {name} has no ingredient {part!r}. Write key=value, with: {known}."
        )
    try:
        read = DECLARED[key].read(value, f"profile {name}")
    except OptionError as error:
        raise UsageError(str(error)) from None
    try:
        return key, CANONICAL[key](str(read)) if key in CANONICAL else read
    except ValueError as error:
        raise UsageError(f"{key!r} of profile {name} must be {error}. Got {value!r}.") from None


@lru_cache(CACHED_PROFILES)
def parse_profile(text: str) -> Profile:
    """Read a profile, or raise a UsageError that says what was expected.

    Examples
    --------
    >>> parse_profile("news:stem=german,slope=0.3").name
    'news:stem=german'
    >>> parse_profile("nws")
    Traceback (most recent call last):
    ...
    pipeline.errors.UsageError: There is no profile 'nws'. Did you mean news? Known: ...

    """
    if len(text) > MAX_PROFILE_CHARACTERS:
        raise UsageError(f"A profile has at most {MAX_PROFILE_CHARACTERS} characters.")
    name, _, rest = text.strip().partition(":")
    if name not in PROFILES:
        near = difflib.get_close_matches(name, PROFILES, n=1)
        meant = f" Did you mean {near[0]}?" if near else ""
        raise UsageError(
            f"There is no profile {name!r}.{meant} Known: {', '.join(PROFILES)}, each with "
            "ingredients of your own behind a colon, e.g. news:stem=german."
        )
    given: dict[str, Value] = {}
    for part in filter(None, rest.split(",")):
        key, value = read_ingredient(part, name)
        if key in given:
            raise UsageError(f"Profile {name} has {key!r} twice in {text!r}.")
        given[key] = value
    usual = {option.name: PROFILES[name].get(option.name, option.default) for option in INGREDIENTS}
    changed = [
        f"{key}={shown(given[key])}" for key in usual if given.get(key, usual[key]) != usual[key]
    ]
    canonical = f"{name}:{','.join(changed)}" if changed else name
    return Profile(canonical, **{**usual, **given})  # type: ignore[arg-type]


def shown(value: Value) -> str:
    """Return a value as it is written in canonical form.

    >>> shown(0.25), shown(120.0), shown("german")
    ('0.25', '120', 'german')
    """
    return f"{value:.0f}" if isinstance(value, float) and value.is_integer() else str(value)


def canonical_profile(text: str) -> str:
    """Return the canonical text of a profile, by which profiles are stored and compared."""
    return parse_profile(text).name
