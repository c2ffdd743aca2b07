"""What an experiment is: parts that are computed one by one and kept, and what is found in them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from pipeline.experiments.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Result = dict[str, Any]  # of one part; it goes through JSON
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Settings:
    """What a person may choose about an experiment."""

    seed: int = 0
    splits: int = 10
    quick: bool = False
    unconstrained: bool = False


@dataclass(frozen=True, slots=True)
class Need:
    """A corpus that an experiment reads."""

    kind: str  # as in `kind:PATH`
    title: str
    names: str  # a pattern of how files and folders that hold it are called
    check: Callable[[Path], object]  # raises SourceError if it is not that
    files: Callable[[Path], Sequence[Path]] | None = None  # if what is written is no path


class Part(NamedTuple):
    """A piece of work whose result is kept under its name."""

    name: str
    run: Callable[[], Result]


class Drawing(NamedTuple):
    """A picture that is drawn when everything is known."""

    name: str
    draw: Callable[[], Figure]


class Series(NamedTuple):
    """Numbers that are written as CSV, and are too many to be printed."""

    name: str
    csv: bytes


@dataclass(frozen=True, slots=True)
class Findings:
    """What an experiment says when all its parts are done."""

    tables: Sequence[Table]
    drawings: Sequence[Drawing]
    remarks: Sequence[str]  # how it differs from the paper, and what was left out
    series: Sequence[Series] = ()


class Experiment(ABC):
    """An experiment of a paper on data that was found."""

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[str]
    needs: ClassVar[tuple[Need, ...]]
    packages: ClassVar[tuple[str, ...]]  # that it imports, of the extra `experiments`
    splits: ClassVar[tuple[int, int]] = (10, 1)  # if nobody says how many: all in all, and quick

    def __init__(self, settings: Settings, data: Mapping[str, Path], say: Say) -> None:
        self.settings = settings
        self.data = data
        self.say = say
        self.known: dict[str, Result] = {}  # of the parts before, for parts that build on them

    @abstractmethod
    def recorded_settings(self) -> Mapping[str, Any]:
        """All that the results of its parts depend on besides the data, for the record.

        How many splits there are is not among it: more of them go on from fewer.
        """

    @abstractmethod
    def parts(self) -> Iterator[Part]:
        """Its parts, in the order in which they are computed."""

    @abstractmethod
    def findings(self, results: Mapping[str, Result]) -> Findings:
        """Tables and pictures of the results, which are by the names of the parts."""
