"""Items of NewsML-G2 become events; what cannot be used is refused with a reason."""

from __future__ import annotations

import pytest

from pipeline.errors import UsageError
from pipeline.events.event import Event, MalformedEvent
from pipeline.events.formats import new_decoder
from pipeline.events.newsml_g2 import NewsmlG2Parser
from pipeline.events.record import Record
from tests.support.newsml_g2 import NAR, WAYS, item, message

EVENT = {
    "id": "urn:newsml:x:1", "title": "Wheat & corn up", "text": "Prices <rose>. Traders smiled.",
    "topics": ["medtop:20000382", "subj:04001"], "rank": 4, "time": "2026-01-02T03:04:05Z",
}  # fmt: skip
EXPECTED = Event(
    "urn:newsml:x:1", "Wheat & corn up\nPrices <rose>. Traders smiled.",
    ("medtop:20000382", "subj:04001"), 4, "2026-01-02T03:04:05Z", title_length=15,
    language="english",
)  # fmt: skip


def parse(text: str | bytes, **options: tuple[str, ...]) -> Event:
    return NewsmlG2Parser(**options)(text if isinstance(text, bytes) else text.encode())


def small(inside: str, attributes: str = 'guid="x"') -> str:
    return f'<newsItem xmlns="{NAR}" {attributes}>{inside}</newsItem>'


def with_headline(inside: str) -> str:
    return small(f"<contentMeta><headline>h</headline>{inside}</contentMeta>")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_the_ways_in_which_agencies_differ(way: str, encoding: str) -> None:
    if way == "escaped":  # its text is HTML, where &lt; stands for the sign again
        text = item({**EVENT, "text": "Prices &lt;rose&gt;. Traders smiled."}, way)
        text = text.replace("&amp;amp;", "&amp;")
    else:
        text = item(EVENT, way)
    raw = f"<?xml version='1.0' encoding='{encoding}'?>{text}".encode(encoding)
    assert parse(raw) == EXPECTED
    assert parse(message([item(EVENT, way, declared=False)])).id == EVENT["id"]


@pytest.mark.parametrize(
    ("headlines", "title"),
    [
        ("<headline>a</headline><headline>b</headline>", "a"),
        ("<headline role='x:sub'>a</headline><headline>b</headline>", "b"),
        ("<headline role='x:sub'>a</headline><headline role='hl:main'>b</headline>", "b"),
        ("<headline xml:lang='fr'>a</headline><headline xml:lang='de'>b</headline>", "b"),
        ("<headline xml:lang='fr'>a</headline><headline role='x:sub'>b</headline>", "b"),
        ("<headline> </headline><headline>a<br/>b <b>c</b>d</headline>", "a b cd"),
        ("<headline xml:lang='fr'>a</headline>", "a"),
        ("", "from itemMeta"),
    ],
)
def test_the_headline(headlines: str, title: str) -> None:
    meta = "<itemMeta><title>from itemMeta</title></itemMeta>"
    contents = f"<contentMeta><language tag='de'/>{headlines}</contentMeta>"
    assert parse(small(meta + contents)).content == title


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("<inlineXML> </inlineXML><inlineXML><p>a</p><p>b</p></inlineXML>", "a b"),
        ("<inlineData>a  b</inlineData>", "a  b"),
        ("<inlineData contenttype='text/plain'>&lt;p></inlineData>", "<p>"),
        ("<inlineData contenttype='text/plain'>a</inlineData><inlineXML>b</inlineXML>", "b"),
        ("<inlineData contenttype='image/png'>a</inlineData>", None),
        ("<inlineData encoding='encd:b64'>YQ==</inlineData>", None),
        ("<inlineXML><h><script>x</script><p>a<i>b</i></p>c</h></inlineXML>", "ab c"),
        ("<remoteContent href='a'>x</remoteContent>", None),
        ("<x:inlineXML xmlns:x='urn:other'>x</x:inlineXML>", None),
    ],
)
def test_the_text(content: str, text: str | None) -> None:
    described = "<contentMeta><urgency>1</urgency><description>d</description></contentMeta>"
    assert parse(small(f"{described}<contentSet>{content}</contentSet>")).content == (text or "d")


