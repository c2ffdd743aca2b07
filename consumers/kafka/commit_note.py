"""The note that a tokenizer commits beside each offset, in the metadata field of Kafka's commits.

An offset alone does not say which Kafka topic it belongs to: one that is deleted and created again
keeps its name. It also does not say how far the log covers the partition, nor how often tokenizers
have failed to get past the offset.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import orjson


@dataclass(frozen=True, slots=True)
class CommitNote:
    """What is known about the records that follow a committed offset."""

    topic_id: str = ""  # the id of the Kafka topic; empty: unknown
    starts: int = 0  # processes that began with these records and committed nothing after them
    trials: int = 0  # processes that began to tokenize the first of these records alone
    process: str = ""  # the process that was counted last
    # The log covers the partition up to here; None: nothing is in the log, or nothing is known.
    # The offset can be larger: markers of transactions are behind the last document.
    covered: int | None = None
    ended: str = ""  # the `stop` of the stream, if everything before it is in the log

    def encode(self) -> str:
        """Return the note as JSON."""
        return orjson.dumps(asdict(self)).decode()

    @classmethod
    def decode(cls, text: str) -> CommitNote:
        """Read a note. Offsets that another program has set have none, or one in its own form.

        >>> CommitNote.decode(CommitNote("an id", starts=2).encode())
        CommitNote(topic_id='an id', starts=2, trials=0, process='', covered=None, ended='')
        >>> CommitNote.decode("set by hand")
        CommitNote(topic_id='', starts=0, trials=0, process='', covered=None, ended='')
        """
        try:
            fields = orjson.loads(text)
        except orjson.JSONDecodeError:
            return cls()
        match fields:
            case {
                "topic_id": str(topic_id), "starts": int(starts),
                "trials": int(trials), "process": str(process),
            }:  # fmt: skip
                covered = fields.get("covered")  # notes of earlier releases have none
                known = covered if type(covered) is int and covered >= 0 else None
                ended = fields.get("ended")
                end = ended if type(ended) is str else ""
                return cls(topic_id, starts, trials, process, known, end)
        return cls()
