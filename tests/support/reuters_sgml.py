"""Stories and files in the SGML of Reuters-21578."""

from __future__ import annotations

from pathlib import Path


def story(
    newid: int,
    *,
    date: str = " 5-MAR-1987 09:29:34.23",
    topics: str = "YES",
    split: str = "TRAIN",
    labels: tuple[str, ...] = (),
    text: str = "<TEXT>&#2;\n<TITLE>A TITLE</TITLE>\n<BODY>A body.\n&#3;</BODY></TEXT>",
) -> str:
    marked = "".join(f"<D>{label}</D>" for label in labels)
    return (
        f'<REUTERS TOPICS="{topics}" LEWISSPLIT="{split}" CGISPLIT="TRAINING-SET" OLDID="9" '
        f'NEWID="{newid}">\n<DATE>{date}</DATE>\n<TOPICS>{marked}</TOPICS>\n'
        f"<PLACES><D>nowhere</D></PLACES>\n<UNKNOWN>&#5;f0001</UNKNOWN>\n{text}\n</REUTERS>\n"
    )


def write_stories(folder: Path, *stories: str, number: int = 0) -> Path:
    folder.mkdir(exist_ok=True)
    sgml = '<!DOCTYPE lewis SYSTEM "lewis.dtd">\n' + "".join(stories)
    (folder / f"reut2-{number:03d}.sgm").write_bytes(sgml.encode("latin-1"))
    return folder
