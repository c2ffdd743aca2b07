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
    starts, parts = counted.starts, counted.parts
    firsts, lasts = expansion.firsts, expansion.lasts
    room = 1 + len(counted.tokens) + len(more_terms)
    for document in range(len(groups)):
        first, last = starts[parts * document], starts[parts * (document + 1)]
        room += starts[parts * (document + 1) - 1] - first  # a word of a title has two terms
        if expansion.has_ngrams[groups[document]]:
            for token in groups[document] * tokens + counted.tokens[first:last]:
                room += lasts[token] - firsts[token]
    entries = np.full(distinct + 1, -1, np.int64)  # that of nothing (-1), and of each term
    out_starts = np.zeros(len(groups) + 1, np.int64)
    terms, values = np.empty(room, np.int32), np.empty(room, np.float64)
    document = 0
    while document < len(groups):
        group, end = groups[document], document + 1
        while end < len(groups) and groups[end] == group:
            end += 1
        if expansion.has_ngrams[group] or len(more_terms) > 0:
            put_terms(
                counted, document, end, group, tokens, expansion, title_weight, more_starts,
                more_terms, entries, out_starts, terms, values,
            )  # fmt: skip
        else:
            put_words(
                counted, document, end, group * tokens, expansion, title_weight, entries,
                out_starts, terms, values,
            )  # fmt: skip
        document = end
    filled = out_starts[-1]
    return out_starts, terms[:filled].copy(), values[:filled].copy()


@njit
def put_words(
    counted: CountedTokens, document: int, end: int, base: int, expansion: Expansion,
    title_weight: float, entries: Longs, out_starts: Longs, terms: Ints, values: Floats,
) -> None:  # fmt: skip
    """Write the terms of documents of one group without n-grams: as `put_terms`, but faster."""
    starts, parts = counted.starts, counted.parts
    counted_tokens, counts = counted.tokens, counted.values
    main_terms, title_terms = expansion.main_terms, expansion.title_terms
    filled = out_starts[document]
    for number in range(document, end):
        first = filled
        body = parts * (number + 1) - 1
        for i in range(starts[parts * number], starts[body]):
            token = base + counted_tokens[i]
            value = counts[i] * title_weight
            for term in (main_terms[token], title_terms[token]):
                if term < 0:
                    continue
                entry = entries[term + 1]
                if entry >= first:
                    values[entry] += value
                else:
                    entries[term + 1] = filled
                    terms[filled] = term
                    values[filled] = value
                    filled += 1
        for i in range(starts[body], starts[body + 1]):
            # Unsigned indices need no test for negative ones.
            term = main_terms[np.uint64(base + counted_tokens[i])]
            place = np.uint64(np.int64(term) + 1)
            entry = entries[place]
            # No branches, which would be guessed wrong: a term that is there already is written
            # again, and a stop word is overwritten by the next term.
            is_new, is_kept = entry < first, term >= 0
            at = np.uint64(filled if is_new else entry)
            before = values[at]
            values[at] = counts[i] + (0.0 if is_new else before)
            terms[at] = term
            entries[place] = np.int64(at) if is_kept else -1
            filled += is_new & is_kept
        out_starts[number + 1] = filled


@njit
def put_terms(
    counted: CountedTokens, document: int, end: int, group: int, tokens: int,
    expansion: Expansion, title_weight: float, more_starts: Longs, more_terms: Ints,
    entries: Longs, out_starts: Longs, terms: Ints, values: Floats,
) -> None:  # fmt: skip
    """Write the terms of documents of one group behind those of the documents before them."""
    starts, parts = counted.starts, counted.parts
    counted_tokens, counts = counted.tokens, counted.values
    main_terms, title_terms = expansion.main_terms, expansion.title_terms
    firsts, lasts, ngrams = expansion.firsts, expansion.lasts, expansion.ngrams
    has_ngrams = expansion.has_ngrams[group]
    filled = out_starts[document]
    for row in range(parts * document, parts * end):
        if row % parts == 0:
            start = filled
        is_title = (row + 1) % parts != 0
        weight = title_weight if is_title else 1.0
        for i in range(starts[row], starts[row + 1]):
            token = group * tokens + counted_tokens[i]
            value = counts[i] * weight
            first = last = 0
            if has_ngrams:
                first, last = firsts[token], lasts[token]
            for at in range(first - 1, last + is_title):
                if at < first:
                    term = main_terms[token]
                else:
                    term = ngrams[at] if at < last else title_terms[token]
                if term < 0:
                    continue
                entry = entries[term + 1]
                if entry >= start:
                    values[entry] += value
                else:
                    entries[term + 1] = filled
                    terms[filled] = term
                    values[filled] = value
                    filled += 1
        for term in more_terms[more_starts[row] : more_starts[row + 1]]:
            entry = entries[term + 1]
            if entry >= start:
                values[entry] += weight
            else:
                entries[term + 1] = filled
                terms[filled] = term
                values[filled] = weight
                filled += 1
        if not is_title:
            out_starts[row // parts + 1] = filled
