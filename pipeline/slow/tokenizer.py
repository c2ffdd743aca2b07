"""Twin of `pipeline/text/tokenizer.py`."""

from __future__ import annotations

import unicodedata

from pipeline.text.stopwords import STOPWORDS
from pipeline.text.terms import MAX_TERM_BYTES
from pipeline.text.tokenizer import NUMBER


def slow_tokens(text: str, profile: str = "reuters2000") -> list[str]:
    """The tokens of a text, in order.

    Examples
    --------
    >>> slow_tokens("U.S. oil-price 3.5%")
    ['u', 's', 'oil', 'price', '3', '5']
    >>> slow_tokens("U.S. oil-price 3.5%", "reuters21578")
    ['us', 'oilprice', '<number>', '<number>']

    """
    text = unicodedata.normalize("NFC", text).lower()
    fold = profile == "reuters21578"
    tokens = [""]
    for character in text:
        mark = unicodedata.category(character).startswith("M") and not character.isalnum()
        if fold and character.isdigit():
            if tokens[-1] != NUMBER:
                tokens += [NUMBER]
        elif character.isalnum() or (mark and tokens[-1] not in ("", NUMBER)):
            if tokens[-1] == NUMBER:
                tokens += [""]
            tokens[-1] += character
        elif character.isspace() or not fold or tokens[-1] == NUMBER:
            tokens += [""]
    short = [token for token in tokens if 0 < len(token.encode()) <= MAX_TERM_BYTES]
    return [token for token in short if not (fold and token in STOPWORDS)]
