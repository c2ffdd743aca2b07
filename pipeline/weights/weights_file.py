"""Files with the weights of one lane: `.npz` for numpy, `.csv` and `.csv.gz` as a table.

`docs/reference/weights.md` describes both. They are written block by block, so memory does not grow
with the model, and they depend on the model only: equal models give equal bytes.

Names of terms and topics come from documents. In `.npz` they are JSON, which keeps every character.
(Numpy's own arrays of strings drop null characters at the end, and take four bytes per character of
the longest name.) In `.csv` a name that a spreadsheet would take for a formula has a `'` in front.
"""

from __future__ import annotations

import csv
import gzip
import io
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import numpy.typing as npt
import orjson

from learners.weight_rows import WeightRows
from pipeline.errors import UsageError
from pipeline.storage.output_files import GROUP, naming, open_for_results, replacing
from pipeline.text.features import DISTINCT, TEXTS
from pipeline.text.terms import word_of, words_of
from pipeline.weights.lane_weights import LaneWeights

FORMAT = 1
FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # the time of all members, so that files are reproducible
# Spreadsheets take a cell that begins so for a formula; some also know the wide forms of = + - @.
# A name that begins with the quote itself gets another one, so that quotes can be removed again.
FORMULA_STARTS = tuple("=+-@\t\r\n'\uff1d\uff0b\uff0d\uff20")
HEADER = ("kind", "term", "topic", "weight")
Any1D = npt.NDArray[np.generic]


def writer_for(path: Path) -> Callable[[IO[bytes], LaneWeights], None]:
    """Return what writes a file with this ending, or raise UsageError."""
    for ending, write in WRITERS.items():
        if path.name.endswith(ending):
            return write
    raise UsageError(
        f"{path} does not say what to write: expected a name that ends in {', '.join(WRITERS)}."
    )


def write_weights(path: Path, weights: LaneWeights) -> None:
    """Write the weights of a lane to a file, whole or not at all."""
    write = writer_for(path)
    with opened(path) as file:
        write(file, weights)


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file to write; a device or a pipe is not replaced."""
    if path.exists() and not path.is_file():
        with naming(path), open_for_results(path) as file:
            yield file
    else:
        with replacing(path, GROUP) as file:
            yield file


def write_npz(file: IO[bytes], weights: LaneWeights) -> None:
    """Write arrays that `numpy.load` reads without `allow_pickle`."""
    starts = np.zeros(len(weights.vocabulary) + 1, np.int64)
    for first, rows in weights.blocks():
        last = first + len(rows)
        starts[first + 1 : last + 1] = starts[first] + rows.starts[1:]
    count = int(starts[-1])
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        write_json(archive, "about", about(weights))
        write_json(archive, "terms", words_of(weights.vocabulary.table))
        write_json(archive, "topics", weights.columns)
        write_array(archive, "documents", np.int64, [weights.documents])
        write_array(archive, "starts", np.int64, [starts])
        columns = (rows.columns for _, rows in weights.blocks())
        write_array(archive, "columns", np.int32, columns, count)
        values = (rows.values for _, rows in weights.blocks())
        write_array(archive, "weights", np.float64, values, count)
        write_array(archive, "bias", np.float64, [weights.biases])
        write_array(archive, "thresholds", np.float64, [weights.thresholds])


def write_json(archive: zipfile.ZipFile, name: str, content: object) -> None:
    """Write JSON as an array of bytes."""
    encoded = np.frombuffer(orjson.dumps(content), np.uint8)
    write_array(archive, name, np.uint8, [encoded])


def write_array(
    archive: zipfile.ZipFile,
    name: str,
    dtype: type[np.generic],
    parts: Iterable[Any1D],
    length: int | None = None,
) -> None:
    """Write an array of one dimension, part by part; `length` is needed if there are several."""
    if length is None:
        parts = list(parts)
        length = sum(map(len, parts))
    kind = np.dtype(dtype).newbyteorder("<")
    header = {
        "descr": np.lib.format.dtype_to_descr(kind),
        "fortran_order": False,
        "shape": (length,),
    }
    info = zipfile.ZipInfo(f"{name}.npy", FIRST_DAY)
    info.external_attr = 0o640 << 16
    with archive.open(info, "w", force_zip64=True) as member:
        np.lib.format.write_array_header_1_0(member, header)
        for part in parts:
            member.write(np.ascontiguousarray(part, kind).data)


def about(weights: LaneWeights) -> dict[str, Any]:
    """Return what else a ranking depends on, and where the weights come from."""
    engine, lane, vocabulary = weights.part.engine, weights.lane, weights.vocabulary
    features, totals = vocabulary.settings, vocabulary.arrays.totals
    return {
        "format": FORMAT,
        "release": version("wirerank"),
        "lane": lane.name,
        "settings": lane.spec.settings,
        "labels": "ranks" if lane.is_ordinal else "topics",
        "ranks": lane.learner.ranks or None,
        "weighs": lane.learner.weighs,
        "norm": lane.spec.norm,
        "profile": None if weights.part.input is None else weights.part.input.profile,
        "rounds": engine.group_of(lane).rounds,
        "documents": weights.part.documents,
        "texts": int(totals[TEXTS]),
        "distinct_terms": int(totals[DISTINCT]),
        "slope": features.slope,
        "pivot": features.pivot,
        "text_norm": features.norm,
        "min_df": features.min_df,
        "max_terms": features.max_terms,
        "frozen": vocabulary.frozen,
    }


def write_csv(file: IO[bytes], weights: LaneWeights) -> None:
    """Write a table: a row for each bias, each threshold, and each weight that is not 0."""
    text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
    # Every name is quoted: it may contain any character. Numbers are written as `repr` does.
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow(HEADER)
    topics = [cell(name) for name in weights.columns]
    for topic, bias in zip(topics, weights.biases.tolist(), strict=True):
        writer.writerow(("bias", "", topic, bias))
    for number, threshold in enumerate(weights.thresholds.tolist(), 1):
        writer.writerow(("threshold", "", f"rank {number}", threshold))
    for first, rows in weights.blocks():
        writer.writerows(weight_rows(weights, topics, first, rows))
    text.detach()


def weight_rows(
    weights: LaneWeights, topics: list[str], first: int, rows: WeightRows
) -> Iterator[tuple[str, str, str, float]]:
    """Yield the rows of a block of terms."""
    table = weights.vocabulary.table
    columns, values, starts = rows.columns.tolist(), rows.values.tolist(), rows.starts.tolist()
    for i in range(len(rows)):
        if starts[i] < starts[i + 1]:
            term = cell(word_of(table, first + i))
            for place in range(starts[i], starts[i + 1]):
                yield "weight", term, topics[columns[place]], values[place]


def cell(name: str) -> str:
    """Return a name as a cell of a table; if it has a `'` in front, this is not part of the name.

    >>> cell("wheat"), cell("=1+1"), cell("-"), cell("'tis")
    ('wheat', "'=1+1", "'-", "''tis")
    """
    return f"'{name}" if name.startswith(FORMULA_STARTS) else name


def write_csv_gz(file: IO[bytes], weights: LaneWeights) -> None:
    """Write the table compressed by gzip."""
    with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
        write_csv(cast("IO[bytes]", packed), weights)


WRITERS: dict[str, Callable[[IO[bytes], LaneWeights], None]] = {
    ".npz": write_npz,
    ".csv": write_csv,
    ".csv.gz": write_csv_gz,
}
