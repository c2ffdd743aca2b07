"""A few ratings in the files of MovieLens."""

from __future__ import annotations

from pathlib import Path

# Viewer, film, stars, time; viewers 7 and 3 are equally active.
RATINGS = [
    (7, 100, 5, 881250949),
    (7, 20, 1, 881250940),
    (7, 30, 3, 881250949),
    (3, 100, 4, 881250000),
    (3, 20, 3, 881250000),
    (3, 40, 1, 881250000),
    (9, 100, 1, 881250949),
    (9, 20, 2, 881250900),
    (11, 100, 2, 881259999),
]


def write_movielens(folder: Path, name: str = "u.data", separator: str = "\t") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    lines = [separator.join(map(str, rating)) for rating in RATINGS]
    (folder / name).write_text("\n".join(lines) + "\n")
    return folder
