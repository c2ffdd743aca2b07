"""`wirerank replay --fields`: settings on the command line, and in files."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from tests.support.command_line import wirerank, write_events

OTHER = [
    {"nr": 1, "headline": "Wheat", "body": "harvest", "tags": [{"slug": "grain"}], "at": 541350061},
    {"nr": 2, "headline": "Oil", "body": "price", "tags": [{"slug": "crude"}], "at": 541350062},
    {"nr": 1, "tags": [{"slug": "ship"}]},
]
FIELDS = (
    "id=nr", "title=headline", "text=body", "topics=tags[].slug",
    'time={path = "at", format = "seconds"}',
)  # fmt: skip


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def with_fields(*texts: str) -> list[str]:
    return [part for text in texts for part in ("--fields", text)]


def test_events_of_another_shape_are_ranked() -> None:
    source = write_events(events=OTHER)
    asked = (
        "replay",
        source,
        "--lane",
        "mmp:loss=1",
        "--rankings",
        "r.jsonl",
        "--report",
        "r.json",
    )
    result = wirerank(*asked, *with_fields(*FIELDS))
    assert result.exit_code == 0, result.stderr
    rankings = [orjson.loads(line) for line in Path("r.jsonl").read_bytes().splitlines()]
    assert [(r["id"], r["time"]) for r in rankings] == [
        (1, "1987-02-26T15:01:01Z"), (2, "1987-02-26T15:01:02Z")
    ]  # fmt: skip
    settings = orjson.loads(Path("r.json").read_bytes())["mmp:loss=1"]["settings"]
    assert settings["fields"].startswith('id = "nr", title = "headline"')
    written = Path("r.jsonl").read_bytes()
    for text in (
        'id = "nr"\ntitle = "headline"\n{}',
        '[fields]\nid = "nr"\ntitle = "headline"\n{}',
        '[[streams]]\nname = "n"\n[streams.fields]\nid = "nr"\ntitle = "headline"\n{}',
    ):
        rest = 'topics = "tags[].slug"\ntime = {path = "at", format = "seconds"}\n'
        Path("fields.toml").write_text(text.format(rest))
        again = wirerank(*asked, *with_fields("fields.toml", "text=body"))
        assert again.exit_code == 0, again.stderr
        assert Path("r.jsonl").read_bytes() == written


def test_without_them_the_dead_letters_say_what_to_write() -> None:
    events = [{"id": n, "headline": "Wheat", "body": "up", "topics": ["a"]} for n in range(20)]
    result = wirerank("replay", write_events(events=events), "--dead-letters", "dead.jsonl")
    assert result.exit_code == 1
    assert "unknown_fields 20" in result.stderr
    letter = orjson.loads(Path("dead.jsonl").read_bytes().splitlines()[0])
    assert 'title = "headline", text = "body"' in letter["detail"]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (("titel=headline",), "fields.titel: there is no such field; did you mean 'title'?"),
        (("title=$.headline",), "'$.headline' is JSONPath; write 'headline'"),
        (("id=@key",), "exists in Kafka records only"),
        (("text=[lead",), "is not valid TOML"),
        (("nowhere.toml",), "nowhere.toml cannot be read"),
        (("two.toml",), "has 2 streams with `fields`"),
        (("text={path = 5}",), "the table must have a path"),
    ],
)
def test_settings_that_are_refused(texts: tuple[str, ...], said: str) -> None:
    stream = '[[streams]]\n[streams.fields]\nid = "a"\n'
    Path("two.toml").write_text(stream + stream)
    result = wirerank("replay", write_events(), *with_fields(*texts))
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())


def test_ninjs_has_its_own_fields() -> None:
    result = wirerank("replay", write_events(), "--format", "ninjs", *with_fields("id=nr"))
    assert result.exit_code == 2
    assert "leave out `fields`" in result.stderr
