"""What a process remembers of its writing until it is committed."""

from __future__ import annotations

from consumers.tokenizer.written_offsets import WrittenOffsets

HERE, THERE, REPLACED = ("id", 0), ("id", 1), ("another id", 0)


def test_what_was_written_is_known_until_it_is_committed() -> None:
    written = WrittenOffsets()
    written.has_dead_letter(HERE, 12)
    written.log_covers(HERE, 10)
    written.log_covers(HERE, 5)  # an earlier record, again
    known = [offset for offset in range(20) if written.is_written(HERE, offset)]
    assert known == [*range(10), 12]
    for other in (THERE, REPLACED):
        assert not any(written.is_written(other, offset) for offset in range(20))
    written.committed(HERE)
    assert not any(written.is_written(HERE, offset) for offset in range(20))
