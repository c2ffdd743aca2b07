"""The interface of an experiment: parts that are computed one by one, and findings from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from pipeline.experiments.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Result = dict[str, Any]  # of one part; it is stored as JSON
Say = Callable[[str], None]  # prints a line of progress


@dataclass(frozen=True, slots=True)
class Settings:
    """The options that a user can set for an experiment."""

    seed: int = 0
    splits: int = 10
    quick: bool = False
    unconstrained: bool = False


@dataclass(frozen=True, slots=True)
class Need:
    """A corpus that an experiment reads."""

    kind: str  # as in `kind:PATH`
    title: str
    names: str  # a regular expression that names of its files or folders match
    check: Callable[[Path], object]  # raises SourceError if a path is not this corpus
    files: Callable[[Path], Sequence[Path]] | None = None  # its files, if PATH is not a plain path


class Part(NamedTuple):
    """A unit of work; its result is stored under its name."""

    name: str
    run: Callable[[], Result]


class Drawing(NamedTuple):
    """A figure that is drawn when all parts are done."""

    name: str
    draw: Callable[[], Figure]


class Series(NamedTuple):
    """Numbers that are written as CSV only, because there are too many to print."""

    name: str
    csv: bytes


@dataclass(frozen=True, slots=True)
class Findings:
    """The output of an experiment when all its parts are done."""

    tables: Sequence[Table]
    drawings: Sequence[Drawing]
    remarks: Sequence[str]  # how it differs from the paper, and what is left out
    series: Sequence[Series] = ()


class Experiment(ABC):
    """An experiment of a paper, with its settings and the paths of its corpora."""

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[str]
    needs: ClassVar[tuple[Need, ...]]
    packages: ClassVar[tuple[str, ...]]  # packages of the extra `experiments` that it imports
    splits: ClassVar[tuple[int, int]] = (10, 1)  # default number of splits: normally, with --quick

    def __init__(self, settings: Settings, data: Mapping[str, Path], say: Say) -> None:
        self.settings = settings
        self.data = data
        self.say = say
        self.known: dict[str, Result] = {}  # results of earlier parts, for parts that need them

    @abstractmethod
    def recorded_settings(self) -> Mapping[str, Any]:
        """Everything that the results of the parts depend on besides the data.

        The number of splits is not included: a run with more splits reuses those already done.
        """

    @abstractmethod
    def parts(self) -> Iterator[Part]:
        """The parts, in the order in which they are computed."""

    @abstractmethod
    def findings(self, results: Mapping[str, Result]) -> Findings:
        """Tables, figures and remarks from the results of all parts, by the parts' names."""
