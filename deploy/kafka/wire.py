"""One question to a broker, in Kafka's protocol: which brokers are in service.

Written out here so that starting a broker needs nothing but the standard library.
"""

from __future__ import annotations

import socket
import struct

_METADATA, _VERSION = 3, 5
_LONGEST = 1 << 20


def members(host: str, port: int, timeout: float = 2.0) -> frozenset[int]:
    """The ids of the brokers in service, as this broker sees them; OSError if it cannot say.

    A broker that has registered but is still fenced is not among them.
    """
    client = b"wirerank-probe"
    body = struct.pack(">hhih", _METADATA, _VERSION, 1, len(client)) + client
    body += struct.pack(">i?", 0, False)  # about no topic, and create none
    with socket.create_connection((host, port), timeout) as connection:
        connection.settimeout(timeout)
        connection.sendall(struct.pack(">i", len(body)) + body)
        with connection.makefile("rb") as stream:
            (length,) = struct.unpack(">i", _exactly(stream.read(4), 4))
            if not 0 < length <= _LONGEST:
                raise ConnectionError(f"{host}:{port} does not speak Kafka's protocol")
            answer = _exactly(stream.read(length), length)
    try:
        return _parse(answer)
    except struct.error as error:
        raise ConnectionError(f"{host}:{port} does not speak Kafka's protocol") from error


def _exactly(data: bytes, length: int) -> bytes:
    if len(data) != length:
        raise ConnectionError("the connection was closed within an answer")
    return data


def _parse(answer: bytes) -> frozenset[int]:
    _correlation, _throttle, count = struct.unpack_from(">iii", answer)
    at, found = 12, set()
    for _ in range(count):
        node, host_length = struct.unpack_from(">ih", answer, at)
        found.add(node)
        at += 6 + host_length + 4  # past the host and the port
        (rack_length,) = struct.unpack_from(">h", answer, at)
        at += 2 + max(rack_length, 0)
    return frozenset(found)
