"""The known corpora: what each is, what it needs, its licence terms, and how to fetch it.

A corpus can be fetched only if the checksum of its official archive is known. A download with
another checksum is never kept.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pipeline.corpora.source import SourceError
from pipeline.corpora.word_prediction import SIZE

TIMEOUT_SECONDS = 30.0
CHUNK_BYTES = 1 << 16

Progress = Callable[[int, int], None]
"""Called with the bytes received so far and the bytes expected."""


@dataclass(frozen=True)
class Archive:
    """A file on the web with known size and checksum."""

    url: str
    filename: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Corpus:
    """A corpus that can be replayed."""

    name: str
    title: str
    needs: str
    source: str
    terms: str
    options: str = ""
    ceilings: str = ""
    """The default ceilings of topics and terms, if they differ from the usual ones."""
    homepage: str | None = None
    archive: Archive | None = None

    @property
    def url(self) -> str | None:
        """The address of its archive, if it can be fetched."""
        return self.archive.url if self.archive else None

    @property
    def sha256(self) -> str | None:
        """The checksum of its archive, if it can be fetched."""
        return self.archive.sha256 if self.archive else None

    @property
    def size(self) -> int | None:
        """The size of its archive in bytes, if it can be fetched."""
        return self.archive.size if self.archive else None


CORPORA: tuple[Corpus, ...] = (
    Corpus(
        name="synthetic",
        title="Synthetic newswire with N documents, from a seed; with classes=K short documents of "
        "K classes",
        needs="nothing",
        source="synthetic:N",
        terms="none: it is generated",
        options="topics=103 or classes=K (up to 100,000), seed=0, "
        "drift=0 (with 1 all words of a topic change within 100,000 documents)",
        ceilings="with classes=K room for all topics and terms, if all lanes are feature-focus, "
        "independent or frequency",
    ),
    Corpus(
        name="reuters21578",
        title="Reuters-21578, Distribution 1.0: 21,578 newswire stories of 1987, 135 topics",
        needs="reuters21578.tar.gz as downloaded, or the folder with its reut2-*.sgm files",
        source="reuters21578:PATH",
        options="split=all (or modapte, train, test), classes=0 (10: only the ten largest topics "
        "and their stories), labels=all (last: one topic per story)",
        terms="copyright Reuters Ltd.; free distribution for research purposes only",
        homepage="https://archive.ics.uci.edu/dataset/137/reuters+21578+text+categorization+collection",
        # The checksum that Hugging Face's loader expects.
        archive=Archive(
            url="https://archive.ics.uci.edu/ml/machine-learning-databases/reuters21578-mld/reuters21578.tar.gz",
            filename="reuters21578.tar.gz",
            size=8_150_596,
            sha256="3bae43c9b14e387f76a61b6d82bf98a4fb5d3ef99ef7e7075ff2ccbcf59f9d30",
        ),
    ),
    Corpus(
        name="rcv1",
        title="Reuters Corpus Volume 1: 804,414 newswire stories of 1996 and 1997, 103 topics",
        needs="the lyrl2004_tokens_*.dat files with rcv1-v2.topics.qrels, compressed or not, or "
        "the original NewsML stories, in folders or in one zip file per day",
        source="rcv1:PATH",
        options="split=all (or train: the first 64.4 % by time, as in the 2002 paper; or test: the "
        "rest)",
        terms="stories: an agreement with Reuters, through NIST; tokens: free for research if "
        "LYRL2004 is cited",
        homepage="https://trec.nist.gov/data/reuters/reuters.html",
    ),
    Corpus(
        name="newsgroups",
        title="20 Newsgroups, by-date edition: 18,846 Usenet posts of 1993, 20 groups",
        needs="20news-bydate.tar.gz as downloaded, or a folder with one folder of posts per group",
        source="newsgroups:PATH",
        options="order=date (or shuffled), seed=0",
        terms="posts belong to their authors; distributed freely for research without a formal "
        "licence",
        homepage="http://qwone.com/~jason/20Newsgroups/",
        # The checksum that the loaders of scikit-learn and Hugging Face expect.
        archive=Archive(
            url="https://ndownloader.figshare.com/files/5975967",
            filename="20news-bydate.tar.gz",
            size=14_464_277,
            sha256="8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
        ),
    ),
    Corpus(
        name="movielens",
        title="MovieLens 100K or 1M: predict one viewer's stars, 1 to 5, from the other viewers' "
        "stars",
        needs="ml-100k.zip or ml-1m.zip as downloaded, or the folder with its u.data or "
        "ratings.dat",
        source="movielens:PATH",
        options="user=ID or nth=1 (the n-th most active viewer), least=1 (minimum of ratings per "
        "viewer), others=all (or earlier: only ratings given before)",
        terms="GroupLens usage licence: research with acknowledgement; no redistribution",
        homepage="https://grouplens.org/datasets/movielens/",
        # The checksum of the 100K edition, which the loaders of TensorFlow and others expect.
        archive=Archive(
            url="https://files.grouplens.org/datasets/movielens/ml-100k.zip",
            filename="ml-100k.zip",
            size=4_924_029,
            sha256="50d2a982c66986937beb9ffb3aa76efe955bf3d5c6b761f4e3a7cd717c6a3229",
        ),
    ),
    Corpus(
        name="letor",
        title="LETOR: documents of queries as feature vectors; the rank is the relevance grade "
        "plus 1",
        needs="a file of lines `grade qid:N 1:value ..`, or the folder or archive of its S1.txt to "
        "S5.txt (MQ2007, MQ2008)",
        source="letor:PATH",
        options="normalise=none (or minmax, place, percentile: within each query)",
        terms="LETOR 4.0: for research (Microsoft Research Asia)",
        homepage="https://www.microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval/",
    ),
    Corpus(
        name="trec",
        title="TREC runs: documents of queries with the scores of several systems as features; the "
        "rank is the relevance grade plus 1",
        needs="a folder, file or pattern of runs (`query Q0 document rank score tag`, packed or "
        "not), a comma, and the judgements (`query iteration document grade`)",
        source="trec:RUNS,QRELS",
        options="depth=1000 (documents per query and run), normalise=minmax (or place, percentile, "
        "none)",
        terms="your own data, or the terms of the conference",
        homepage="https://trec.nist.gov/results.html",
    ),
    Corpus(
        name="text",
        title="Any text: predict each word from the three words on either side",
        needs="a UTF-8 text file, a folder or tar archive of .txt files, or a pattern in quotes "
        "('text:novels/*.txt')",
        source="text:PATH",
        terms="your own data",
        ceilings=f"{SIZE.topics:,} topics and {SIZE.terms:,} terms, if all lanes are "
        "feature-focus, independent or frequency",
    ),
    Corpus(
        name="csv",
        title="Your own documents as rows of CSV or TSV; the header names the keys of the events",
        needs="a file with a header, packed or not, or - for standard input; without a field "
        "mapping its columns must be called as the keys of events (id, title, text, topics)",
        source="csv:PATH, FILE.csv or FILE.tsv",
        options="delimiter=auto (or comma, semicolon, tab, pipe, or a sign), quote=double (or "
        "none), split=semicolon (what separates the names in the column topics; or comma, pipe, "
        "tab, none, or a sign)",
        terms="your own data",
    ),
    Corpus(
        name="avro",
        title="Your own documents as records of an Avro file (an object container file)",
        needs="a file, packed or not, or - for standard input; without a field mapping its fields "
        "must be called as the keys of events (id, title, text, topics)",
        source="avro:PATH or FILE",
        terms="your own data",
    ),
    Corpus(
        name="fasttext",
        title="Your own documents as lines of fastText: __label__grain __label__ship Wheat is up; "
        "the id is the number of the line",
        needs="a file, packed or not, or - for standard input",
        source="fasttext:PATH",
        options="prefix=__label__",
        terms="your own data",
    ),
    Corpus(
        name="folders",
        title="Your own documents in one folder per class, whose name is their topic",
        needs="a folder of folders, or an archive of it, with files of plain text or HTML in "
        "UTF-8, packed or not",
        source="folders:PATH",
        options="order=random (or name: one class after another), seed=0",
        terms="your own data",
    ),
    Corpus(
        name="newsml-g2",
        title="News items in IPTC NewsML-G2",
        needs="an XML file, packed or not, a folder or archive (zip, tar) of .xml files, or - for "
        "standard input",
        source="PATH --format newsml-g2",
        options="of the format: newsml-g2:schemes=medtop+subj,types=cpnat:abstract keeps only such "
        "subjects as topics",
        terms="your own data, or the agency's",
    ),
    Corpus(
        name="jsonl",
        title="Your own document events: one JSON object per line, or a JSON array of any size",
        needs="a file, packed or not (gz, bz2, xz, zst, zip), or standard input; how it is written "
        "and packed is recognised by its content",
        source="FILE or -",
        terms="your own data",
    ),
)


def find(name: str) -> Corpus:
    """The known corpus with this name."""
    for corpus in CORPORA:
        if corpus.name == name:
            return corpus
    known = ", ".join(corpus.name for corpus in CORPORA)
    raise SourceError(f"there is no corpus {name!r}; known corpora: {known}")


def fetch(corpus: Corpus, into: Path, progress: Progress = lambda received, expected: None) -> Path:
    """Fetch the archive of a corpus into a folder; return its path, which is a source.

    An archive that exists already is checked and not fetched again.
    """
    archive = corpus.archive
    if archive is None:
        raise SourceError(f"{corpus.name} cannot be fetched automatically; it needs {corpus.needs}")
    target = into / archive.filename
    if target.exists():
        _verify(target, archive)
        return target
    try:
        into.mkdir(parents=True, exist_ok=True)
        part, path = tempfile.mkstemp(dir=into, prefix=f".{archive.filename}.", suffix=".part")
    except OSError as error:
        raise SourceError(f"{into} cannot be written: {error}; choose another folder") from error
    try:
        with os.fdopen(part, "wb") as file:
            _download(archive, file, progress, target)
        os.chmod(path, 0o644)  # temporary files are private, but a corpus need not be
        os.replace(path, target)
    finally:
        Path(path).unlink(missing_ok=True)  # after a success it is already gone
    return target


def _download(archive: Archive, file: IO[bytes], progress: Progress, target: Path) -> None:
    """Write the archive to an open file; an error if its size or checksum is wrong."""
    if urllib.parse.urlsplit(archive.url).scheme not in ("http", "https"):
        raise SourceError(f"{archive.url} cannot be fetched; expected an http or https address")
    request = urllib.request.Request(archive.url, headers={"User-Agent": "wirerank"})  # noqa: S310
    digest = hashlib.sha256()
    received = 0
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:  # noqa: S310
            while received <= archive.size:  # stop as soon as it is too long
                chunk = response.read1(CHUNK_BYTES)
                if not chunk:
                    break
                received += len(chunk)
                digest.update(chunk)
                file.write(chunk)
                progress(received, archive.size)
    except (OSError, http.client.HTTPException) as error:
        raise _failure(archive, str(error) or type(error).__name__, target) from error
    if received > archive.size:
        raise _failure(archive, f"it is longer than the expected {archive.size:,} bytes", target)
    if received < archive.size:
        reason = f"it ended after {received:,} of {archive.size:,} bytes"
        raise _failure(archive, reason, target)
    if digest.hexdigest() != archive.sha256:
        raise _failure(archive, f"its sha256 is {digest.hexdigest()}", target)


def _failure(archive: Archive, reason: str, target: Path) -> SourceError:
    """The message of a failed fetch: what happened, and how to get the file by other means."""
    return SourceError(
        f"{archive.filename} could not be fetched from {archive.url}: {reason}. Nothing was kept. "
        f"Expected {archive.size:,} bytes with sha256 {archive.sha256}. Try again, or fetch it on "
        f"another machine and put it at {target}"
    )


def _verify(path: Path, archive: Archive) -> None:
    """Check that an existing file is the archive."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error}; check its permissions") from error
    if digest != archive.sha256:
        raise SourceError(
            f"{path} exists already, but its sha256 is {digest}, expected {archive.sha256}; "
            "move it away and fetch again"
        )
