"""`make quality`: lanes and their peers on held-out documents, as tables.

SOURCES are what `wirerank replay` takes, each with a name: `mail=/data/mail.jsonl`. Without any,
the corpora at hand are used. A second table compares the first lane with the other lanes and with
each peer, document by document, with standard errors.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Mapping
from pathlib import Path

from learners.arrays import Floats
from pipeline.replay.settings import DEFAULT_LANES
from pipeline.text.profile import DEFAULT_PROFILE
from tests.bench.quality.held_out import Corpus, differences, mean_of, measures, read_corpus
from tests.bench.quality.lanes import lane_scores
from tests.bench.quality.peers import PEERS, analyzers_for
from tests.conftest import ARCHIVES, REPOSITORY

DATA = Path(os.environ.get("WIRERANK_DATA", REPOSITORY.parent / "shared" / "data"))
RIVER_MOST = 300_000  # documents times topics

HEADER = "| {:<46} | AvgP | OneErr % | Coverage | loss3 % | seconds |"
ROW = "| {:<46} | {:.4f} | {:.2f} | {:.2f} | {:.3f} | {:.0f} |"
BESIDE = "| {:<46} | {:+.4f} ± {:.4f} | {:+.2f} ± {:.2f} | {:+.2f} ± {:.2f} | {:+.3f} ± {:.3f} |"


def corpora_at_hand() -> dict[str, str]:
    """The corpora of the data folder that are there."""
    known = {
        "Reuters-21578": f"reuters21578:{DATA / ARCHIVES['reuters21578']}",
        "20 Newsgroups": f"newsgroups:{DATA / ARCHIVES['newsgroups']}",
        **{
            f"Debian descriptions, {code}": str(DATA / "debian-descriptions" / f"{code}.jsonl.xz")
            for code in ("de", "ja", "ru")
        },
    }
    return {
        name: source
        for name, source in known.items()
        if Path(source.partition(":")[2] or source).exists()
    }


def show(name: str, measured: Floats, seconds: float) -> None:
    """Print a row of the table, of what was measured of each document."""
    print(ROW.format(name, *mean_of(measured), seconds), flush=True)


def compare(name: str, lane: Floats, others: Mapping[str, Floats]) -> None:
    """Print how much more or less a lane has than each of the others."""
    print(f"\n| {name}, less that of .. | AvgP | OneErr % | Coverage | loss3 % |")
    print("|---|---|---|---|---|")
    for peer, measured in others.items():
        pairs = differences(lane, measured)
        print(BESIDE.format(peer, *(number for pair in pairs for number in pair)), flush=True)


def is_too_much(corpus: Corpus, analyzer: str) -> bool:
    """Whether River would need hours, or has no such analyzer."""
    updates = len(corpus.learned) * len(corpus.topics)
    return updates > RIVER_MOST or analyzer.startswith("characters")


def run_corpus(corpus: Corpus, lanes: list[str], profiles: list[str], peers: list[str]) -> None:
    """Print the table of a corpus."""
    documents = len(corpus.learned) + len(corpus.held_out)
    print(f"\n## {corpus.name}\n\n{documents:,} documents, {len(corpus.topics):,} topics\n")
    print(HEADER.format("method") + "\n|---|---|---|---|---|---|")
    relevant = corpus.relevant
    ready = "features" in corpus.learned[0]
    of_lanes, of_peers = dict[str, Floats](), dict[str, Floats]()
    for profile in profiles[:1] if ready else profiles:
        began = time.perf_counter()
        given = lane_scores(corpus, lanes, profile)
        seconds = time.perf_counter() - began
        for lane, result in given.items():
            label = lane if ready else f"{lane}, {profile}"
            of_lanes[label] = measures(result.scores, relevant)
            show(label, of_lanes[label], seconds)
    for peer in peers:
        for analyzer in analyzers_for(corpus):
            if peer.startswith("River") and is_too_much(corpus, analyzer):
                continue
            began = time.perf_counter()
            label = f"{peer}, {analyzer}"
            of_peers[label] = measures(PEERS[peer](corpus, analyzer), relevant)
            show(label, of_peers[label], time.perf_counter() - began)
    (first, measured), *others = of_lanes.items()
    if others or of_peers:
        compare(first, measured, {**dict(others), **of_peers})


def main() -> None:
    parser = argparse.ArgumentParser(prog="make quality", description=__doc__)
    parser.add_argument("sources", nargs="*", metavar="NAME=SOURCE")
    parser.add_argument("--lane", action="append", help="a lane; repeat for more")
    parser.add_argument("--profile", action="append", help="a profile; repeat for more")
    parser.add_argument("--limit", type=int, default=0, help="documents of each corpus; 0: all")
    parser.add_argument("--no-peers", action="store_true", help="lanes only")
    asked = parser.parse_args()
    given = dict(source.split("=", 1) for source in asked.sources)
    for name, source in (given or corpora_at_hand()).items():
        run_corpus(
            read_corpus(name, source, asked.limit),
            asked.lane or list(DEFAULT_LANES),
            asked.profile or [DEFAULT_PROFILE],
            [] if asked.no_peers else list(PEERS),
        )


if __name__ == "__main__":
    main()
