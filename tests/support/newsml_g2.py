"""News items in NewsML-G2, written in the ways in which agencies differ."""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import escape, quoteattr

NAR = "http://iptc.org/std/nar/2006-10-01/"
XHTML = "http://www.w3.org/1999/xhtml"
NITF = "http://iptc.org/std/NITF/2006-10-18/"


def item(event: dict[str, Any], way: str = "xhtml", declared: bool = True) -> str:
    """An item with the fields of an event; `declared`: with the declarations of namespaces."""
    prefix = "g2:" if way == "prefixed" else ""
    xmlns = f" xmlns{':g2' if prefix else ''}={quoteattr(NAR)}" if declared else ""
    head = "".join(
        f"<{prefix}subject type='cpnat:abstract' qcode={quoteattr(topic)}>"
        f"<{prefix}name>Name</{prefix}name><{prefix}broader qcode='medtop:1'/></{prefix}subject>"
        for topic in event.get("topics", ())
    )
    text = escape(event["text"])
    body = {
        "xhtml": f"<inlineXML contenttype='application/xhtml+xml'><html xmlns='{XHTML}'><head>"
        f"<title>Not this</title></head><body><div><p>{text}</p></div></body></html></inlineXML>",
        "prefixed": f"<g2:inlineXML xmlns:h='{XHTML}'><h:html><h:body><h:p>{text}</h:p></h:body>"
        "</h:html></g2:inlineXML>",
        "nitf": f"<inlineXML contenttype='application/nitf+xml'><nitf xmlns='{NITF}'><head>"
        "<title>Not this</title></head><body><body.head><hedline><hl1>Not this</hl1></hedline>"
        f"</body.head><body.content><p>{text}</p></body.content><body.end>Nor this</body.end>"
        "</body></nitf></inlineXML>",
        "plain": f"<inlineData contenttype='text/plain'>{text}</inlineData>",
        "escaped": f"<inlineData contenttype='text/html'>{escape(f'<p>{text}</p>')}</inlineData>",
        "cdata": f"<inlineXML><div xmlns='{XHTML}'><![CDATA[{event['text']}]]></div></inlineXML>",
    }[way]
    rank = f"<{prefix}urgency>{event['rank']}</{prefix}urgency>" if "rank" in event else ""
    time = event.get("time", "2026-01-02T03:04:05+01:00")
    return (
        f"<{prefix}newsItem{xmlns} guid={quoteattr(str(event['id']))} version='3' "
        f"standard='NewsML-G2' xml:lang='en'>"
        f"<{prefix}itemMeta><{prefix}itemClass qcode='ninat:text'/>"
        f"<{prefix}versionCreated>{time}</{prefix}versionCreated>"
        f"<{prefix}pubStatus qcode='stat:usable'/><{prefix}title>Not this</{prefix}title>"
        f"</{prefix}itemMeta><{prefix}contentMeta>{rank}{head}"
        f"<{prefix}headline>{escape(event['title'])}</{prefix}headline></{prefix}contentMeta>"
        f"<{prefix}contentSet>{body}</{prefix}contentSet></{prefix}newsItem>"
    )


WAYS = ("xhtml", "prefixed", "nitf", "plain", "escaped", "cdata")


def message(items: list[str]) -> str:
    """A newsMessage of items that declare no namespace themselves."""
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<newsMessage xmlns="{NAR}" xmlns:g2="{NAR}">'
        "<header><sent>2026-01-02T03:04:05Z</sent></header>"
        f"<itemSet>{''.join(items)}</itemSet></newsMessage>\n"
    )
