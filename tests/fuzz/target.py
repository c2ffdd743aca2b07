"""What is fuzzed: a target takes bytes, and says what became of them."""

from __future__ import annotations

import re
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from random import Random

MEGABYTE = 1 << 20
QUOTED = re.compile("['\"]")
DIGITS = str.maketrans("", "", "0123456789,.-+")


class Broken(Exception):  # noqa: N818 - it is a verdict, not an error of the fuzzer
    """A promise of a surface does not hold; the message says which."""


class Target(ABC):
    """A surface. Every input is bytes, so that any input can be kept and made smaller.

    `run` returns a short text that says what became of the input. An input with a new text is kept
    and mutated further. Any exception that leaves `run` is a finding.
    """

    name = ""
    share = 1.0  # of the inputs, if a run counts inputs; slow targets get fewer
    largest = MEGABYTE  # bytes of the largest inputs
    passes = 1  # how often it goes over an input, which may take this many times as long
    kernels = False  # whether compiled kernels see the input, so that BOUNDS=1 says more

    @abstractmethod
    def seeds(self) -> Sequence[bytes]:
        """Return valid inputs, made by the project's own code."""

    @abstractmethod
    def mutate(self, rng: Random, data: bytes, other: bytes) -> bytes:
        """Return a changed input; `other` is another input to take pieces from."""

    @abstractmethod
    def blow_up(self, rng: Random, data: bytes) -> bytes:
        """Return a large input."""

    def repair(self, data: bytes) -> bytes:
        """Return the input with checksums that match, after it was made smaller."""
        return data

    @abstractmethod
    def run(self, data: bytes) -> str:
        """Give the input to the surface, and check what it promises."""

    def close(self) -> None:  # noqa: B027 - most targets have nothing to close
        """Stop servers and remove files."""


def kind_of(error: BaseException) -> str:
    """Return a text that is equal for refusals of the same kind: no numbers, nothing quoted."""
    text = QUOTED.split(str(error)[:200], maxsplit=1)[0]
    return f"{type(error).__name__} {text.translate(DIGITS)[:60]}"


def scratch_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder for the files of a target, in memory where the system has such a place."""
    memory = Path("/dev/shm")  # noqa: S108 - the folder inside it has a random name
    return tempfile.TemporaryDirectory(
        prefix="wirerank-fuzz-", dir=memory if memory.is_dir() else None
    )
