"""A tokenizer whose work takes long: `python -m tests.support.slow_tokenizer SECONDS tokenize`.

Everything is the real program, except that after each poll with documents the worker is busy for
this many seconds, and does not poll.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from consumers.cli import main
from consumers.kafka.client_types import GroupConsumer
from consumers.kafka.clients import new_group_consumer
from consumers.tokenizer import document_reader


def slow_consumer(*arguments: Any, **options: Any) -> GroupConsumer:  # noqa: ANN401
    consumer = new_group_consumer(*arguments, **options)
    poll = consumer.poll

    def poll_and_work(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401
        polled = poll(*arguments, **options)
        if polled:
            time.sleep(SECONDS)
        return polled

    consumer.poll = poll_and_work  # type: ignore[method-assign]
    return consumer


if __name__ == "__main__":
    SECONDS = float(sys.argv.pop(1))
    document_reader.new_group_consumer = slow_consumer  # type: ignore[attr-defined]
    main()
