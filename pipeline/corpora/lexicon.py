"""The words of the synthetic newswire: a file of base words and the grammar that inflects them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.resources import files
from typing import NamedTuple
from zlib import crc32

WORD_FILE = "newswire_words.txt"
VOWELS = "aeiou"
SIBILANTS = ("s", "x", "z", "ch", "sh")

Forms = tuple[str, ...]
"""A word in all its forms, the base form first."""


class Topic(NamedTuple):
    """A topic of the newswire: its name, its group, and the words that signal it."""

    name: str
    group: str
    words: tuple[Forms, ...]


class Lexicon(NamedTuple):
    """All words; in every list the frequent ones come first."""

    function: Forms
    content: tuple[Forms, ...]
    topics: tuple[Topic, ...]
    first_names: Forms
    surnames: Forms
    places: Forms
    companies: Forms
    company_kinds: Forms


def ends_in_consonant_y(word: str) -> bool:
    """Whether `word` ends in a y that turns into i before an ending.

    >>> ends_in_consonant_y("company"), ends_in_consonant_y("delay")
    (True, False)
    """
    return len(word) > 1 and word[-1] == "y" and word[-2] not in VOWELS


def doubles(word: str) -> bool:
    """Whether the last letter of a one-syllable word is doubled before a vowel.

    >>> [word for word in ("plan", "rain", "quit", "fix", "open", "lend") if doubles(word)]
    ['plan', 'quit']
    """
    letters = word.replace("qu", "qq")  # the u after q is not a vowel
    if len(letters) < 3 or letters[-1] in VOWELS + "wxy" or letters[-2] not in VOWELS:
        return False
    return not any(letter in VOWELS + "y" for letter in letters[:-2])


def s_form(word: str) -> str:
    """The plural of a noun, or the third person of a verb.

    >>> [s_form(word) for word in ("bank", "loss", "company", "delay", "veto", "ratio")]
    ['banks', 'losses', 'companies', 'delays', 'vetoes', 'ratios']
    """
    if ends_in_consonant_y(word):
        return word[:-1] + "ies"
    if word.endswith(SIBILANTS) or (word.endswith("o") and word[-2] not in VOWELS):
        return word + "es"
    return word + "s"


def e_form(word: str, ending: str, double: bool = False) -> str:
    """The word with an ending that starts with e: -ed, -er or -est.

    >>> e_form("price", "ed"), e_form("carry", "er"), e_form("plan", "ed"), e_form("fast", "est")
    ('priced', 'carrier', 'planned', 'fastest')
    """
    if word.endswith("e"):
        return word + ending[1:]
    if ends_in_consonant_y(word):
        return word[:-1] + "i" + ending
    return word + (word[-1] if double or doubles(word) else "") + ending


def ing_form(word: str, double: bool = False) -> str:
    """The present participle.

    >>> [ing_form(word) for word in ("price", "tie", "agree", "study", "stop")]
    ['pricing', 'tying', 'agreeing', 'studying', 'stopping']
    """
    if word.endswith("ie"):
        return word[:-2] + "ying"
    if word.endswith("e") and not word.endswith(("ee", "oe", "ye")):
        return word[:-1] + "ing"
    return word + (word[-1] if double or doubles(word) else "") + "ing"


def ly_form(word: str) -> str:
    """The adverb of an adjective.

    >>> [ly_form(word) for word in ("sharp", "heavy", "possible", "full", "basic", "true", "sole")]
    ['sharply', 'heavily', 'possibly', 'fully', 'basically', 'truly', 'solely']
    """
    if ends_in_consonant_y(word):
        return word[:-1] + "ily"
    if word.endswith("ic"):
        return word + "ally"
    if word.endswith("ll"):
        return word + "y"
    if word.endswith("le") and word[-3] not in VOWELS:
        return word[:-1] + "y"
    if word.endswith("ue") and not word.endswith("que"):
        return word[:-1] + "ly"
    return word + "ly"


def inflect(word: str, marks: str) -> Forms:
    """All forms of a word that its marks allow, the word itself first.

    >>> inflect("trade", "nvr")
    ('trade', 'trades', 'traded', 'trading', 'trader', 'traders')
    """
    double = "d" in marks
    forms = [word]
    if "n" in marks or "v" in marks:
        forms.append(s_form(word))
    if "v" in marks:
        forms += [e_form(word, "ed", double), ing_form(word, double)]
    if "r" in marks:
        doer = e_form(word, "er", double)
        forms += [doer, s_form(doer)]
    if "c" in marks:
        forms += [e_form(word, "er"), e_form(word, "est")]
    if "l" in marks:
        forms.append(ly_form(word))
    return tuple(dict.fromkeys(forms))


def read_sections(lines: Iterable[str]) -> dict[str, list[str]]:
    """The lines of every `[section]`, without comments and empty lines."""
    sections: dict[str, list[str]] = {}
    for line in map(str.strip, lines):
        if line.startswith("["):
            section = sections.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            section.append(line)
    return sections


def read_topic(line: str) -> tuple[str, str, list[str]]:
    """Name, group and marked words of a line of [topics]."""
    head, _, words = line.partition(":")
    name, group = head.split()
    return name, group, words.split()


def compounds(stems: Iterable[str], endings: Iterable[str]) -> Iterator[str]:
    """Every stem with every ending, in an arbitrary but fixed order."""
    endings = list(endings)
    return iter(sorted({stem + ending for stem in stems for ending in endings}, key=name_order))


def name_order(name: str) -> tuple[int, str]:
    """A sort key that gives an arbitrary order, the same on every machine."""
    return crc32(name.encode()), name


def round_robin(topics: Iterable[Topic]) -> Iterator[Topic]:
    """The first topic of every group, then the second of every group, and so on."""
    groups: dict[str, list[Topic]] = {}
    for topic in topics:
        groups.setdefault(topic.group, []).append(topic)
    for place in range(max(map(len, groups.values()))):
        yield from (group[place] for group in groups.values() if place < len(group))


def load() -> Lexicon:
    """Read the word file of the package and derive all forms.

    The forms of a word that occurs more than once are merged. So "lead" is the same word in the
    copper market and in a party's leadership, as it is for a tokenizer.
    """
    text = files(__package__).joinpath(WORD_FILE).read_text(encoding="ascii")
    sections = read_sections(text.splitlines())
    flat = {name: " ".join(lines).split() for name, lines in sections.items()}
    topics = [read_topic(line) for line in sections["topics"]]

    forms: dict[str, Forms] = {}
    rank: dict[str, int] = {}
    for place, line in enumerate(sections["irregular"]):
        word, *rest = line.split()
        forms[word] = (word, *rest)
        rank[word] = 10 * place  # spreads the short list over the long one
    regular = flat["general"] + [word for *_, words in topics for word in words]
    for place, entry in enumerate(regular):
        word, _, marks = entry.partition("/")
        forms[word] = tuple(dict.fromkeys(forms.get(word, ()) + inflect(word, marks)))
        rank.setdefault(word, place)

    def signature(words: list[str]) -> tuple[Forms, ...]:
        return tuple(forms[word.partition("/")[0]] for word in words)

    made_up = compounds(flat["name-stem"], flat["name-ending"])
    return Lexicon(
        function=tuple(dict.fromkeys(flat["function"])),
        content=tuple(forms[word] for word in sorted(forms, key=rank.__getitem__)),
        topics=tuple(round_robin(Topic(name, group, signature(w)) for name, group, w in topics)),
        first_names=tuple(flat["first"]),
        surnames=tuple(dict.fromkeys([*flat["surname"], *made_up])),
        places=tuple(flat["place"]),
        companies=tuple(compounds(flat["company-stem"], flat["company-ending"])),
        company_kinds=tuple(flat["company-kind"]),
    )
