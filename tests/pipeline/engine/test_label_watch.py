"""Late labels that find no document are warned about, more rarely as time goes on."""

from __future__ import annotations

import pytest

from pipeline.engine.engine import Engine
from pipeline.events.event import Event
from pipeline.log.block import make_block
from pipeline.replay.settings import parse_lanes
from pipeline.text.tokenizer import Tokenizer


def warnings(caplog: pytest.LogCaptureFixture, events: list[Event], block: int) -> list[str]:
    engine, tokenizer = Engine(parse_lanes(["perceptron"])), Tokenizer()
    for start in range(0, len(events), block):
        for _ in engine.process(make_block(events[start : start + block], tokenizer)):
            pass
    engine.close()
    return [record.getMessage() for record in caplog.records]


def test_labels_without_documents(caplog: pytest.LogCaptureFixture) -> None:
    labels = [Event(f"n{n}", None, ("a",), None, None) for n in range(1000)]
    messages = warnings(caplog, labels, 50)
    assert [message.split()[0] for message in messages] == ["100", "200", "400", "800"]
    assert "beside 0 rounds" in messages[0]


def test_a_small_share_is_no_problem(caplog: pytest.LogCaptureFixture) -> None:
    documents = [Event(n, "wheat and corn", ("a",), None, None) for n in range(2000)]
    labels = [Event(f"n{n}", None, ("a",), None, None) for n in range(150)]
    assert warnings(caplog, [*documents, *labels], 500) == []
