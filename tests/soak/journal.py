"""Files of JSON lines, which stay readable if the program is killed."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class Journal:
    """Appends objects to a file, one per line; usable from several threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._file = path.open("a", encoding="utf-8")

    def write(self, entry: Mapping[str, Any]) -> None:
        """Append one object."""
        line = json.dumps(entry) + "\n"
        with self._lock:
            if not self._file.closed:
                self._file.write(line)
                self._file.flush()

    def close(self) -> None:
        """Close the file; what is written afterwards is dropped."""
        with self._lock:
            self._file.close()