@pytest.mark.parametrize(
    ("subjects", "options", "topics"),
    [
        ("", {}, None),
        ("<subject qcode='medtop:1'/><subject uri='http://x/2'/>", {}, ("medtop:1", "http://x/2")),
        ("<subject literal='Wheat'/><subject><name>Corn</name></subject>", {}, ("Wheat", "Corn")),
        ("<subject qcode='a:1'><name>x</name><name>y</name></subject>", {}, ("a:1",)),
        ("<subject qcode='a:1'/><subject qcode='a:1'/>", {}, ("a:1",)),
        ("<subject qcode='a:1'/><subject qcode='b:1'/>", {"schemes": ("b",)}, ("b:1",)),
        ("<subject qcode='a:1'/>", {"schemes": ("b",)}, ()),
        ("<subject uri='http://x/1'/><subject uri='http://y/1'/>", {"schemes": ("http://x/",)},
         ("http://x/1",)),
        ("<subject qcode='a:1' type='t:p'/><subject qcode='a:2' type='t:a'/><subject qcode='a:3'/>",
         {"types": ("t:a",)}, ("a:2",)),
    ],
)  # fmt: skip
def test_topics(
    subjects: str, options: dict[str, tuple[str, ...]], topics: tuple[str, ...] | None
) -> None:
    assert parse(with_headline(subjects), **options).topics == topics


@pytest.mark.parametrize(
    ("meta", "content", "time"),
    [
        ("2026-01-02T03:04:05Z", "", "2026-01-02T03:04:05Z"),
        ("2026-01-02T03:04:05+02:00", "2025-01-01T00:00:00Z", "2026-01-02T03:04:05+02:00"),
        ("", "2025-01-01T00:00:00.5Z", "2025-01-01T00:00:00.5Z"),
        ("", "2025-01", None),  # a date may be truncated there
    ],
)
def test_time(meta: str, content: str, time: str | None) -> None:
    first = f"<itemMeta><versionCreated>{meta}</versionCreated></itemMeta>"
    second = f"<contentCreated>{content}</contentCreated><headline>h</headline>"
    assert parse(small(f"{first}<contentMeta>{second}</contentMeta>")).time == time


def test_an_item_without_content_is_a_late_label() -> None:
    event = parse(small("<contentMeta><subject qcode='a:1'/></contentMeta>"))
    assert event == Event("x", None, ("a:1",), None, None)


BOMB = (
    '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">'
    '<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>'
)
FILE = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'


