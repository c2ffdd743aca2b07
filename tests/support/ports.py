"""Ports of the loopback interface that stay free until a test uses them."""

from __future__ import annotations

from deploy.kafka.ports import PortLease, is_free

_leases: list[PortLease] = []  # kept until the process ends, so that no port is given twice


def free_port() -> int:
    """A port that no program uses and that the system gives to none."""
    _leases.append(PortLease())
    return _leases[-1].port


def neighbouring_ports() -> int:
    """The first of two such ports."""
    for _ in range(100):
        first = free_port()
        if is_free(first + 1):
            return first
    raise AssertionError("no two free ports")
