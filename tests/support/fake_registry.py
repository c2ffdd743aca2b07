"""A registry that answers as a test says, for answers that a real one does not give."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import orjson

Answer = tuple[int, bytes]
NOT_FOUND = 404, b'{"error_code": 40403, "message": "Schema not found"}'


class FakeRegistry(ThreadingHTTPServer):
    """Answers requests by a function of the path, and keeps what was asked."""

    daemon_threads = True

    def __init__(self, answer: Callable[[str], Answer | None]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer = answer
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.more_headers: dict[str, str] = {}
        self.released = threading.Event()  # ends answers that hang
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FakeRegistry

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.server.headers.append(dict(self.headers))
        answer = self.server.answer(self.path)
        if answer is None:  # hang
            self.server.released.wait(60)
            self.close_connection = True
            return
        status, body = answer
        self.send_response(status)
        for name, value in self.server.more_headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(ConnectionError):  # the client has seen enough
            self.wfile.write(body)

    def handle(self) -> None:
        with suppress(ConnectionError, ssl.SSLError):  # a client that trusts no one
            super().handle()

    def log_message(self, *unused: object) -> None:
        pass


@contextmanager
def serving(
    answer: Callable[[str], Answer | None], tls: ssl.SSLContext | None = None
) -> Iterator[FakeRegistry]:
    """A registry that answers like this."""
    server = FakeRegistry(answer)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        server.url = server.url.replace("http:", "https:")
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        server.server_close()


def schema_answer(schema: object, type_: str = "", references: object = None) -> Answer:
    """The answer for a schema, as a registry gives it."""
    text = schema if isinstance(schema, str) else orjson.dumps(schema).decode()
    found: dict[str, object] = {"schema": text}
    if type_:
        found["schemaType"] = type_
    if references is not None:
        found["references"] = references
    return 200, orjson.dumps(found)
