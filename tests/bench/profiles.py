"""`python -m tests.bench --only profiles`: the time to tokenize by profile, as a ratio.

The profiles take turns within a run, and the time is that of the thread. The ratio is that to
`reuters2000`, the plainest profile.

The same texts come again and again there, so all words are known. `python -m tests.bench.profiles
SOURCE ...` tokenizes each source once, as a stream does. New words have to be stemmed then.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence

from pipeline.corpora import open_source
from pipeline.corpora.synthetic_newswire import SyntheticNewswire
from pipeline.events.event import parse_event
from pipeline.text.tokenizer import Tokenizer

PROFILES = (
    "reuters2000",
    "reuters21578",
    "news",
    "news:stem=english,stop_words=english",
    "news:title=text",
    "news:words=2",
    "multilingual",
    "multilingual:letters=3-5",
)
BLOCK = 1024
TURNS = 31


def run(documents: int) -> None:
    """Print the time per document of each profile."""
    events = [parse_event(event) for event in SyntheticNewswire(documents=documents)]
    texts = [str(event.content) for event in events]
    titles = [event.title_length for event in events]
    size = sum(map(len, texts)) // len(texts)
    print(f"\nProfiles: {documents:,} texts of {size:,} bytes, blocks of {BLOCK:,}")
    tokenizers = {profile: Tokenizer(profile) for profile in PROFILES}
    times: dict[str, list[float]] = {profile: [] for profile in PROFILES}
    for turn in range(TURNS + 2):  # the first turns compile kernels and fill caches
        for profile, tokenizer in tokenizers.items():
            began = time.thread_time()
            for at in range(0, documents, BLOCK):
                tokenizer.count(texts[at : at + BLOCK], titles[at : at + BLOCK])
            if turn >= 2:
                times[profile].append((time.thread_time() - began) / documents * 1e6)
    plain = times[PROFILES[0]]
    for profile, spent in times.items():
        ratio = statistics.median(spent) / statistics.median(plain)
        print(
            f"  {profile:<40} {statistics.median(spent):5.1f} us, fastest {min(spent):5.1f} us: "
            f"{ratio:.2f} times (fastest turns {min(spent) / min(plain):.2f})"
        )


def one_pass(source: str, profiles: Sequence[str] = (PROFILES[0], "news")) -> None:
    """Print the time per document of profiles for one pass; the first quarter does not count."""
    events = [event for event in map(parse_event, open_source(source)) if event.content]
    texts = [str(event.content) for event in events]
    titles = [event.title_length for event in events]
    spent: dict[str, list[float]] = {profile: [] for profile in profiles}
    for profile in profiles:
        Tokenizer(profile).count(texts[:BLOCK], titles[:BLOCK])  # compiles
    tokenizers = {profile: Tokenizer(profile) for profile in profiles}
    blocks = range(0, len(texts) - BLOCK + 1, BLOCK)
    for at in blocks:
        # The first one to read a text waits for the memory, so they take turns at being first.
        order = profiles if (at // BLOCK) % 2 else tuple(reversed(profiles))
        for profile in order:
            tokenizer = tokenizers[profile]
            began = time.thread_time()
            tokenizer.count(texts[at : at + BLOCK], titles[at : at + BLOCK])
            spent[profile].append((time.thread_time() - began) / BLOCK * 1e6)
    means = {name: statistics.fmean(each[len(blocks) // 4 :]) for name, each in spent.items()}
    print(f"\nOne pass over {source}: {len(texts):,} texts")
    for profile, mean in means.items():
        print(f"  {profile:<40} {mean:5.1f} us: {mean / means[profiles[0]]:.2f} times")


if __name__ == "__main__":
    for each in sys.argv[1:]:
        one_pass(each)
