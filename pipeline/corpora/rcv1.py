"""Reuters Corpus Volume 1: a year of newswire, 800,000 stories, read without keeping them.

Both editions are read as they are distributed: the token files and topics of Lewis et al. (RCV1-v2,
LYRL2004), or the original NewsML stories. If a folder has both, the tokens are used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from pipeline.corpora.corpus_files import open_files
from pipeline.corpora.rcv1_newsml import NewsmlStories, is_story, is_zip
from pipeline.corpora.rcv1_tokens import TokenDocuments, is_qrels, is_tokens
from pipeline.corpora.source import Source, SourceError

SPLITS = ("all", "train", "test")
# Crammer and Singer (2002) trained on all stories up to 10 April 1997.
TRAINED, OF = 521_439, 809_383


class Rcv1:
    """Source of all documents in order of time, or of the training or the test part.

    Parameters
    ----------
    path
        The folder of either edition, or an archive of it (of at most 1 GiB).
    split
        `train` is the share of the documents that Crammer and Singer (2002) trained on, 64.4 %,
        and `test` is the rest.

    """

    def __init__(self, path: Path, split: str = "all") -> None:
        if split not in SPLITS:
            raise SourceError(f"rcv1 has no split {split!r}; choose {', '.join(SPLITS)}")
        self._split = split
        files = open_files(path, _wanted)
        if any(map(is_tokens, files.names)):
            self._whole: Source = TokenDocuments(path, files)
            return
        stories = NewsmlStories(path, files)
        if not stories.has_any():
            raise SourceError(
                f"{path} has no files of RCV1. Expected token files (lyrl2004_tokens_*.dat, may be "
                "compressed) or NewsML stories (such as 2286newsML.xml, in folders or zip files). "
                "Subfolders are searched, links are not followed. Name the folder with the files"
            )
        self._whole = stories

    @property
    def topics(self) -> Sequence[str]:
        """The topic codes of the qrels file, sorted; empty for NewsML, which has no such list."""
        return self._whole.topics

    @property
    def total(self) -> int:
        """The number of documents; the first use reads all of them once."""
        return len(range(*self._between))

    def __iter__(self) -> Iterator[bytes]:
        """Yield the document events."""
        return islice(iter(self._whole), *self._between)

    @property
    def _between(self) -> tuple[int, int]:
        every = self._whole.total or 0
        cut = trained_of(every)
        return {"all": (0, every), "train": (0, cut), "test": (cut, every)}[self._split]


def trained_of(documents: int) -> int:
    """The number of training documents among `documents` documents.

    >>> trained_of(809_383)
    521439
    """
    return round(documents * TRAINED / OF)


def _wanted(name: str) -> bool:
    return any(is_kind(name) for is_kind in (is_tokens, is_qrels, is_story, is_zip))