@pytest.mark.parametrize(
    ("text", "reason", "detail"),
    [
        ("", "not_xml", "no element found"),
        ("{}", "not_xml", "not well-formed"),
        (small("<a>"), "not_xml", "mismatched tag"),
        (small("&nbsp;"), "not_xml", "undefined entity"),
        (BOMB + small("&c;"), "not_xml", "DOCTYPE"),
        (FILE + small("&a;"), "not_xml", "DOCTYPE"),
        ("<!DOCTYPE x SYSTEM 'http://127.0.0.1/x.dtd'>" + small(""), "not_xml", "DOCTYPE"),
        (small("<a>" * 300), "not_xml", "nested more than 200 deep"),
        (small("\0"), "not_xml", "not well-formed"),
        ("<?xml version='1.0' encoding='idna'?><a/>", "not_xml", "encoding"),
        ("<?xml version='1.0' encoding='rot13'?><a/>", "not_xml", "encoding"),
        ("<?xml version='1.0' encoding='shift_jis'?><a/>", "not_xml", "encoding"),
        ("<?xml version='1.0' encoding='utf-16'?><a/>", "not_xml", "encoding"),
        ("<rss/>", "bad_content", "found 'rss'"),
        ("<newsItem xmlns='urn:other' guid='x'/>", "bad_content", "found 'urn:other newsItem'"),
        (message([]), "bad_content", "no newsItem"),
        (message([item(EVENT), item(EVENT)]), "bad_content", "several items"),
        (f"<packageItem xmlns='{NAR}' guid='x'/>", "not_usable", "a packageItem has no text"),
        (small("<contentMeta><headline>h</headline></contentMeta>", ""), "bad_id", "guid"),
        (small("x", f"guid='{'x' * 2000}'"), "bad_id", "1024 characters"),
        (small(""), "no_content", "no headline"),
        (with_headline("<subject/>"), "bad_topics", "qcode, URI, literal or name"),
        (with_headline("<urgency>0</urgency>"), "bad_rank", "from 1 to 9"),
        (with_headline("<urgency>high</urgency>"), "bad_rank", "from 1 to 9"),
        (small("<itemMeta><versionCreated>today</versionCreated></itemMeta>"
               "<contentMeta><headline>h</headline></contentMeta>"), "bad_time", "RFC 3339"),
        *((small(f"<itemMeta><pubStatus {status}/></itemMeta>"), "not_usable", "pubStatus")
          for status in ("qcode='stat:canceled'", "qcode='stat:withheld'",
                         "uri='http://cv.iptc.org/newscodes/pubstatusg2/canceled'")),
        (b"\xff\xfe", "not_xml", "no element found"),
        (small("\udcff").encode("utf-8", "surrogateescape"), "not_xml", "not well-formed"),
        (small("x" * (1 << 20)), "too_large", "1,048,576 bytes"),
    ],
)  # fmt: skip
def test_what_cannot_be_used(text: str | bytes, reason: str, detail: str) -> None:
    with pytest.raises(MalformedEvent, match=detail) as refused:
        parse(text)
    assert refused.value.reason == reason


def test_a_namespace_has_a_limited_length() -> None:
    """It is put before the name of each element, so a long one made the time quadratic."""
    for length, is_read in ((500, True), (501, False)):
        inner = f"<contentMeta><headline>Wheat</headline><x xmlns='{'u' * length}'/></contentMeta>"
        raw = f'<newsItem xmlns="{NAR}" guid="x">{inner}</newsItem>'.encode()
        if is_read:
            assert NewsmlG2Parser()(raw).content == "Wheat"
            continue
        with pytest.raises(MalformedEvent, match="a namespace has more than 500") as refused:
            NewsmlG2Parser()(raw)
        assert refused.value.reason == "not_xml"


@pytest.mark.parametrize(
    ("format_", "topics"),
    [
        ("newsml-g2", ("a:1", "b:2", "c:3")),
        ("newsml-g2:schemes=a+b", ("a:1", "b:2")),
        ("newsml-g2:types=t:x", ("b:2", "c:3")),
        ("newsml-g2:types=t:x,schemes=a+b", ("b:2",)),
    ],
)
def test_options_of_the_format(format_: str, topics: tuple[str, ...]) -> None:
    subjects = "<subject qcode='a:1'/>" + "".join(
        f"<subject type='t:x' qcode='{qcode}'/>" for qcode in ("b:2", "c:3")
    )
    event = new_decoder(format_)(Record(with_headline(subjects).encode()), 1000)
    assert event.topics == topics


@pytest.mark.parametrize(
    ("format_", "message"),
    [
        ("newsml", "must be one of wirerank, ninjs, newsml-g2"),
        ("ninjs:schemes=a", "must be one of"),
        ("newsml-g2:", "not known, repeated or empty; write for instance newsml-g2:schemes="),
        ("newsml-g2:schemes", "not known, repeated or empty"),
        ("newsml-g2:schemes=+", "not known, repeated or empty"),
        ("newsml-g2:colour=red", "not known, repeated or empty"),
        ("newsml-g2:types=a,types=b", "not known, repeated or empty"),
    ],
)
def test_bad_formats_are_refused(format_: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        new_decoder(format_)
