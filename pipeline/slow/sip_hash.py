"""Twin of `pipeline/text/sip_hash.py`."""

from __future__ import annotations

MASK = (1 << 64) - 1


def slow_sip_hash(word: bytes, k0: int, k1: int) -> int:
    """SipHash-1-3 with numbers of any size, cut to 64 bits.

    Examples
    --------
    >>> hex(slow_sip_hash(b"wheat", 1, 2))
    '0x7647f88f7f6d8767'

    """
    state = [
        k0 ^ 0x736F6D6570736575,
        k1 ^ 0x646F72616E646F6D,
        k0 ^ 0x6C7967656E657261,
        k1 ^ 0x7465646279746573,
    ]
    padded = word + bytes(7 - len(word) % 8) + bytes([len(word) % 256])
    for at in range(0, len(padded), 8):
        number = int.from_bytes(padded[at : at + 8], "little")
        state[3] ^= number
        mix(state)
        state[0] ^= number
    state[2] ^= 0xFF
    for _ in range(3):
        mix(state)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def mix(state: list[int]) -> None:
    """One round, on the state itself."""
    for a, b, turns in ((0, 1, (13, 32)), (2, 3, (16, 0)), (2, 1, (17, 32)), (0, 3, (21, 0))):
        state[a] = (state[a] + state[b]) & MASK
        state[b] = rotated(state[b], turns[0]) ^ state[a]
        state[a] = rotated(state[a], turns[1])


def rotated(value: int, bits: int) -> int:
    """A number of 64 bits rotated to the left."""
    return (value << bits | value >> (64 - bits)) & MASK
