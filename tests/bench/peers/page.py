"""Writes `docs/measurements/peers.md` from the results of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import chain
from textwrap import fill

from tests.bench.peers.comparison import Effort, Summary, mean, summary
from tests.bench.peers.corpus import Corpus
from tests.bench.peers.machine import facts
from tests.bench.peers.plots import draw_all
from tests.bench.peers.programs_list import FROM_FILES, KAFKA, SIZES, SOFT_AROW
from tests.bench.peers.runner import PEERS_PYTHON, Program, Result, Store
from tests.conftest import REPOSITORY

PAGE = REPOSITORY / "docs" / "measurements" / "peers.md"
PICTURES = REPOSITORY / "docs" / "pictures"

HEAD = """# Beside other programs

    make peers               # all of it again, from scratch; also `make bench`, part `peers`
    make peers CONTINUE=1    # what is missing after an interruption
    make peers PART=files    # what is missing of one part: files, kafka or growth
    make peers-quick         # only the ratios that every change must keep

These commands write this page, except for the last one.

{facts}

Each program reads the same documents (synthetic newswire, 180 words) in the same order and in a
process of its own, from raw JSON events to rankings. Times are per document and leave out the start
of the program. Cells are medians of up to {repeats} runs, taken by turns, with their range in
brackets; a cell without a range is a single run. Processor time adds up all threads, and memory is
the peak of the process. AvgP is average precision, test-then-train, with equal scores ranked by
topic.

A program that is not done after {limit:.0f} s of processor time is stopped. Its row says after how
many documents. The AvgP in brackets is that of `soft-arow` on the same documents.

How each program is set up:

- **Wirerank**: `wirerank replay` with its defaults and one lane, or with the three default lanes.
- **Vowpal Wabbit**: words in lower case, one pass over its own text format, which is written within
  the time. `-b` is 24, 26 and 28 for 100, 1,000 and 10,000 topics. `--multilabel_oaa` names topics
  in no order. Its AvgP comes from a second run that writes all scores, and that of `--plt` from one
  that writes the best 200.
- **scikit-learn**: `HashingVectorizer` with 65,536 features and one `SGDClassifier` with logistic
  loss per topic, by `partial_fit` in blocks of 250.
- **River**: `TFIDF` and one model per topic.
- **fastText**: one thread, `loss="ova"`, with the settings of its tutorial for several labels. It
  learns the first half of the documents in 25 passes and ranks the second half. So the last column
  has the AvgP of the second half for all programs. The others go on learning there.
"""

KAFKA_HEAD = """
## On Kafka

The same documents from one Kafka topic of four partitions to another, with a real broker on the
same machine. A loop is a single process with its client's own settings: alone it does nothing but
read a document and write 600 bytes for it. Wirerank is a tokenizer and a learner, two processes,
with exactly-once output; their processor time and memory are added up. The loops write at least
once, and lose their model when they stop. Memory and processor time of the broker are left out.
"""

GROWTH = """
## How time and memory grow

Processor time per document, and peak memory, one run per point. Both axes are logarithmic. Points
of programs that were stopped stand for the documents until then.

![Time against topics, words, documents, lanes and shards](../pictures/growth-time.png)

![Memory against topics, words, documents, lanes and shards](../pictures/growth-memory.png)
"""


def number(value: float) -> str:
    """A number with three significant digits, and with commas."""
    if math.isnan(value):
        return "n.a."
    digits = max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0
    return f"{value:,.{min(digits, 1)}f}"


def spread(summed: Summary, of: Callable[[Result], float]) -> str:
    """The median and the range of the runs."""
    values = sorted(map(of, summed.runs))
    middle = number(summed.median(of))
    return middle if len(values) == 1 else f"{middle} ({number(values[0])} - {number(values[-1])})"


def precision(values: Sequence[float] | None) -> str:
    """An average precision; empty where there is none."""
    known = math.nan if values is None else mean(values)
    return "" if math.isnan(known) else f"{known:.3f}"


def row(program: Program, summed: Summary, corpus: Corpus, ours: Summary) -> list[str]:
    """The cells of one program."""
    if summed.failure:
        return [program.name, summed.failure, *[""] * 5]
    done, half = summed.documents, corpus.documents // 2
    is_stopped = done < corpus.documents
    overall = precision(summed.quality[:done] if summed.quality else None)
    if is_stopped and overall and ours.quality:
        overall += f" ({precision(ours.quality[:done])})"
    if summed.quality and any(map(math.isnan, summed.quality)):
        overall = ""  # batch: only the second half was ranked
    is_whole = summed.quality is not None and len(summed.quality) == corpus.documents
    second = precision(summed.quality[half:] if summed.quality and is_whole else None)
    return [
        program.name,
        f"stopped after {done:,}" if is_stopped else f"{done:,}",
        spread(summed, lambda run: run.microseconds),
        spread(summed, lambda run: run.processor_microseconds),
        number(summed.median(lambda run: run.mib)),
        overall,
        second,
    ]


def as_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, its numbers to the right."""
    line = "|---|" + "---:|" * (len(header) - 1)
    cells = ["| " + " | ".join(cells) + " |" for cells in chain([header], rows)]
    return "\n".join([cells[0], line, *cells[1:]]) + "\n"


def tables(store: Store, programs: Sequence[Program], header: Sequence[str]) -> str:
    """The tables of all sizes."""
    parts = []
    for corpus in SIZES:
        ours = summary(store, SOFT_AROW, corpus)
        rows = [row(p, summary(store, p, corpus), corpus, ours)[: len(header)] for p in programs]
        parts.append(f"\n### {corpus.topics:,} topics\n\n" + as_table(header, rows))
    return "".join(parts)


def write_page(store: Store, effort: Effort) -> None:
    """Write the page and draw its pictures."""
    about = "\n".join(
        fill(f"- {name}: {text}", 100, subsequent_indent="  ", break_on_hyphens=False)
        for name, text in facts(PEERS_PYTHON).items()
    )
    header = ["program", "documents", "us", "processor us", "MiB", "AvgP", "AvgP, second half"]
    text = HEAD.format(facts=about, repeats=effort.turns, limit=effort.limit)
    text += "\n## From a file of text to rankings\n" + tables(store, FROM_FILES, header)
    text += KAFKA_HEAD + tables(store, KAFKA, header[:5]) + GROWTH
    PAGE.write_text(text)
    draw_all(store, PICTURES)
