"""What a served model answers: the bytes of the stream, for one document and for many."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.log.block import make_block
from pipeline.models.model_file import read_model
from pipeline.serving.model_source import ModelSource
from pipeline.serving.rank_request import Limits
from pipeline.serving.served_model import Reply, ServedModel
from tests.pipeline.ranking.test_block_ranker import as_next, documents_to_rank, no_warning
from tests.support.model_server import save_model
from tests.support.saved_runs import LANES, as_json

LIMITS = Limits(documents=100, places=5000, explained_places=500)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("served"), *LANES)


@pytest.fixture(scope="module")
def model(path: Path) -> ServedModel:
    return ModelSource(path, (), None, 10, LIMITS).load(no_warning)


def rank(model: ServedModel, **request: object) -> Reply:
    (reply,) = model.answer([orjson.dumps(request)])
    return reply


def rankings(reply: Reply) -> bytes:
    assert reply.status == 200, reply.body
    return reply.body.partition(b'"rankings":')[2].rpartition(b',"refused":')[0]


def error(reply: Reply) -> dict[str, Any]:
    problem: dict[str, Any] = orjson.loads(reply.body)["error"]
    return problem


def test_rankings_are_those_that_the_stream_publishes(path: Path, model: ServedModel) -> None:
    """With every learner, to the last bit; alone, and in one call with others."""
    saved = read_model(path)
    documents = documents_to_rank(0)
    bodies = [orjson.dumps({**orjson.loads(as_json(event)), "top": 0}) for event in documents]
    expected = [b"[" + b",".join(as_next(saved, saved.lanes, one)) + b"]" for one in documents]
    assert [rankings(reply) for reply in model.answer(bodies)] == expected
    assert [rankings(model.answer([body])[0]) for body in bodies] == expected


def test_a_list_of_documents_has_the_rankings_of_each(model: ServedModel) -> None:
    documents = [orjson.loads(as_json(event)) for event in documents_to_rank(1)][:30]
    single = [rankings(rank(model, **document))[1:-1] for document in documents]
    assert rankings(rank(model, documents=documents))[1:-1] == b",".join(single)


def test_requests_with_different_options_are_answered_together(model: ServedModel) -> None:
    asked: list[dict[str, Any]] = [
        {"text": "w1 w2", "top": top, "why": why, "lane": lane}
        for top in (0, 1, 3)
        for why in (False, True)
        for lane in ("perceptron", ["prank:ranks=4", "arow"], None)
    ]
    bodies = [orjson.dumps(one) for one in (*asked, {"text": 7}, *asked)]
    replies = model.answer(bodies)
    assert [reply.status for reply in replies] == [200] * 18 + [400] + [200] * 18
    for body, reply in zip(bodies, replies, strict=True):
        if reply.status == 200:
            assert rankings(reply) == rankings(model.answer([body])[0])


def test_options(model: ServedModel) -> None:
    (event,) = orjson.loads(rankings(rank(model, text="w1 w2", lane="perceptron", top=2, why=True)))
    assert (event["id"], event["lane"], len(event["ranking"])) == (0, "perceptron", 2)
    assert {term["term"] for term in event["ranking"][0]["terms"]} <= {"w1", "w2"}
    answer = orjson.loads(rank(model, text="w1", lane=["arow", "perceptron"]).body)
    assert [event["lane"] for event in answer["rankings"]] == ["perceptron", "arow"]
    assert answer["model"]["files"] == ["m.model"]
    assert answer["model"]["age_seconds"] >= 0


def test_documents_that_cannot_be_ranked_do_not_hinder_others(model: ServedModel) -> None:
    documents = [{"text": "w1"}, {"id": 4}, 5, {"text": "w2", "id": "b"}, {"text": 1}]
    answer = orjson.loads(rank(model, documents=documents, lane="arow").body)
    assert [event["id"] for event in answer["rankings"]] == [0, "b"]
    refused = [(one["document"], one["reason"]) for one in answer["refused"]]
    assert refused == [(1, "no_content"), (2, "not_an_object"), (4, "bad_content")]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "not_json"),
        (b'{"text": "w1"', "not_json"),
        (b'{"text": "\xff"}', "not_json"),
        (b"[" * 100_000, "not_json"),
        (b"[]", "not_an_object"),
        (b'{"text": "w1", "tpo": 3}', "unknown_keys"),
        (b'{"documents": [], "text": "w1"}', "unknown_keys"),
        (b'{"documents": [{"text": "w1"}, {"text": "w1", "titel": "w2"}]}', "unknown_keys"),
        (b'{"documents": [{"text": "w1", "top": 3}]}', "unknown_keys"),
        (b'{"documents": {}}', "bad_request"),
        (b'{"id": 1}', "no_content"),
        (b'{"text": "w1", "features": {}}', "bad_content"),
        (b'{"features": {"a": 1e300}}', "bad_features"),
        (b'{"text": "w1", "id": true}', "bad_id"),
        (b'{"text": "w1", "time": "now"}', "bad_time"),
        (b'{"text": "w1", "top": -1}', "bad_request"),
        (b'{"text": "w1", "top": true}', "bad_request"),
        (b'{"text": "w1", "why": 1}', "bad_request"),
        (b'{"text": "w1", "lane": []}', "bad_request"),
        (b'{"text": "w1", "lane": "none"}', "unknown_lane"),
    ],
)
def test_requests_that_are_refused(model: ServedModel, body: bytes, reason: str) -> None:
    (reply,) = model.answer([body])
    assert reply.status == 400
    assert error(reply)["reason"] == reason


def test_what_one_request_may_ask_for_is_limited(model: ServedModel) -> None:
    documents = [{"text": "w1"}] * 100
    assert error(rank(model, documents=[*documents, *documents]))["reason"] == "too_many_documents"
    reply = rank(model, documents=documents, top=0)
    assert (reply.status, error(reply)["reason"]) == (413, "too_many_places")
    assert rank(model, documents=documents, top=2).status == 200
    assert error(rank(model, documents=documents, top=1, why=True))["reason"] == "too_many_places"
    long = rank(model, text="w" * (LIMITS.event_bytes + 1))
    assert error(long)["reason"] == "too_large"


def test_a_failure_concerns_only_its_own_request(
    model: ServedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests that are ranked together are ranked alone if that fails."""

    def fail(documents: Any, tokenizer: Any) -> Any:  # noqa: ANN401
        if any(document.content == "bad" for document in documents):
            raise ZeroDivisionError
        return make_block(documents, tokenizer)

    monkeypatch.setattr("pipeline.serving.served_model.make_block", fail)
    replies = model.answer([b'{"text": "w1"}', b'{"text": "bad"}', b'{"text": "w2"}'])
    assert [reply.status for reply in replies] == [200, 500, 200]


def test_what_the_model_knows(model: ServedModel) -> None:
    assert len(model.topics()) == model.description()["topics"]
    lanes = {lane["name"]: lane for lane in model.lanes()}
    assert len(lanes) == len(LANES) == model.description()["lanes"]
    assert lanes["prank:ranks=4"]["kind"] == "rank"
    assert lanes["perceptron"]["settings"]["learner"] == "perceptron"
