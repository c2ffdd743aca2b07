"""The described contract: an OpenAPI document of all paths."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

JsonObject = dict[str, Any]

TEXTS: JsonObject = {"type": "string"}
NUMBER: JsonObject = {"type": "number"}
WHOLE: JsonObject = {"type": "integer", "minimum": 0}
ID: JsonObject = {
    "oneOf": [{"type": "string", "minLength": 1, "maxLength": 1024}, {"type": "integer"}],
    "description": "Comes back with the rankings. Without it: the number of the document, from 0.",
}
CONTENT: JsonObject = {
    "id": ID,
    "title": TEXTS,
    "text": TEXTS,
    "features": {
        "type": "object",
        "additionalProperties": NUMBER,
        "description": "Ready-made features, instead of a title and a text.",
    },
    "time": {"type": ["string", "null"], "description": "RFC 3339; comes back with the rankings."},
    "language": {
        "description": "Of the text, as a name or a tag such as de. Without it: found in the "
        "text, if the profile of the model needs it.",
    },
    "topics": {"description": "Ignored: nothing is learned."},
    "rank": {"description": "Ignored: nothing is learned."},
}
OPTIONS: JsonObject = {
    "lane": {
        "oneOf": [TEXTS, {"type": "array", "items": TEXTS, "minItems": 1}],
        "description": "The lanes that answer. Without it: all lanes of the model.",
    },
    "top": {**WHOLE, "description": "Topics per ranking; 0 stands for all."},
    "why": {
        "type": "boolean",
        "default": False,
        "description": "Add the terms that contributed most to each score.",
    },
}
TERMS: JsonObject = {
    "type": ["array", "null"],
    "items": {"type": "object", "properties": {"term": TEXTS, "weight": NUMBER}},
    "description": "With `why`. Null if the scores of the lane are not sums over terms.",
}


def an_object(properties: JsonObject, required: list[str]) -> JsonObject:
    """Return the schema of an object."""
    return {"type": "object", "properties": properties, "required": required}


def a_list(items: JsonObject) -> JsonObject:
    """Return the schema of a list."""
    return {"type": "array", "items": items}


def reference(name: str) -> JsonObject:
    """Return a reference to a schema of this document."""
    return {"$ref": f"#/components/schemas/{name}"}


def schemas() -> JsonObject:
    """Return the schemas of requests and answers."""
    summary = {"files": a_list(TEXTS), "documents": WHOLE, "age_seconds": NUMBER}
    likely = {**NUMBER, "description": "Of the first 20 topics, if the lane assigns topics."}
    ranked = {"topic": TEXTS, "score": NUMBER, "probability": likely, "terms": TERMS}
    event = {
        "id": {"type": ["string", "integer"]},
        "lane": TEXTS,
        "round": WHOLE,
        "ranking": {
            **a_list(an_object(ranked, ["topic", "score"])),
            "description": "Best first. With order=probability a score can be below the next one.",
        },
        "assigned": {**a_list(TEXTS), "description": "Of lanes that assign topics."},
        "certainty": {**NUMBER, "description": "The expected F1 of `assigned`."},
        "review": {
            "type": "boolean",
            "description": "Whether to review the document. Only lanes with a risk say so.",
        },
        "rank": {**WHOLE, "description": "Of ordinal lanes, instead of `ranking`."},
        "score": NUMBER,
        "terms": TERMS,
        "time": {"type": ["string", "null"]},
    }
    refused = {"document": WHOLE, "reason": TEXTS, "detail": TEXTS}
    lane = {"name": TEXTS, "kind": {"enum": ["topics", "rank"]}, "rounds": WHOLE}
    return {
        "Document": {"type": "object", "properties": CONTENT},
        "One": {
            "type": "object",
            "properties": {**CONTENT, **OPTIONS},
            "additionalProperties": False,
        },
        "Batch": {
            **an_object({"documents": a_list(reference("Document")), **OPTIONS}, ["documents"]),
            "additionalProperties": False,
        },
        "Summary": an_object(summary, list(summary)),
        "Ranking": an_object(event, ["id", "lane", "round", "time"]),
        "Rankings": an_object(
            {
                "model": reference("Summary"),
                "rankings": a_list(reference("Ranking")),
                "refused": a_list(an_object(refused, list(refused))),
            },
            ["model", "rankings", "refused"],
        ),
        "Model": an_object(
            {**summary, "profile": TEXTS, "lanes": WHOLE, "topics": WHOLE, "terms": WHOLE},
            [*summary, "profile", "lanes", "topics", "terms"],
        ),
        "Lanes": an_object(
            {"lanes": a_list(an_object({**lane, "settings": {"type": "object"}}, [*lane]))},
            ["lanes"],
        ),
        "Topics": an_object({"topics": a_list(TEXTS)}, ["topics"]),
        "Problem": an_object(
            {"error": an_object({"reason": TEXTS, "detail": TEXTS}, ["reason", "detail"])},
            ["error"],
        ),
    }


def answers(schema: str, problems: dict[int, str]) -> JsonObject:
    """Return the answers of a path."""

    def content(name: str) -> JsonObject:
        return {"application/json": {"schema": reference(name)}}

    found = {"200": {"description": "The answer.", "content": content(schema)}}
    for status, meaning in problems.items():
        found[str(status)] = {"description": meaning, "content": content("Problem")}
    return found


def reading(summary: str, schema: str) -> JsonObject:
    """Return a path that is read."""
    refused = {401: "The token is missing or wrong."}
    return {"get": {"summary": summary, "responses": answers(schema, refused)}}


def plain(summary: str, kind: str = "text/plain", is_open: bool = True) -> JsonObject:
    """Return a path whose answer is not JSON of this contract."""
    responses: JsonObject = {"200": {"description": "The answer.", "content": {kind: {}}}}
    own: JsonObject = {"summary": summary, "responses": responses}
    return {"get": {**own, "security": []} if is_open else own}


def openapi_document(max_body_bytes: int) -> JsonObject:
    """Return the document."""
    problems = {
        400: "The request cannot be used: the answer says why.",
        401: "The token is missing or wrong.",
        408: "The body did not come in time.",
        413: f"The body has more than {max_body_bytes:,} bytes, or asks for too much.",
        415: "The Content-Type is not application/json.",
        429: "Too many requests wait. Try again after the time in Retry-After.",
        503: "Overloaded, or the request waited too long. Try again after Retry-After.",
    }
    body = {"schema": {"oneOf": [reference("One"), reference("Batch")]}}
    rank = {
        "summary": "Rank one document, or a list of documents",
        "requestBody": {"required": True, "content": {"application/json": body}},
        "responses": answers("Rankings", problems),
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Wirerank",
            "version": version("wirerank"),
            "description": "Rankings of a model. Nothing is learned.",
        },
        "security": [{}, {"token": []}],
        "paths": {
            "/v1/rank": {"post": rank},
            "/v1/topics": reading("The topics of the model", "Topics"),
            "/v1/lanes": reading("The lanes of the model", "Lanes"),
            "/v1/model": reading("The model in some numbers", "Model"),
            "/healthz": plain("Whether the process is alive"),
            "/readyz": plain("Whether the process answers"),
            "/metrics": plain("Metrics for Prometheus", is_open=False),
            "/openapi.json": plain("This document", "application/json"),
            "/": plain("A page to try the model", "text/html"),
        },
        "components": {
            "schemas": schemas(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }
