"""Time and memory of `wirerank experiment mmp-rcv1` on synthetic newswire in the files of RCV1."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import orjson

from tests.support.rcv1_standin import write_standin


def run(documents: int, folder: Path) -> None:
    """Run it on a quarter of the documents and on all of them; memory must not grow with them."""
    print(f"`wirerank experiment mmp-rcv1` on {documents:,} documents, and on a quarter (minutes)")
    peaks = []
    for size in (documents // 4, documents):
        before = time.perf_counter()
        data = write_standin(folder / f"rcv1-{size}", size)
        written = time.perf_counter()
        experiment(data, folder / f"rcv1-{size}-out")
        whole = time.perf_counter() - written
        part = orjson.loads((folder / f"rcv1-{size}-out" / "results.json").read_bytes())
        actual = part["parts"]["stream"]
        spent, peak = actual["seconds"], actual["peak_memory_mib"]
        peaks.append(peak)
        print(
            f"  {size:9,} documents, written in {written - before:.0f} s: {whole:6.0f} s in total; "
            f"terms {spent['terms']:.0f} s, lanes {spent['lanes']:.0f} s "
            f"({size / spent['lanes']:,.0f} documents/s), SVM {spent['svm']:.0f} s; "
            f"peak {peak:,.0f} MiB"
        )
    print(f"  peak memory of all / of a quarter {peaks[1] / peaks[0]:6.3f} x")


def experiment(data: Path, out: Path) -> None:
    """Run the experiment in a separate process, to measure its memory."""
    subprocess.run(
        [
            sys.executable, "-m", "pipeline", "experiment", "mmp-rcv1",
            "--data", f"rcv1:{data}", "--out", str(out), "--quiet",
        ],
        stdout=subprocess.DEVNULL,
        check=True,
    )  # fmt: skip
