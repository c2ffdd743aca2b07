"""Finds the record on which tokenizers die or hang, and has it buried, so that the stream goes on.

No process can say that it died. So it says beforehand what it is about to do, in the note of a
committed offset (`commit_note`):

1. A process that begins with the records of a partition commits their offset again, and counts
   itself in the note. Each later commit is behind these records and has a new note.
2. If three processes have begun at the same offset and none has got past it, one of the next
   records is suspect. As many records as a poll can have are then tokenized one at a time. Before
   each, the process counts itself as trying this record. After it has tokenized the record, it
   removes the count.
3. A record that three processes have tried, without any of them coming back, is a dead letter.

Only deaths during the tokenizing of that one record count in step 3. A process that is killed while
it waits for the broker can lead to step 2, which is slow but does no harm.
"""

from __future__ import annotations

import logging
import secrets
from dataclasses import replace
from typing import Any

from consumers.kafka.client_types import Message
from consumers.kafka.commit_note import CommitNote
from consumers.tokenizer.document_reader import DocumentReader, Polled

log = logging.getLogger(__name__)

MAX_STARTS = 3
MAX_TRIALS = 3
PROCESS = secrets.token_hex(8)  # tells processes apart


class Suspects:
    """The partitions of which the next records are tokenized one at a time."""

    def __init__(self, reader: DocumentReader, block: int) -> None:
        self._reader = reader
        self._block = block
        self._left: dict[Any, int] = {}  # by partition: how many records are still suspect
        self._notes: dict[Any, CommitNote] = {}  # by partition: of the next record

    def begin(self, polled: Polled) -> None:
        """Count this process as one that has begun with the records of new partitions."""
        starts = {}
        for partition in polled.keys() & self._reader.taken_over.keys():
            note = self._reader.taken_over.pop(partition)
            self._left.pop(partition, None)
            if note.starts >= MAX_STARTS:
                self._left[partition] = self._block
                self._notes[partition] = note
                log.warning(
                    "%s processes began with partition %s at offset %s, and none got past it: "
                    "tokenizing the next %s records one at a time",
                    note.starts, partition.partition, polled[partition][0].offset, self._block,
                )  # fmt: skip
            elif note.process != PROCESS:
                starts[partition] = replace(note, starts=note.starts + 1, process=PROCESS)
        if starts:
            self._reader.commit({p: polled[p][0].offset for p in starts}, starts)

    def single_out(self, polled: Polled) -> Message | None:
        """The first record of a suspect partition; all other records will be polled again."""
        suspect = next((partition for partition in polled if partition in self._left), None)
        if suspect is None:
            return None
        for partition, messages in polled.items():
            self._reader.read_again(partition, messages[0].offset + (partition == suspect))
        return polled[suspect][0]

    def begin_trial(self, partition: Any, message: Message) -> bool | None:  # noqa: ANN401
        """Count this process as trying a record: True if it may, False if the record is buried.

        None: the count cannot be committed now, and the record will be polled again.
        """
        note = self._notes.get(partition, CommitNote())
        if note.trials >= MAX_TRIALS and note.process != PROCESS:
            return False
        trials = note.trials + (note.process != PROCESS or note.trials == 0)
        if self._commit(partition, message.offset, trials):
            return True
        self._reader.read_again(partition, message.offset)
        return None

    def end_trial(self, partition: Any, message: Message) -> None:  # noqa: ANN401
        """Remove the count: the record is tokenized, or buried, and the process is alive."""
        self._commit(partition, message.offset, 0)
        self._notes.pop(partition, None)
        self._left[partition] -= 1
        if not self._left[partition]:
            del self._left[partition]
            log.warning("partition %s has no suspect record any more", partition.partition)

    def notes(self) -> dict[Any, CommitNote]:
        """The notes of the partitions that stay suspect, for the next commit."""
        note = CommitNote(starts=MAX_STARTS)
        return dict.fromkeys(self._left, note)

    def _commit(self, partition: Any, offset: int, trials: int) -> bool:  # noqa: ANN401
        note = CommitNote(starts=MAX_STARTS, trials=trials, process=PROCESS)
        reads = self._reader.reads(partition)
        return reads and self._reader.commit({partition: offset}, {partition: note})
