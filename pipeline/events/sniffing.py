"""Recognise from its first bytes what an input that cannot be used is, and say what reads it."""

from __future__ import annotations

import re
from typing import NamedTuple

import orjson

from pipeline.events.suggestions import ORIGIN, as_options, as_toml, suggest_whole_mapping

MAX_SAMPLE_BYTES = 1 << 16


class Sniffed(NamedTuple):
    """What a sample looks like, and what to do about it, for files and for Kafka topics."""

    kind: str
    looks_like: str
    in_a_file: str
    on_kafka: str

    def sentence(self, kafka: bool) -> str:
        """Say what the sample looks like, and what reads it."""
        return f"It looks like {self.looks_like}: {self.on_kafka if kafka else self.in_a_file}."


PACKED = "unpack the file first, if it is not read as it is"
VALUES = "the values of a Kafka topic must be JSON, one object per record"
JSON_VALUES = f"have them written as JSON; {VALUES}"
REGISTRY = ', and the address of the registry as url = "http://..." in [registry]'
UNPACKED_VALUES = f"leave the compression to the producer (compression.type); {VALUES}"

KINDS = {
    kind: Sniffed(kind, looks_like, in_a_file, on_kafka)
    for kind, looks_like, in_a_file, on_kafka in (
        ("gzip", "gzip", PACKED, UNPACKED_VALUES),
        ("bzip2", "bzip2", PACKED, UNPACKED_VALUES),
        ("xz", "xz", PACKED, UNPACKED_VALUES),
        ("zstd", "Zstandard", PACKED, UNPACKED_VALUES),
        ("zip", "a zip file", PACKED, UNPACKED_VALUES),
        ("lz4", "lz4", PACKED, UNPACKED_VALUES),
        ("parquet", "Parquet", "export it as JSON lines", JSON_VALUES),
        ("avro-file", "an Avro file", "write avro:FILE", JSON_VALUES),
        (
            "schema-registry", "Avro or the like with the id of a schema (Schema Registry)",
            "export the records as JSON lines", f'write format = "avro"{REGISTRY}',
        ),
        (
            "json-schema", "JSON with the id of a schema (Schema Registry)",
            "export the records as JSON lines", f'write format = "json-schema"{REGISTRY}',
        ),
        ("utf-16", "text in UTF-16 or UTF-32", "convert it to UTF-8 (iconv)", JSON_VALUES),
        ("newsml-g2", "NewsML-G2", "write --format newsml-g2", 'write format = "newsml-g2"'),
        ("xml", "XML", "convert it to JSON lines", JSON_VALUES),
        ("html", "HTML", "write it as the text of JSON objects", JSON_VALUES),
        (
            "json-array", "a JSON array", "write each document as a JSON object in it",
            "write one object per record",
        ),
        (
            "json-text", "JSON over several lines", "write one object per line (jq -c .)",
            "the JSON is not complete; check the producer",
        ),
        ("csv", "CSV with a header", "write csv:FILE", JSON_VALUES),
        ("tsv", "TSV with a header", "write csv:FILE,delimiter=tab", JSON_VALUES),
        ("fasttext", "fastText lines", "write fasttext:FILE", JSON_VALUES),
        ("ninjs", "IPTC ninjs", "write --format ninjs", 'write format = "ninjs"'),
        (
            "text", "plain text", "write --format text if each line is a document",
            'write format = "text" if each value is a document',
        ),
        ("binary", "binary data", "export it as JSON lines", JSON_VALUES),
    )
}  # fmt: skip
MAGIC = (
    (b"\x1f\x8b", "gzip"), (b"BZh", "bzip2"), (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"), (b"PK\x03\x04", "zip"), (b"\x04\x22\x4d\x18", "lz4"),
    (b"PAR1", "parquet"), (b"Obj\x01", "avro-file"), (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)  # fmt: skip
NINJS_KEYS = ("versioncreated", "versionCreated", "pubstatus", "body_xhtml", "body_text", "bodies",
              "headlines", "description_text", "subject", "subjects")  # fmt: skip
_FASTTEXT = re.compile(rb"\s*__label__\S")
_NEWSML_G2 = re.compile(rb"<(?:[a-z0-9]+:)?(?:newsItem|newsMessage|packageItem)[\s>/]")
_SEPARATED = re.compile(rb"[^{}\[\]<>]*[,;\t|][^{}\[\]<>]*")  # no JSON, no markup


def sniff(sample: bytes) -> Sniffed | None:
    """Recognise what a sample is: the first bytes of a file, or the value of a record.

    None if it is a JSON object, or nothing that is known.

    Examples
    --------
    >>> sniff(b"id,title,topics").kind, sniff(b"<?xml version='1.0'?><a/>").kind
    ('csv', 'xml')
    >>> print(sniff(b"id;title").sentence(kafka=False))
    It looks like CSV with a header: write csv:FILE.

    """
    sample = sample[:MAX_SAMPLE_BYTES]
    kind = _binary_kind(sample) or _text_kind(sample.removeprefix(b"\xef\xbb\xbf").lstrip())
    return KINDS[kind] if kind else None


def _binary_kind(sample: bytes) -> str:
    for magic, kind in MAGIC:
        if sample.startswith(magic):
            return kind
    if _has_schema_id(sample):
        return "json-schema" if sample[5:].lstrip()[:1] == b"{" else "schema-registry"
    zeros = sample[:1000].count(0)
    if zeros:
        return "utf-16" if zeros >= len(sample[:1000]) // 3 else "binary"
    try:
        sample[: MAX_SAMPLE_BYTES - 4].decode()
    except UnicodeDecodeError as error:
        if error.start < len(sample) - 4:
            return "binary" if _share_of_controls(sample) > 0.05 else "text"
    return ""


def _has_schema_id(sample: bytes) -> bool:
    """Whether a sample begins with a zero, and a number of four bytes that is not huge.

    Letters in UTF-32 also begin with two zeros each.
    """
    if len(sample) < 6 or sample[:2] != b"\0\0":
        return False
    in_utf_32 = sample[2] == 0 != sample[3] and sample[4:6] == b"\0\0"
    return not in_utf_32


def _share_of_controls(sample: bytes) -> float:
    controls = sum(byte < 9 or 13 < byte < 32 for byte in sample[:1000])
    return controls / max(1, len(sample[:1000]))


def _text_kind(sample: bytes) -> str:
    line = sample.split(b"\n", 1)[0].rstrip(b"\r")
    lower = sample[:200].lower()
    if lower.startswith((b"<!doctype html", b"<html")):
        return "html"
    if sample.startswith(b"<"):
        return "newsml-g2" if _NEWSML_G2.search(sample[:2000]) else "xml"
    if sample.startswith(b"["):
        return "json-array"
    if sample.startswith(b"{"):
        return _object_kind(sample)
    if _FASTTEXT.match(sample):
        return "fasttext"
    if _SEPARATED.fullmatch(line) and len(line) < 10_000:
        return "tsv" if line.count(b"\t") > max(line.count(b","), line.count(b";")) else "csv"
    return "text" if sample else ""


def _object_kind(sample: bytes) -> str:
    """An object is what is expected, unless it is in another format, or over several lines."""
    for text in (sample, sample.split(b"\n", 1)[0]):
        try:
            event = orjson.loads(text)
        except orjson.JSONDecodeError:
            continue
        if isinstance(event, dict) and ("uri" in event or "guid" in event):
            return "ninjs" if any(key in event for key in NINJS_KEYS) else ""
        return ""
    return "json-text" if sample.split(b"\n", 1)[0].strip() in (b"{", b"[{") else ""


def explain_sample(sample: bytes, kafka: bool) -> str:
    """Say what an event that cannot be used looks like, and what reads it; empty if unknown."""
    sniffed = sniff(sample)
    if sniffed is not None:
        return sniffed.sentence(kafka)
    try:
        event = orjson.loads(sample)
    except orjson.JSONDecodeError:
        return ""
    settings = suggest_whole_mapping(event) if isinstance(event, dict) else {}
    if not settings:
        return ""
    written = f"[streams.fields] {as_toml(settings)}" if kafka else as_options(settings)
    sentence = f"Perhaps a field mapping reads it: {written}"
    if settings.get("id") == ORIGIN:
        sentence += f" ({ORIGIN} numbers events without an id; if they have one, write where it is)"
    return sentence
