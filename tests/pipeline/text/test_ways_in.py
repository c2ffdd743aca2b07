"""Every way into the program counts titles and languages alike."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import orjson
import pytest

from pipeline.corpora import open_source
from pipeline.errors import UsageError
from pipeline.events.event import MAX_EVENT_BYTES, Event, parse_event
from pipeline.events.fields import parse_fields
from pipeline.events.formats import new_decoder
from pipeline.events.newsml_g2 import NewsmlG2Parser
from pipeline.events.ninjs import parse_ninjs
from pipeline.events.record import Record
from pipeline.log.block import make_block
from pipeline.log.block_reader import BlockReader
from pipeline.models.frozen_lanes import load_frozen_lanes
from pipeline.models.model import model_of
from pipeline.models.model_file import read_model, read_whole
from pipeline.notebook import Replay
from pipeline.serving.rank_request import Limits, parse_documents
from pipeline.storage.container import DamagedError
from pipeline.text.feature_settings import FeatureSettings
from pipeline.text.features import Vocabulary
from pipeline.text.profile import parse_profile
from pipeline.text.terms import words_of
from pipeline.text.tokenizer import TermCounts, Tokenizer

TITLE, TEXT = "Weizenpreise steigen", "Die Preise steigen wieder."
PROFILE = "news:stop_words=none"


def counted(counts: TermCounts) -> list[dict[str, float]]:
    """The counts of each row by term."""
    words = words_of(counts.table)
    return [
        dict(
            zip(
                (words[term] for term in counts.terms[start:end]),
                counts.values[start:end].tolist(),
                strict=True,
            )
        )
        for start, end in zip(counts.starts[:-1], counts.starts[1:], strict=True)
    ]


def terms(events: Sequence[Event], profile: str = PROFILE) -> list[dict[str, float]]:
    return counted(make_block(events, Tokenizer(profile)).counts)


def native(language: str | None = None, **more: object) -> bytes:
    return orjson.dumps({"id": 1, "title": TITLE, "text": TEXT, "language": language, **more})


NEWSML = f"""<newsItem xmlns="http://iptc.org/std/nar/2006-10-01/" guid="urn:x:1" xml:lang="de">
  <contentMeta><headline>{TITLE}</headline></contentMeta>
  <contentSet><inlineXML><html xmlns="http://www.w3.org/1999/xhtml"><body><p>{TEXT}</p></body></html>
  </inlineXML></contentSet></newsItem>"""


@pytest.mark.parametrize("profile", [PROFILE, "multilingual", "news:title=twice,stem=auto"])
def test_all_formats_give_the_same_terms(tmp_path: Path, profile: str) -> None:
    (expected,) = terms([parse_event(native("de"))], profile)
    mapping = parse_fields({"title": "headline", "text": "body", "language": "meta.lang"})
    mapped = {"id": 1, "headline": TITLE, "body": TEXT, "meta": {"lang": "de"}}
    decode = new_decoder("wirerank", mapping)
    row = new_decoder("csv:columns=id+title+text+language")
    ninjs = {"uri": "x", "headline": TITLE, "body_text": TEXT, "language": "de"}
    served, _ = parse_documents([orjson.loads(native("de"))], Limits(10))
    events = [
        decode(Record(orjson.dumps(mapped)), MAX_EVENT_BYTES),
        row(Record(f"1,{TITLE},{TEXT},de".encode()), MAX_EVENT_BYTES),
        parse_ninjs(orjson.dumps(ninjs)),
        NewsmlG2Parser()(NEWSML.encode()),
        *served,
    ]
    assert terms(events, profile) == [expected] * len(events)
    source = tmp_path / "one.jsonl"
    source.write_bytes(native("de") + b"\n")
    (reading,) = BlockReader(open_source(str(source)), Tokenizer(profile), 10)
    assert reading is not None
    assert counted(reading.block.counts) == [expected]


def test_the_papers_profiles_know_neither_titles_nor_languages() -> None:
    whole = Event(1, f"{TITLE}\n{TEXT}", None, None, None)
    for profile in ("reuters2000", "reuters21578"):
        assert terms([parse_event(native("de"))], profile) == terms([whole], profile)


def test_a_declared_language_goes_before_the_one_that_is_found() -> None:
    found, german, english = terms([parse_event(native(name)) for name in (None, "de", "en")])
    assert found == german
    assert german != english
    assert "wied" in german  # wieder
    assert "wieder" in english


def test_neither_the_block_nor_the_neighbours_matter() -> None:
    languages = (None, "de", "en", "ja", "unknown")
    events = [
        parse_event(native(language, id=number, text=text))
        for number, (language, text) in enumerate(
            (language, text)
            for language in languages
            for text in (TEXT, "The prices are rising again.", "価格が上がった", "")
        )
    ]
    alone = [one for event in events for one in terms([event])]
    assert terms(events) == alone
    assert terms(events[::-1]) == alone[::-1]


def test_a_model_names_its_profile_and_refuses_others(tmp_path: Path) -> None:
    path, written = tmp_path / "m.model", "news:title=twice,slope=0.30,norm=l2"
    replay = Replay("synthetic:30", ["mmp"], profile=written).run()
    replay.save(path)
    model = read_model(path)
    assert model.input.profile == "news:title=twice,norm=l2"
    assert model.engine.features.norm == "l2"
    assert replay.report["mmp"]["settings"]["profile"] == model.input.profile
    (part,) = load_frozen_lanes(path, (), pytest.fail)
    assert part.engine.vocabulary.settings == model.engine.features
    with pytest.raises(UsageError, match="Did you mean news"):
        Replay("synthetic:30", profile="newz")


def test_a_profile_of_a_newer_release_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.model"
    Replay("synthetic:30", ["mmp"], profile="reuters21578").run().save(path)
    snapshot = read_whole(path)
    snapshot.content["model"]["events"]["profile"] = "news2030"
    with pytest.raises(DamagedError, match="learned with profile 'news2030', which Wirerank"):
        model_of(snapshot)


def test_vectors_of_texts_have_length_one_and_features_stay() -> None:
    profile = parse_profile("reuters2000:norm=l2")
    documents: list[str | dict[str, float]] = [
        "wheat and corn",
        "corn and oil",
        {"oil": 3.0, "gold": 4.0},
        "oil gold gold",
        "",
    ]
    vocabulary = Vocabulary(FeatureSettings.of(profile))
    counts = Tokenizer(profile).count(documents)
    ready = np.array([isinstance(document, dict) for document in documents])
    (made,) = vocabulary.vectors(counts, ready)
    lengths = [float(np.linalg.norm(made.rows.row(row)[1])) for row in range(len(documents))]
    assert lengths == pytest.approx([0.0, 1.0, 5.0, 1.0, 0.0])
