"""The errors of kafka-python that Wirerank handles, and how an error is put into words."""

from __future__ import annotations

from kafka.errors import (
    AuthorizationError,
    CommitFailedError,
    CorruptRecordError,
    InvalidProducerEpochError,
    InvalidRecordError,
    InvalidTimestampError,
    InvalidTopicError,
    KafkaError,
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    NoOffsetForPartitionError,
    OffsetOutOfRangeError,
    PolicyViolationError,
    ProducerFencedError,
    RebalanceInProgressError,
    RecordListTooLargeError,
    UnsupportedForMessageFormatError,
    UnsupportedVersionError,
)

__all__ = [
    "PERMANENT",
    "TOO_LARGE",
    "AuthorizationError",
    "BrokerAwayError",
    "CommitFailedError",
    "CorruptRecordError",
    "InvalidTimestampError",
    "KafkaError",
    "KafkaTimeoutError",
    "MessageSizeTooLargeError",
    "NoOffsetForPartitionError",
    "OffsetOutOfRangeError",
    "RebalanceInProgressError",
    "RefusedError",
    "describe_error",
    "is_fenced",
]

# The broker refuses a record because of its size.
TOO_LARGE = (MessageSizeTooLargeError, RecordListTooLargeError)
# The broker would refuse the same request again, however often it is repeated.
PERMANENT = (
    *TOO_LARGE,
    InvalidRecordError,
    InvalidTimestampError,
    InvalidTopicError,
    PolicyViolationError,
    UnsupportedForMessageFormatError,
    UnsupportedVersionError,
)


class BrokerAwayError(Exception):
    """The broker did not answer before the worker had to stop; nothing is lost by that."""


class RefusedError(KafkaError):  # type: ignore[misc]
    """The broker refuses this client or one of its requests; the message says what to do."""

    def __str__(self) -> str:
        return str(self.args[0])


def is_fenced(error: BaseException) -> bool:
    """Whether another producer has taken over the transactional id; also if it is the cause."""
    fenced = (ProducerFencedError, InvalidProducerEpochError)
    return any(isinstance(cause, fenced) for cause in (error, *error.args))


def describe_error(error: Exception) -> str:
    """The name and text of an error; kafka-python begins some of its texts with the name.

    >>> describe_error(OSError("no route to host"))
    'OSError: no route to host'
    """
    name, text = type(error).__name__, str(error)
    named = text.startswith(name) or isinstance(error, RefusedError)
    return text if named else f"{name}: {text}"
