"""How each field of a ninjs item is read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipeline.events.event import Event, MalformedEvent
from pipeline.events.ninjs import parse_ninjs


def read(**item: Any) -> Event:  # noqa: ANN401 - whatever JSON can say
    return parse_ninjs(json.dumps({"uri": "urn:x:1", **item}).encode())


def subject(**fields: object) -> tuple[str, ...] | None:
    return read(subject=[fields]).topics


# Items as producers write them


def test_an_agency_item_of_1x() -> None:
    item = {
        "$standard": {"name": "ninjs", "version": "1.4"},
        "uri": "http://wire.example.com/items/260114-skordar-7f3a",
        "type": "text",
        "mimetype": "text/html",
        "representationtype": "complete",
        "profile": "PUBL",
        "version": "2",
        "versioncreated": "2026-01-14T09:30:05+01:00",
        "embargoed": None,
        "pubstatus": "usable",
        "urgency": 4,
        "language": "sv",
        "slugline": "skördar",
        "byline": "Nils Exempel",
        "headline": "Rekordskörd i söder",
        "headline_short": "Rekordskörd",
        "headline_en": "Record harvest in the south",
        "body_text": "Skörden blev större än väntat.\nPriset på vete föll.",
        "body_html5": "<html><head><title>Rekordskörd</title></head><body/></html>",
        "body_event": {"arena": "Torget", "city": "Ystad"},
        "description_text": "Om skörden.",
        "description_usage": "Får inte säljas vidare.",
        "subject": [
            {
                "code": "20000382",
                "scheme": "http://cv.iptc.org/newscodes/mediatopic/",
                "name": "spannmål",
                "rel": "about",
                "creator": "system",
                "relevance": 90,
                "confidence": 70,
            },
            {"code": "EKO", "name": "Ekonomi"},
        ],
        "person": [{"name": "Ada Exempel", "rel": "mentions"}],
        "place": [
            {"name": "Skåne", "geometry_geojson": {"type": "Point", "coordinates": [13, 55]}}
        ],
        "renditions": {"r01": {"href": "http://wire.example.com/1.jpg", "width": 1024}},
        "associations": {
            "a000": {
                "uri": "http://wire.example.com/pictures/1",
                "type": "picture",
                "headline": "En traktor",
                "body_text": "Traktor på fält.",
                "subject": [{"code": "99999999"}],
                "urgency": 9,
            }
        },
        "sector": "EKO",
        "charcount": 51,
    }
    assert parse_ninjs(json.dumps(item).encode()) == Event(
        "http://wire.example.com/items/260114-skordar-7f3a",
        "Rekordskörd i söder\nSkörden blev större än väntat.\nPriset på vete föll.",
        ("20000382", "EKO"),
        4,
        "2026-01-14T09:30:05+01:00",
        title_length=19,
        language="swedish",
    )


def test_an_item_of_a_newsroom_system_with_its_own_dialect_of_1x() -> None:
    item = {
        "guid": "urn:newsml:desk.example.com:2026-03-02T08:15:00.123456:0c5f",
        "version": "3",
        "type": "text",
        "priority": 6,
        "urgency": 3,
        "pubstatus": "usable",
        "versioncreated": "2026-03-02T08:17:44+0000",
        "firstcreated": "2026-03-02T08:15:00+0000",
        "headline": "Ferry line reopens",
        "slugline": "ferry-reopens",
        "body_html": "<p>The ferry runs again.</p>\n<p>It was closed for&nbsp;a year.</p>",
        "description_html": "<p>A ferry.</p>",
        "description_text": "A ferry.",
        "subject": [
            {"code": "04015003", "name": "shipping"},
            {"code": "travel", "name": "Travel", "scheme": "desk_categories"},
        ],
        "service": [{"code": "a", "name": "Domestic"}],
        "genre": [{"code": "Article", "name": "Article (news)"}],
        "associations": {"featuremedia": None},
        "usageterms": "",
        "copyrightnotice": "",
        "readtime": 0,
        "extra": {"embed": {"html": "<b>x</b>"}},
    }
    assert parse_ninjs(json.dumps(item).encode()) == Event(
        "urn:newsml:desk.example.com:2026-03-02T08:15:00.123456:0c5f",
        "Ferry line reopens\nThe ferry runs again. It was closed for a year.",
        ("04015003", "travel"),
        3,
        "2026-03-02T08:17:44+00:00",
        title_length=18,
    )


def test_an_agency_item_of_2x() -> None:
    item = {
        "standard": {"name": "ninjs", "version": "2.1"},
        "uri": "urn:newsml:wire.example.com:20260520:41",
        "type": "text",
        "representationtype": "full",
        "versioncreated": "2026-05-20T16:02:28Z",
        "pubstatus": "usable",
        "urgency": 5,
        "language": "de",
        "title": "Brücke (3. Zusammenfassung)",
        "by": "Von Erika Beispiel",
        "headlines": [
            {"role": "subhead", "value": "Arbeiten dauern ein Jahr"},
            {"role": "main", "contenttype": "text/plain", "value": "Brücke gesperrt"},
            {"role": "main_fr", "value": "Pont fermé"},
        ],
        "bodies": [
            {"role": "xml", "contenttype": "application/xml", "value": "<n><P>Nein</P></n>"},
            {"role": "html", "contenttype": "text/html", "value": "<p>Auch nein</p>"},
            {
                "role": "text",
                "contenttype": "text/plain; charset=utf-8",
                "charcount": 28,
                "value": "Die Brücke bleibt gesperrt.",
            },
        ],
        "descriptions": [{"role": "writer", "value": "eb"}],
        "subjects": [
            {
                "name": "Verkehr",
                "rel": "about",
                "uri": "http://cv.example.com/topics/verkehr",
                "literal": "20000337",
            },
            {"name": "Bau", "uri": "http://cv.example.com/topics/bau"},
            {"name": "Regionales", "uri": None, "literal": None},
        ],
        "people": [{"name": "Max Beispiel", "contactinfo": [{"type": "phone", "value": "0"}]}],
        "places": [{"name": "Ulm", "geojson": {"type": "Point", "coordinates": [10, 48.4]}}],
        "renditions": [{"name": "r1", "href": "http://wire.example.com/2.jpg"}],
        "associations": [
            {
                "name": "bild",
                "uri": "urn:x:bild",
                "headlines": [{"value": "Foto"}],
                "subjects": [{"literal": "99999999"}],
            }
        ],
        "altids": [{"role": "internal", "value": "41"}],
        "rightsinfo": {"linkedrights": "http://wire.example.com/rights"},
        "expires": "2027-01-01T00:00:00Z",
    }
    assert parse_ninjs(json.dumps(item).encode()) == Event(
        "urn:newsml:wire.example.com:20260520:41",
        "Brücke gesperrt\nDie Brücke bleibt gesperrt.",
        ("20000337", "bau", "Regionales"),
        5,
        "2026-05-20T16:02:28Z",
        title_length=15,
        language="german",
    )


def test_a_picture_is_its_headline_and_caption() -> None:
    event = read(
        type="picture",
        headlines=[{"value": "Harbour at dawn"}],
        descriptions=[
            {"role": "writer", "value": "www.example.com"},
            {"role": "caption", "value": "Boats leave the harbour."},
        ],
    )
    assert event.content == "Harbour at dawn\nBoats leave the harbour."


def test_names_of_3x_that_differ_only_by_case() -> None:
    event = read(
        versionCreated="2026-01-01T00:00:00Z",
        bodies=[{"contentType": "text/html", "value": "<i>a</i>b"}],
    )
    assert (event.content, event.time) == ("ab", "2026-01-01T00:00:00Z")
    with pytest.raises(MalformedEvent):
        read(headlines=[{"value": "x"}], pubStatus="canceled")


# Late labels


@pytest.mark.parametrize(
    "item",
    [
        {"subject": [{"code": "a"}]},
        {"subjects": [{"literal": "a"}]},
        {"subjects": None, "subject": [{"code": "a"}]},
        {"subject": [{"code": "a"}], "headline": "", "body_html": " ", "description_text": None},
        {"subject": [{"code": "a"}], "headlines": [], "bodies": [], "descriptions": None},
        {"subject": [{"code": "a"}], "body_xhtml": "<figure><img src='a'/></figure>"},
        {"subject": [{"code": "a"}], "title": "a name", "slugline": "a-name", "byline": "me"},
    ],
)
def test_an_item_with_labels_and_no_content_is_a_late_label(item: dict[str, Any]) -> None:
    assert read(**item) == Event("urn:x:1", None, ("a",), None, None)


def test_late_labels_without_topics() -> None:
    assert read(urgency=2) == Event("urn:x:1", None, None, 2, None)
    assert read(subject=[]).topics == ()
    assert read(subjects=[]).topics == ()


def test_not_labelled_yet_and_labelled_with_none() -> None:
    assert read(headline="x").topics is None
    assert read(headline="x", subject=None).topics is None
    assert read(headline="x", subject=[]).topics == ()
    assert read(headline="x", subjects=[]).topics == ()


# Headlines and bodies


@pytest.mark.parametrize(
    ("item", "content"),
    [
        ({"headline": "a", "headline_main": "b"}, "a"),
        ({"headline": "", "headline_seo": "b", "headline_main": "c"}, "c"),
        ({"headline": None, "headline_b": "b", "headline_a": "c"}, "c"),
        ({"headlines": [{"role": "seo", "value": "a"}, {"value": "b"}]}, "b"),
        ({"headlines": [{"role": "seo", "value": "a"}, {"role": "x", "value": "b"}]}, "a"),
        ({"headlines": [{"role": "main", "value": " "}, {"role": "x", "value": "b"}]}, "b"),
        ({"headlines": [{"role": "Main", "value": "a"}, {"value": "b"}]}, "a"),
        # The main headline is wanted, even if another is plainer.
        (
            {
                "headlines": [
                    {"role": "x", "contenttype": "text/plain", "value": "a"},
                    {"role": "main", "contenttype": "text/html", "value": "<h1>b <b>c</b></h1>"},
                ]
            },
            "b c",
        ),
        ({"headline": "Profit < costs & losses"}, "Profit < costs & losses"),
        ({"headline": "a", "headlines": [{"role": "x", "value": "b"}]}, "a"),
    ],
)
def test_which_headline(item: dict[str, Any], content: str) -> None:
    assert read(**item).content == content


@pytest.mark.parametrize(
    ("item", "content"),
    [
        ({"body_text": "a", "body_xhtml": "<p>b</p>", "description_text": "c"}, "a"),
        ({"body_xhtml": "<p>b</p>", "body_html": "<p>c</p>", "body_a_html": "<p>d</p>"}, "b"),
        ({"body_html5": "<p>b</p>", "body_richhtml5": "<p>c</p>"}, "b"),
        ({"body_nitf": "<P>b</P>", "body_html": "<p>c</p>"}, "c"),
        ({"body_text": " ", "body_xhtml": "<p>b</p>"}, "b"),
        ({"body_text": "", "body_xhtml": "<p></p>", "description_text": "c"}, "c"),
        ({"body_event": {"city": "x"}, "body_pages": [], "description_html": "<p>c</p>"}, "c"),
        ({"body_new": "no tags: 1 < 2"}, "no tags: 1 < 2"),
        ({"body_new": "one<br/>two"}, "one two"),
        ({"body_text": "taken <b>as it is</b>"}, "taken <b>as it is</b>"),
        ({"body_text_long": "1 <b>2</b>"}, "1 <b>2</b>"),
        ({"body_richtext": "1 <b>2</b>"}, "1 2"),
        ({"bodies": [{"value": "a"}]}, "a"),
        ({"bodies": [{"value": "<p>a</p>"}]}, "a"),
        ({"bodies": [{"role": "html", "value": "<p>a</p>"}, {"value": "b"}]}, "b"),
        ({"bodies": [{"contenttype": "text/markdown", "value": "# a"}]}, "# a"),
        (
            {
                "bodies": [
                    {"contenttype": "application/xhtml+xml", "value": "<p>a</p>"},
                    {"contenttype": "TEXT/PLAIN", "value": "b"},
                ]
            },
            "b",
        ),
        (
            {
                "bodies": [{"contenttype": "application/json", "value": "{}"}],
                "descriptions": [{"value": "d"}],
            },
            "d",
        ),
        ({"bodies": [{"role": "text", "value": None}, {}], "descriptions": [{"value": "d"}]}, "d"),
        ({"bodies": [], "body_text": "a"}, "a"),
        ({"descriptions": [{"role": "x", "value": "a"}, {"role": "text", "value": "b"}]}, "b"),
        ({"body_text": "åäö 漢字 العربية 🙂"}, "åäö 漢字 العربية 🙂"),
    ],
)
def test_which_text(item: dict[str, Any], content: str) -> None:
    assert read(**item).content == content


def test_the_order_of_keys_decides_nothing() -> None:
    one = read(body_b_html="<p>b</p>", body_a_html="<p>a</p>")
    other = read(body_a_html="<p>a</p>", body_b_html="<p>b</p>")
    assert one == other


# Subjects


@pytest.mark.parametrize(
    ("fields", "topic"),
    [
        ({"code": "c", "literal": "l", "uri": "http://x/u", "name": "n"}, "c"),
        ({"code": "", "literal": "l", "uri": "http://x/u", "name": "n"}, "l"),
        ({"code": None, "uri": "http://x/y/u", "name": "n"}, "u"),
        ({"uri": "http://x/y#u"}, "u"),
        ({"uri": "http://x/keyword:rome"}, "keyword:rome"),
        ({"uri": "urn:x:medtop:u"}, "u"),
        ({"uri": "u"}, "u"),
        ({"uri": "http://x/y/", "name": "n"}, "n"),
        ({"name": "n", "rel": "about"}, "n"),
        ({"code": "medtop:20000382", "scheme": "http://x/"}, "medtop:20000382"),
        ({"code": "c", "rel": 1, "relevance": "?", "profile": []}, "c"),
    ],
)
def test_the_topic_of_a_subject(fields: dict[str, Any], topic: str) -> None:
    assert subject(**fields) == (topic,)


def test_a_subject_named_twice_is_one_topic() -> None:
    assert read(subject=[{"code": "a"}, {"code": "b"}, {"code": "a"}]).topics == ("a", "b")


# Urgency and time


@pytest.mark.parametrize(("urgency", "rank"), [(None, None), (1, 1), (9, 9), (4.0, 4)])
def test_urgency_is_the_rank(urgency: object, rank: int | None) -> None:
    parsed = read(headline="x", urgency=urgency).rank
    assert parsed == rank
    assert not isinstance(parsed, float)


@pytest.mark.parametrize(
    ("versioncreated", "time"),
    [
        (None, None),
        ("", None),
        ("2013-07-09T10:37:00Z", "2013-07-09T10:37:00Z"),
        ("2013-07-09T10:37:00.250-05:00", "2013-07-09T10:37:00.250-05:00"),
        ("2013-07-09T10:37:00+0000", "2013-07-09T10:37:00+00:00"),
        ("2013-07-09T10:37:00.5-0330", "2013-07-09T10:37:00.5-03:30"),
        ("2013-07-09 10:37:00+02", "2013-07-09 10:37:00+02:00"),
    ],
)
def test_versioncreated_is_the_time(versioncreated: object, time: str | None) -> None:
    assert read(headline="x", versioncreated=versioncreated).time == time
