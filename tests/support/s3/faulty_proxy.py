"""A TCP proxy before a server that can be away, slow, fail, or cut answers off."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from typing import Literal

from tests.support.ports import free_port

Fault = Literal["", "away", "error", "slow", "truncate"]
ERROR = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
TRUNCATED_BYTES = 20_000  # of an answer; its head and a part of a snapshot
SLOW_SECONDS = 0.05  # per 16 kB


class FaultyProxy:
    """Passes connections on to a port, with the fault that is set at the moment."""

    def __init__(self, target: int) -> None:
        self.port = free_port()
        self.fault: Fault = ""
        self.connections = 0
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError), client:
            if self.fault == "away":
                return
            if self.fault == "error":
                client.recv(1 << 16)
                client.sendall(ERROR)
                return
            with socket.create_connection(("127.0.0.1", self._target)) as server:
                back = threading.Thread(target=self._pass, args=(server, client, True), daemon=True)
                back.start()
                self._pass(client, server, False)
                back.join()

    def _pass(self, source: socket.socket, target: socket.socket, answers: bool) -> None:
        passed = 0
        with suppress(OSError):
            while data := source.recv(1 << 14):
                fault = self.fault
                if fault in {"away", "error"}:
                    break
                if fault == "slow":
                    time.sleep(SLOW_SECONDS)
                if fault == "truncate" and answers and passed + len(data) > TRUNCATED_BYTES:
                    target.sendall(data[: max(0, TRUNCATED_BYTES - passed)])
                    break
                target.sendall(data)
                passed += len(data)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
