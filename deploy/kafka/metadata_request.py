"""Ask a broker, with a Metadata request, which brokers are in service.

The request is written out here so that starting a broker needs only the standard library.
"""

from __future__ import annotations

import socket
import struct

_METADATA, _VERSION = 3, 5
_MAX_ANSWER_BYTES = 1 << 20


def brokers_in_service(host: str, port: int, timeout: float = 2.0) -> frozenset[int]:
    """Return the ids of the brokers in service, as this broker sees them.

    A broker that has registered but is still fenced is not in service. Raises OSError if the
    broker does not answer.
    """
    client = b"wirerank-probe"
    body = struct.pack(">hhih", _METADATA, _VERSION, 1, len(client)) + client
    body += struct.pack(">i?", 0, False)  # ask about no topic, and create none
    with socket.create_connection((host, port), timeout) as connection:
        connection.settimeout(timeout)
        connection.sendall(struct.pack(">i", len(body)) + body)
        with connection.makefile("rb") as stream:
            (length,) = struct.unpack(">i", _exactly(stream.read(4), 4))
            if not 0 < length <= _MAX_ANSWER_BYTES:
                raise ConnectionError(f"{host}:{port} does not speak Kafka's protocol")
            answer = _exactly(stream.read(length), length)
    try:
        return _parse(answer)
    except struct.error as error:
        raise ConnectionError(f"{host}:{port} does not speak Kafka's protocol") from error


def _exactly(data: bytes, length: int) -> bytes:
    if len(data) != length:
        raise ConnectionError("the broker closed the connection before the end of its answer")
    return data


def _parse(answer: bytes) -> frozenset[int]:
    _correlation, _throttle, count = struct.unpack_from(">iii", answer)
    at, brokers = 12, set()
    for _ in range(count):
        node, host_length = struct.unpack_from(">ih", answer, at)
        brokers.add(node)
        at += 6 + host_length + 4  # past the host and the port
        (rack_length,) = struct.unpack_from(">h", answer, at)
        at += 2 + max(rack_length, 0)
    return frozenset(brokers)
