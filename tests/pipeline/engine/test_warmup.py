"""What is done before the first event is read."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from learners.specs import parse_spec, resolved
from pipeline.engine.warmup import warm_up
from pipeline.text.tokenizer import Tokenizer
from tests.conftest import REPOSITORY

# Prints the kernels that two shards compile after the warm-up.
PROGRAM = """
import sys
from learners.sharding.meeting_place import ThreadPlace
from learners.specs import parse_spec
from deploy.kernels import kernels
from pipeline.engine.warmup import warm_up
from pipeline.snapshots.snapshot import take_snapshot
from tests.pipeline.engine.test_decided_shards import TOKENIZER, follow, random_events, with_shards

def compiled():
    return {name: len(kernel.signatures) for name, kernel in kernels()}

def work(engine, number):
    return follow(engine, random_events(2, 160), 40), take_snapshot(engine, 0)

warm_up([parse_spec(sys.argv[1])], TOKENIZER, print, as_shards=True)
before = compiled()
for place in (ThreadPlace(2), None):
    with_shards(sys.argv[1], 2, work, place)
for name, count in compiled().items():
    if count > before.get(name, 0):
        print("later:", name)
"""


def test_no_thread_is_left_behind() -> None:
    """A process that is forked right after that would copy it in an unknown state."""
    before = set(threading.enumerate())
    for _ in range(20):
        warm_up(resolved([parse_spec("mmp")]), Tokenizer(), lambda message: None)
        assert set(threading.enumerate()) <= before


@pytest.mark.parametrize("lane", ["mmp:loss=1", "soft-arow:assign=micro,risk=0.2"])
def test_a_shard_compiles_nothing_while_others_wait_for_it(lane: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, lane], cwd=REPOSITORY, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "later:" not in done.stdout
