"""A linear model of scikit-learn behind the same HTTP server, for comparison.

    python -m tests.bench.sklearn_server EVENTS PROCESSES

It ranks the classes of one document per request by one linear model, over tf-idf vectors.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import numpy as np
import orjson
import uvicorn
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import SGDClassifier
from starlette.types import Receive, Scope, Send

from pipeline.serving.connections import BoundedProtocol, listening_sockets

TOP = 10


class LinearModel:
    """An ASGI application that ranks with a classifier."""

    def __init__(self, events: list[dict[str, str]]) -> None:
        self._vectors = TfidfVectorizer(sublinear_tf=True)
        texts = [f"{event.get('title', '')}\n{event.get('text', '')}" for event in events]
        classes = [event["topics"][0] if event["topics"] else "" for event in events]
        self._model = SGDClassifier(loss="hinge", max_iter=5, tol=None, random_state=1)
        self._model.fit(self._vectors.fit_transform(texts), classes)
        # Otherwise every request would copy the whole matrix, to transpose it.
        self._model.coef_ = np.asfortranarray(self._model.coef_)
        self._names = [str(name) for name in self._model.classes_]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        asked = orjson.loads(body)
        text = f"{asked.get('title', '')}\n{asked.get('text', '')}"
        (scores,) = self._model.decision_function(self._vectors.transform([text]))
        best = np.argsort(-scores)[:TOP].tolist()
        answer = orjson.dumps(
            {"ranking": [{"topic": self._names[i], "score": float(scores[i])} for i in best]}
        )
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(answer)),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})


def main() -> None:
    path, processes = sys.argv[1:]
    app = LinearModel([orjson.loads(line) for line in Path(path).read_bytes().splitlines()])
    sockets = listening_sockets("127.0.0.1", 0, int(processes))
    children = list[int]()
    for listening in sockets:
        child = os.fork()
        if not child:
            config = uvicorn.Config(
                app, http=BoundedProtocol, ws="none", lifespan="off", loop="asyncio",
                log_config=None, log_level="critical", access_log=False, server_header=False,
            )  # fmt: skip
            uvicorn.Server(config).run([listening])
            os._exit(0)
        children.append(child)
    print(
        f"serving at http://127.0.0.1:{sockets[0].getsockname()[1]}/", file=sys.stderr, flush=True
    )
    sys.stdin.read()  # until the benchmark ends
    for child in children:
        os.kill(child, signal.SIGKILL)


if __name__ == "__main__":
    main()
