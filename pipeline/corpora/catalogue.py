"""The known corpora: what each is and needs, its terms, and fetching those that may be fetched.

A corpus is fetched only if the checksum of its official archive is known; nothing that fails it is
ever kept.
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
    """One file on the web, known to the last byte."""

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
    """How many topics and terms it may have where no option says so, if that is not as usual."""
    homepage: str | None = None
    archive: Archive | None = None

    @property
    def url(self) -> str | None:
        """Where its archive is fetched from, if it may be fetched."""
        return self.archive.url if self.archive else None

    @property
    def sha256(self) -> str | None:
        """The checksum of its archive, if it may be fetched."""
        return self.archive.sha256 if self.archive else None

    @property
    def size(self) -> int | None:
        """The bytes of its archive, if it may be fetched."""
        return self.archive.size if self.archive else None


CORPORA: tuple[Corpus, ...] = (
    Corpus(
        name="synthetic",
        title="Made-up newswire of any length, seeded; with classes=K short documents of one of K",
        needs="nothing",
        source="synthetic:N",
        terms="none: it is generated",
        options="topics=103 or classes=K (up to 100,000), seed=0, "
        "drift=0 (1: a topic's words all change in 100,000 documents)",
        ceilings="with classes=K all topics and terms there are, if lanes are feature-focus, "
        "independent or frequency",
    ),
    Corpus(
        name="reuters21578",
        title="Reuters-21578, Distribution 1.0: 21,578 newswire stories of 1987, 135 topics",
        needs="reuters21578.tar.gz as it is, or the folder of its reut2-*.sgm files",
        source="reuters21578:PATH",
        options="split=all (or modapte, train, test), classes=0 (10: only stories and topics of "
        "the ten largest), labels=all (last: one topic a story)",
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
        needs="the lyrl2004_tokens_*.dat files with rcv1-v2.topics.qrels, packed or not, or the "
        "original NewsML stories, in folders or a zip for each day",
        source="rcv1:PATH",
        options="split=all (or train, the first 64.4 % by time as in the 2002 paper, or test)",
        terms="Reuters' agreement, from NIST; the tokens: free for research, LYRL2004 to be cited",
        homepage="https://trec.nist.gov/data/reuters/reuters.html",
    ),
    Corpus(
        name="newsgroups",
        title="20 Newsgroups, by-date edition: 18,846 Usenet posts of 1993, 20 groups",
        needs="20news-bydate.tar.gz as it is, or a folder with one folder of posts per group",
        source="newsgroups:PATH",
        options="order=date (or shuffled), seed=0",
        terms="Usenet posts of their authors, distributed freely for research; no formal licence",
        homepage="http://qwone.com/~jason/20Newsgroups/",
        # The checksum that scikit-learn's and Hugging Face's loaders expect, from two addresses.
        archive=Archive(
            url="https://ndownloader.figshare.com/files/5975967",
            filename="20news-bydate.tar.gz",
            size=14_464_277,
            sha256="8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
        ),
    ),
    Corpus(
        name="movielens",
        title="MovieLens 100K or 1M: one viewer's stars, 1 to 5, from those of the others",
        needs="ml-100k.zip or ml-1m.zip as it is, or the folder of its u.data or ratings.dat",
        source="movielens:PATH",
        options="user=ID or nth=1 (most active), least=1 (ratings of a viewer), "
        "others=all (or earlier)",
        terms="GroupLens usage licence: research with acknowledgement; no redistribution",
        homepage="https://grouplens.org/datasets/movielens/",
        # The checksum that TensorFlow's and other loaders expect; of the 100K edition.
        archive=Archive(
            url="https://files.grouplens.org/datasets/movielens/ml-100k.zip",
            filename="ml-100k.zip",
            size=4_924_029,
            sha256="50d2a982c66986937beb9ffb3aa76efe955bf3d5c6b761f4e3a7cd717c6a3229",
        ),
    ),
    Corpus(
        name="letor",
        title="LETOR: documents of queries as vectors, their grade plus 1 as the rank",
        needs="a file of lines `grade qid:N 1:value ..`, or the folder or archive of its S1.txt .. "
        "S5.txt (MQ2007, MQ2008)",
        source="letor:PATH",
        options="normalise=none (or minmax, place, percentile: within each query)",
        terms="of LETOR 4.0: for research (Microsoft Research Asia)",
        homepage="https://www.microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval/",
    ),
    Corpus(
        name="trec",
        title="TREC runs: documents of queries by the scores of systems, their grade plus 1 as the "
        "rank",
        needs="a folder, file or pattern of runs (`query Q0 document rank score tag`, plain or "
        "gzip), a comma, and the judgements (`query iteration document grade`)",
        source="trec:RUNS,QRELS",
        options="depth=1000 (documents of a run), normalise=minmax (or place, percentile, none)",
        terms="yours, or those of the conference",
        homepage="https://trec.nist.gov/results.html",
    ),
    Corpus(
        name="text",
        title="Any text: each word is to be predicted from the three on either side",
        needs="a text file, a folder or tar archive of .txt files, or a pattern in quotes "
        "('text:novels/*.txt'); in UTF-8",
        source="text:PATH",
        terms="yours",
        ceilings=f"{SIZE.topics:,} topics and {SIZE.terms:,} terms, if lanes are feature-focus, "
        "independent or frequency",
    ),
    Corpus(
        name="jsonl",
        title="Your own document events, one JSON object a line",
        needs="a .jsonl or .jsonl.gz file, or standard input",
        source="FILE.jsonl, FILE.jsonl.gz or -",
        terms="yours",
    ),
)


def find(name: str) -> Corpus:
    """The known corpus of that name."""
    for corpus in CORPORA:
        if corpus.name == name:
            return corpus
    known = ", ".join(corpus.name for corpus in CORPORA)
    raise SourceError(f"no corpus is called {name!r}; known are {known}")


def fetch(corpus: Corpus, into: Path, progress: Progress = lambda received, expected: None) -> Path:
    """Fetch a corpus's archive into a folder and return its path, which is usable as a source.

    An archive that is there already is checked and not fetched again.
    """
    archive = corpus.archive
    if archive is None:
        raise SourceError(f"{corpus.name} cannot be fetched; it needs {corpus.needs}")
    target = into / archive.filename
    if target.exists():
        _verify(target, archive)
        return target
    try:
        into.mkdir(parents=True, exist_ok=True)
        part, path = tempfile.mkstemp(dir=into, prefix=f".{archive.filename}.", suffix=".part")
    except OSError as error:
        raise SourceError(f"{into} cannot be written: {error}; name another folder") from error
    try:
        with os.fdopen(part, "wb") as file:
            _download(archive, file, progress, target)
        os.chmod(path, 0o644)  # a temporary file is private, a corpus need not be
        os.replace(path, target)
    finally:
        Path(path).unlink(missing_ok=True)  # gone already after a success
    return target


def _download(archive: Archive, file: IO[bytes], progress: Progress, target: Path) -> None:
    """Write the archive to an open file; an error unless it is whole and has its checksum."""
    if urllib.parse.urlsplit(archive.url).scheme not in ("http", "https"):
        raise SourceError(f"{archive.url} cannot be fetched: only http and https addresses can")
    request = urllib.request.Request(archive.url, headers={"User-Agent": "wirerank"})  # noqa: S310
    digest = hashlib.sha256()
    received = 0
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:  # noqa: S310
            while received <= archive.size:  # one byte too many is enough to know
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
        found = f"it ended after {received:,} of {archive.size:,} bytes"
        raise _failure(archive, found, target)
    if digest.hexdigest() != archive.sha256:
        raise _failure(archive, f"its sha256 is {digest.hexdigest()}", target)


def _failure(archive: Archive, reason: str, target: Path) -> SourceError:
    """The one message of every failed fetch: what happened, and how to do without a network."""
    return SourceError(
        f"{archive.filename} could not be fetched from {archive.url}: {reason}. Nothing was kept. "
        f"Expected are {archive.size:,} bytes with sha256 {archive.sha256}. Try again, or fetch it "
        f"on another machine and put it at {target}"
    )


def _verify(path: Path, archive: Archive) -> None:
    """Make sure that a file which is there already is the archive."""
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error}; check its rights") from error
    if found != archive.sha256:
        raise SourceError(
            f"{path} is there already, but its sha256 is {found}, expected {archive.sha256}; "
            "move it away and fetch again"
        )
