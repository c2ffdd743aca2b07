"""Findings: inputs on which a promise does not hold, kept as small files that tests replay."""

from __future__ import annotations

import base64
import hashlib
import traceback
from dataclasses import dataclass
from pathlib import Path

import orjson

REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Finding:
    """An input, the target that it belongs to, and what happened."""

    target: str
    kind: str  # error, crash, hang, slow or memory
    what: str  # one line
    place: str  # the last place in the project's code
    data: bytes

    @property
    def key(self) -> str:
        """What findings of the same cause have in common."""
        what = self.what.partition(":")[0] if self.kind in ("error", "crash") else ""
        return f"{self.target} {self.kind} {what} {self.place}"

    @property
    def file_name(self) -> str:
        """The name of the file that it is kept in."""
        digest = hashlib.blake2b(self.key.encode(), digest_size=4).hexdigest()
        return f"{self.target}-{self.kind}-{digest}.json"

    def write(self, folder: Path) -> Path:
        """Write it to a file."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / self.file_name
        path.write_bytes(orjson.dumps(self._as_json(), option=orjson.OPT_INDENT_2) + b"\n")
        return path

    def _as_json(self) -> dict[str, str]:
        fields = {"target": self.target, "kind": self.kind, "what": self.what, "place": self.place}
        try:
            return {**fields, "input": self.data.decode()}
        except UnicodeDecodeError:
            return {**fields, "input_base64": base64.b64encode(self.data).decode()}


def read_finding(path: Path) -> Finding:
    """Read a file that `Finding.write` has written."""
    fields = orjson.loads(path.read_bytes())
    text, encoded = fields.get("input"), fields.get("input_base64", "")
    data = base64.b64decode(encoded) if text is None else text.encode()
    return Finding(fields["target"], fields["kind"], fields["what"], fields["place"], data)


def error_finding(target: str, error: BaseException, data: bytes) -> Finding:
    """Return the finding of an exception that left a target."""
    lines = str(error).splitlines() or [""]
    what = f"{type(error).__name__}: {lines[0][:200]}"
    return Finding(target, "error", what.encode("utf-8", "replace").decode(), place_of(error), data)


def place_of(error: BaseException) -> str:
    """Return the last place of a traceback that is in the project, outside of the fuzzer."""
    places = [
        f"{Path(frame.filename).relative_to(REPOSITORY)}:{frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(REPOSITORY) and "site-packages" not in frame.filename
    ]
    own = [place for place in places if not place.startswith("tests/fuzz")]
    return (own or places or [""])[-1]
