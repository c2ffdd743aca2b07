"""The cache of schemas is bounded, and forgets for how long a schema is missing."""

from __future__ import annotations

from consumers.registry import schema_cache
from consumers.registry.client import FoundSchema
from consumers.registry.schema_cache import MAX_BYTES, MAX_MISSING, MAX_SCHEMAS, SchemaCache
from pipeline.events.event import Refusal
from pipeline.events.schema_ids import RegisteredSchema


def found(size: int = 10) -> FoundSchema:
    return FoundSchema(RegisteredSchema("AVRO"), None, size, is_final=True)


MISSING = FoundSchema(None, Refusal("unknown_schema", "none"), 0, is_final=False)


def test_the_least_recently_used_is_forgotten() -> None:
    cache = SchemaCache()
    for id_ in range(MAX_SCHEMAS):
        cache.put(id_, found())
    assert cache.get(0)
    cache.put(MAX_SCHEMAS, found())
    assert cache.get(0)
    assert cache.get(1) is None


def test_large_schemas_share_one_limit() -> None:
    cache = SchemaCache()
    for id_ in range(10):
        cache.put(id_, found(MAX_BYTES // 4))
    assert [id_ for id_ in range(10) if cache.get(id_)] == [6, 7, 8, 9]
    cache.put(10, found(2 * MAX_BYTES))
    assert [id_ for id_ in range(11) if cache.get(id_)] == [10]


def test_a_missing_schema_is_asked_for_again_later() -> None:
    now = 100.0
    cache = SchemaCache(lambda: now)
    cache.put(7, MISSING)
    assert cache.get(7) is MISSING
    now += schema_cache.MISSING_SECONDS
    assert cache.get(7) is None
    cache.put(7, found())
    assert cache.get(7) == found()


def test_missing_schemas_are_bounded() -> None:
    cache = SchemaCache()
    for id_ in range(2 * MAX_MISSING):
        cache.put(id_, MISSING)
    assert cache.get(0) is None
    assert cache.get(MAX_MISSING) is MISSING
