"""Corpora in archives: damaged, hostile, or with damaged archives inside."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from random import Random

from tests.fuzz.mutation import mutate_bytes
from tests.fuzz.targets.corpora import NEWSML, POST, CorpusTarget
from tests.fuzz.values import BYTES
from tests.support.reuters_sgml import story


class Archives(CorpusTarget):
    """Corpora in tar and zip archives: `pipeline/corpora/corpus_files.py`."""

    name = "archives"
    kinds = ("reuters21578", "newsgroups", "rcv1", "letor", "movielens", "text")
    endings = (".tar", ".tar.gz", ".zip", ".tar.xz")
    share = 0.05
    words = (
        b"ustar",
        b"\x00" * 512,
        b"PK\x01\x02",
        b"PK\x05\x06",
        b"0000644",
        b"../../x",
        b"9" * 11,
    )
    largest = 1 << 17

    def __init__(self) -> None:
        super().__init__()
        self._folder.mkdir()

    def seeds(self) -> Sequence[bytes]:
        files = {
            "reuters21578": {"reut2-000.sgm": story(1, labels=("grain",)).encode()},
            "newsgroups": {"sci.med/101": POST.encode(), "sci.space/5": b"x"},
            "rcv1": {
                "19960820.zip": zipped({"2286newsML.xml": NEWSML.format(number=2286).encode()})
            },
            "letor": {"S1.txt": b"2 qid:1 1:0.5 #docid = d1\n"},
            "movielens": {"u.data": b"1\t1\t5\t0\n"},
            "text": {"novel.txt": b"It is a truth."},
        }
        seeds = []
        for kind, name in enumerate(self.kinds):
            packed = (tarred(files[name], "w"), tarred(files[name], "w:gz"), zipped(files[name]))
            seeds += [bytes([kind, ending]) + content for ending, content in enumerate(packed)]
        return seeds

    def mutate(self, rng: Random, data: bytes, other: bytes) -> bytes:
        changed = mutate_bytes(rng, data[2:], other[2:], (*self.words, *BYTES))
        return data[:2] + (tar_repaired(changed) if rng.random() < 0.5 else changed)

    def run(self, data: bytes) -> str:
        if len(data) < 2 or data[0] >= len(self.kinds) or data[1] >= len(self.endings):
            return "no kind"
        kind, ending = self.kinds[data[0]], self.endings[data[1]]
        path = self._folder / f"corpus{ending}"
        path.write_bytes(data[2:])
        self._text = f"{kind}:{path}"
        return f"{kind} {ending} {self._read(None)}"


def tarred(files: Mapping[str, bytes], mode: str) -> bytes:
    """Return a tar archive of files."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as tar:  # type: ignore[call-overload]
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Return a zip archive of files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as pack:
        for name, content in files.items():
            pack.writestr(name, content)
    return out.getvalue()


def tar_repaired(data: bytes) -> bytes:
    """Return a tar archive whose first header has a correct checksum."""
    if len(data) < 512 or data[257:262] != b"ustar":
        return data
    total = sum(data[:148]) + sum(data[156:512]) + 8 * 32
    return data[:148] + b"%06o\0 " % total + data[156:]
