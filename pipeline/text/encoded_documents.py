"""The documents of a block as one array of bytes, with blanks between the tokens of texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from learners.arrays import Bools, Bytes, Floats, Longs
from learners.jit import njit
from pipeline.text.characters import BLANK
from pipeline.text.splitting import Splitter
from pipeline.text.terms import MAX_TERM_BYTES

Documents = Sequence[str | Mapping[str, float]]

PADDING = 8  # blanks behind the last row, so that eight bytes can be read anywhere


class EncodedDocuments(NamedTuple):
    """The documents of a block, encoded as UTF-8 one after another.

    Row i is `text[starts[i]:starts[i + 1]]`: blank-separated tokens or, where `ready` is true, the
    names of ready-made features without anything between them. A document has one row, or two: its
    title and the rest.
    """

    text: Bytes
    starts: Longs
    ready: Bools
    name_lengths: Longs  # bytes of each feature name, in order, over all ready rows
    name_values: Floats
    is_plain: Bools  # per document: whether each of its bytes is that of a character of the text


@njit
def with_blanks(text: Bytes, ends: Longs, is_plain: Bools) -> Bytes:
    """Return a copy of the text with padding, and with only words and blanks in plain rows.

    There, letters of ASCII become lower case, and everything but letters and digits a blank.
    """
    out = np.empty(len(text) + PADDING, np.uint8)
    out[len(text) :] = BLANK
    at = 0
    for row in range(len(ends)):
        source, target = text[at : ends[row]], out[at : ends[row]]
        if is_plain[row]:
            # No look-ups, and indices from 0 on: the compiler takes many bytes at once.
            for i in range(len(source)):
                byte = source[i]
                lower = np.uint8(byte | np.uint8(0x20))
                is_letter = np.uint8(lower - np.uint8(ord("a"))) < np.uint8(26)
                is_digit = np.uint8(byte - np.uint8(ord("0"))) < np.uint8(10)
                target[i] = lower if is_letter else (byte if is_digit else np.uint8(BLANK))
        else:
            target[:] = source
        at = ends[row]
    return out


def encode_documents(
    documents: Documents, title_lengths: Sequence[int] | None, splitter: Splitter, has_titles: bool
) -> EncodedDocuments:
    """Encode documents. With `has_titles` each has two rows, of which features use the second.

    The first characters of a text are its title, as many as `title_lengths` says.
    """
    if title_lengths is not None and len(title_lengths) != len(documents) and has_titles:
        raise ValueError("there must be one length of a title per document")
    titles = [0] * len(documents) if title_lengths is None else list(title_lengths)
    pieces: list[bytes] = []
    lengths: list[int] = []
    is_plain: list[bool] = []
    name_lengths: list[int] = []
    name_values: list[float] = []
    for number, document in enumerate(documents):
        plain = False
        if not isinstance(document, str):
            names = [name.encode() for name in document]
            name_lengths.extend(map(len, names))
            name_values.extend(document.values())
            piece = b"".join(names)
            titles[number] = 0
        elif splitter.is_translated and document.isascii():
            piece = document.encode()
            plain = True
        elif has_titles:
            title = splitter.blanked(document[: titles[number]])
            piece = title + splitter.blanked(document[titles[number] :])
            titles[number] = len(title)
        else:
            piece = splitter.blanked(document)
        pieces.append(piece)
        lengths.append(len(piece))
        is_plain.append(plain)
    if name_lengths and not 0 < min(name_lengths) <= max(name_lengths) <= MAX_TERM_BYTES:
        raise ValueError(f"a feature's name must have 1 to {MAX_TERM_BYTES} bytes")
    ends = np.cumsum(lengths, dtype=np.int64)
    plain_rows = np.array(is_plain, np.bool_)
    rows = 2 if has_titles else 1
    starts = np.zeros(rows * len(documents) + 1, np.int64)
    starts[rows::rows] = ends
    ready = np.zeros(rows * len(documents), np.bool_)
    ready[rows - 1 :: rows] = [not isinstance(document, str) for document in documents]
    if has_titles:
        starts[1::2] = starts[:-1:2] + np.minimum(np.array(titles, np.int64), lengths)
    return EncodedDocuments(
        with_blanks(np.frombuffer(b"".join(pieces), np.uint8), ends, plain_rows),
        starts,
        ready,
        np.array(name_lengths, np.int64),
        np.array(name_values, np.float64),
        plain_rows,
    )
