"""What is done before the first event is read."""

from __future__ import annotations

import threading

from learners.specs import parse_spec, resolved
from pipeline.engine.warmup import warm_up
from pipeline.text.tokenizer import Tokenizer


def test_no_thread_is_left_behind() -> None:
    """A process that is forked right after that would copy it in an unknown state."""
    before = set(threading.enumerate())
    for _ in range(20):
        warm_up(resolved([parse_spec("mmp")]), Tokenizer(), lambda message: None)
        assert set(threading.enumerate()) <= before
