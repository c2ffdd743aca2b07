"""From the terms of tokens to the counted terms of documents, in compiled code."""

from __future__ import annotations

import numpy as np

from learners.arrays import Floats, Ints, Longs
from learners.jit import njit
from pipeline.text.expansion import CountedTokens, Expansion


@njit
def merged(
    counted: CountedTokens, groups: Ints, tokens: int, expansion: Expansion, distinct: int,
    title_weight: float, more_starts: Longs, more_terms: Ints,
) -> tuple[Longs, Ints, Floats]:  # fmt: skip
    """Add up the terms of each document; return starts, terms and values of the rows.

    Group g has the expansions from `g * tokens` on. `distinct` is the number of terms. Row i also
    has the terms `more_terms[more_starts[i]:more_starts[i + 1]]`, which may be repeated.
    """
    if len(more_terms) == 0 and has_main_terms_only(expansion.starts):
        return merged_words(counted, groups, tokens, expansion, distinct, title_weight)
    return merged_terms(
        counted, groups, tokens, expansion, distinct, title_weight, more_starts, more_terms
    )


@njit
def has_main_terms_only(starts: Longs) -> bool:
    """Return whether no token has several terms."""
    return bool((starts[1:] - starts[:-1] <= 1).all())


@njit
def merged_words(
    counted: CountedTokens, groups: Ints, tokens: int, expansion: Expansion, distinct: int,
    title_weight: float,
) -> tuple[Longs, Ints, Floats]:  # fmt: skip
    """Return the same as `merged_terms` if each token has one term or none, but faster."""
    starts, parts = counted.starts, counted.parts
    counted_tokens, counts = counted.tokens, counted.values
    room = 2 * len(counted_tokens)  # a word of a title has two terms
    # Stop words are an extra term behind all others.
    main_terms = np.full(len(expansion.title_terms), distinct, np.int32)
    for token in range(len(main_terms)):
        if expansion.starts[token] < expansion.starts[token + 1]:
            main_terms[token] = expansion.terms[expansion.starts[token]]
    title_terms = expansion.title_terms
    entries = np.full(distinct + 1, -1, np.int64)
    out_starts = np.zeros(len(groups) + 1, np.int64)
    terms, values = np.empty(room + 1, np.int32), np.empty(room + 1, np.float64)
    filled = 0
    for document in range(len(groups)):
        base, first = groups[document] * tokens, filled
        body = parts * (document + 1) - 1
        for i in range(starts[parts * document], starts[body]):
            token = base + counted_tokens[i]
            value = counts[i] * title_weight
            for term in (main_terms[token], title_terms[token]):
                if term < 0 or term == distinct:
                    continue
                entry = entries[term]
                if entry >= first:
                    values[entry] += value
                else:
                    entries[term] = filled
                    terms[filled] = term
                    values[filled] = value
                    filled += 1
        for i in range(starts[body], starts[body + 1]):
            # Unsigned indices need no test for negative ones.
            term = np.uint64(main_terms[np.uint64(base + counted_tokens[i])])
            entry = entries[term]
            if entry >= first:
                values[entry] += counts[i]
                continue
            # A stop word is written, too, and then overwritten: a branch would be guessed wrong.
            is_kept = term != np.uint64(distinct)
            entries[term] = filled if is_kept else -1
            terms[np.uint64(filled)] = term
            values[np.uint64(filled)] = counts[i]
            filled += is_kept
        out_starts[document + 1] = filled
    return out_starts, terms[:filled].copy(), values[:filled].copy()


@njit
def merged_terms(
    counted: CountedTokens, groups: Ints, tokens: int, expansion: Expansion, distinct: int,
    title_weight: float, more_starts: Longs, more_terms: Ints,
) -> tuple[Longs, Ints, Floats]:  # fmt: skip
    """Return what `merged` returns, for tokens with any number of terms."""
    starts, parts, counted_tokens = counted.starts, counted.parts, counted.tokens
    firsts, expanded, title_terms = expansion.starts, expansion.terms, expansion.title_terms
    room = len(more_terms)
    for document in range(len(groups)):
        base = groups[document] * tokens
        for entry in range(starts[parts * document], starts[parts * (document + 1)]):
            token = base + counted_tokens[entry]
            room += 1 + firsts[token + 1] - firsts[token]
    out_starts = np.zeros(len(groups) + 1, np.int64)
    terms, values = np.empty(room, np.int32), np.empty(room, np.float64)
    last_row, entries = np.full(distinct, -1, np.int64), np.empty(distinct, np.int64)
    filled = 0
    for document in range(len(groups)):
        base = groups[document] * tokens
        for part in range(parts):
            row = parts * document + part
            is_title = part < parts - 1
            weight = title_weight if is_title else 1.0
            for entry in range(starts[row], starts[row + 1]):
                token = base + counted_tokens[entry]
                value = counted.values[entry] * weight
                first, last = firsts[token], firsts[token + 1]
                more = 1 if is_title and title_terms[token] >= 0 else 0
                for i in range(first, last + more):
                    term = expanded[i] if i < last else title_terms[token]
                    if last_row[term] == document:
                        values[entries[term]] += value
                    else:
                        last_row[term] = document
                        entries[term] = filled
                        terms[filled] = term
                        values[filled] = value
                        filled += 1
            for term in more_terms[more_starts[row] : more_starts[row + 1]]:
                if last_row[term] == document:
                    values[entries[term]] += weight
                else:
                    last_row[term] = document
                    entries[term] = filled
                    terms[filled] = term
                    values[filled] = weight
                    filled += 1
        out_starts[document + 1] = filled
    return out_starts, terms[:filled].copy(), values[:filled].copy()
