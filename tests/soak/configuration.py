"""The configuration files of the soak: lanes, shards, and the undisturbed reference."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

STREAM = "soak"
REFERENCE = "reference"
WHOLE = {
    "one": "mmp:loss=1,name=one",
    "average": "perceptron:average=true,norm=l2,name=average",
    "frequent": "frequency:name=frequent",
    "stack": "svm-map:of=[one,average],refit=200,window=300,name=stack",
}
GUEST = {"guest": "rocchio:refresh=50,name=guest"}  # the lane that is added and removed
SPLIT = "split"
SPLIT_SPEC = f"mmp:loss=3,name={SPLIT}"
LANES = {**WHOLE, **GUEST, SPLIT: SPLIT_SPEC}

TEXT = """[kafka]
bootstrap = "{bootstrap}"
replication_factor = 3

[metrics]
port = 0

[snapshots]
folder = "{snapshots}"
every_seconds = 5.0
keep = 2

[[streams]]
name = "{name}"
documents = "{documents}"
blocks = "{blocks}"
partitions = {partitions}
block = 60
max_terms = 4000
max_topics = 80
max_pending = 500
lanes = [
{lanes}
]
"""


@dataclass
class Configuration:
    """Writes the configuration files."""

    folder: Path
    bootstrap: str
    snapshots: Path
    partitions: int = 4
    stream: str = STREAM
    shards: int = 2
    guest: bool = True
    whole_file: Path = field(init=False)
    split_file: Path = field(init=False)

    def __post_init__(self) -> None:
        self.whole_file = self.folder / "whole.toml"
        self.split_file = self.folder / "split.toml"
        self.write()

    def write(self) -> None:
        """Write the files of the workers again: of the whole lanes, and of the sharded lane."""
        whole = {**WHOLE, **(GUEST if self.guest else {})}
        self.whole_file.write_text(self._text(self.stream, dict.fromkeys(whole.values(), 1)))
        self.split_file.write_text(self._text(self.stream, {SPLIT_SPEC: self.shards}))

    def write_reference(self, bootstrap: str) -> Path:
        """Write the file of the worker that ranks the same log again, every lane in one piece."""
        path = self.folder / "reference.toml"
        specs = dict.fromkeys(LANES.values(), 1)
        path.write_text(self._text(REFERENCE, specs, bootstrap, self.folder / "reference"))
        return path

    def _text(
        self,
        name: str,
        lanes: dict[str, int],
        bootstrap: str | None = None,
        snapshots: Path | None = None,
    ) -> str:
        return TEXT.format(
            bootstrap=bootstrap or self.bootstrap,
            snapshots=snapshots or self.snapshots,
            name=name,
            documents=f"{self.stream}.documents",
            blocks=f"{self.stream}.blocks",
            partitions=self.partitions,
            lanes="\n".join(f'  {{spec = "{s}", shards = {n}}},' for s, n in lanes.items()),
        )
