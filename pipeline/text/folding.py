"""Texts whose letters can be compared: composed, in lower case, and without variants of form."""

from __future__ import annotations

from pipeline.text.normal_form import composed

DOTTED_I = "i\u0307"  # what the Turkish capital I with a dot becomes in lower case


def folded_text(text: str, fold: str) -> str:
    """Return a text in the form that the tokenizer scans; `fold` as in a profile.

    Without folding it is composed (NFC) and in lower case. Otherwise compatibility characters are
    replaced (NFKC: full width, ligatures, presentation forms), and case is folded, so that
    "Straße" is "strasse". What depends on single characters, `characters` does.

    Examples
    --------
    >>> folded_text("Ⅻ ﬁne İzmir", "compatibility")
    'xii fine izmir'

    """
    if fold == "none":
        return composed(text).lower()
    # Folding case can give characters that are not composed, and the other way round.
    text = composed(text, "NFKC").casefold()
    return composed(text.replace(DOTTED_I, "i"), "NFKC")
