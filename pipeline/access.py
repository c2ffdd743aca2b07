"""Who may use an HTTP server of Wirerank: tokens, certificates, and addresses that others reach.

The metrics server, the live page and `wirerank serve` share these rules. A server at the loopback
address answers every program of this machine. At any other address it needs a token or the
certificates of its clients. Tokens are compared in constant time, and no message shows one.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import ipaddress
import os
import ssl
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import UsageError

MIN_TOKEN_CHARACTERS, MAX_TOKEN_CHARACTERS = 16, 1024
MAX_SECRET_BYTES = 1 << 16
READABLE_BY_OTHERS = 0o004


@dataclass(frozen=True, slots=True)
class Access:
    """What a client needs: nothing, a token, a certificate, or both."""

    token: bytes | None = None
    tls: ssl.SSLContext | None = None
    needs_certificate: bool = False

    @property
    def is_protected(self) -> bool:
        """Whether strangers are refused."""
        return self.token is not None or self.needs_certificate

    def permits(self, authorization: bytes, has_certificate: bool = False) -> bool:
        """Whether a request with this Authorization header may be answered."""
        if self.needs_certificate and not has_certificate:
            return False
        return self.token is None or hmac.compare_digest(given_token(authorization), self.token)


def given_token(authorization: bytes) -> bytes:
    """The token in an Authorization header; browsers send it as the password of any user.

    >>> given_token(b"Bearer secret"), given_token(b"Basic dXNlcjpzZWNyZXQ="), given_token(b"x")
    (b'secret', b'secret', b'')
    """
    kind, _, value = authorization.partition(b" ")
    value = value.strip()
    if kind.lower() == b"bearer":
        return value
    if kind.lower() == b"basic":
        try:
            return base64.b64decode(value, validate=True).partition(b":")[2]
        except (binascii.Error, ValueError):
            return b""
    return b""


def is_loopback(address: str) -> bool:
    """Return whether only this machine can reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def checked_token(token: bytes, origin: str) -> bytes:
    """A token without surrounding blanks; raises `UsageError` if it is too short to be one."""
    token = token.strip()
    is_plain = all(33 <= byte <= 126 for byte in token)
    if not is_plain or not MIN_TOKEN_CHARACTERS <= len(token) <= MAX_TOKEN_CHARACTERS:
        raise UsageError(
            f"The token in {origin} must have {MIN_TOKEN_CHARACTERS} to {MAX_TOKEN_CHARACTERS:,} "
            f"printable ASCII characters without spaces; found {len(token):,} bytes."
        )
    return token


def read_secret(path: Path) -> str:
    """The secret in a file, without the newline at its end; raises ValueError if there is none."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_SECRET_BYTES + 1)
        text = content.decode().removesuffix("\n").removesuffix("\r")
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:  # also a null byte in the path
        raise ValueError(f"{path} cannot be read as text in UTF-8") from None
    if not text or len(content) > MAX_SECRET_BYTES:
        found = "nothing" if not text else f"more than {MAX_SECRET_BYTES:,} bytes"
        raise ValueError(f"{path} must hold a secret, but holds {found}")
    return text


def is_readable_by_others(path: Path) -> bool:
    """Whether every user of the machine can read a file."""
    try:
        return bool(path.stat().st_mode & READABLE_BY_OTHERS)
    except OSError:
        return False


def server_tls(
    certfile: Path,
    keyfile: Path | None,
    client_cafile: Path | None,
    verify: ssl.VerifyMode = ssl.CERT_REQUIRED,
) -> ssl.SSLContext:
    """A TLS context of a server, which takes up renewed certificates without a restart.

    With `client_cafile`, a client must show a certificate that this authority has signed; with
    CERT_OPTIONAL it may do so. Raises ValueError if a file cannot be used.
    """
    files = [path for path in (certfile, keyfile, client_cafile) if path is not None]
    current = new_server_context(certfile, keyfile, client_cafile, verify)
    seen = file_states(files)

    def renew(connection: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
        """Use the files as they are now; those that cannot be used are not taken up."""
        nonlocal current, seen
        states = file_states(files)
        if states != seen:
            seen = states
            with suppress(ValueError):  # half written: the next change is noticed again
                current = new_server_context(certfile, keyfile, client_cafile, verify)
        connection.context = current

    listening = new_server_context(certfile, keyfile, client_cafile, verify)
    listening.sni_callback = renew
    return listening


def new_server_context(
    certfile: Path, keyfile: Path | None, client_cafile: Path | None, verify: ssl.VerifyMode
) -> ssl.SSLContext:
    """A TLS context with the certificates that the files hold now."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # A function, because OpenSSL would otherwise ask for a password at the terminal.
        context.load_cert_chain(certfile, keyfile, lambda: "")
    except (OSError, ValueError) as error:
        where = certfile if keyfile is None else f"{certfile} and {keyfile}"
        is_unread = isinstance(error, OSError) and not isinstance(error, ssl.SSLError)
        reason = f" ({getattr(error, 'strerror', '')})" if is_unread else ""
        raise ValueError(
            f"{where}: a certificate and its key in PEM form, without a password, cannot be read "
            f"from there{reason}"
        ) from None
    if client_cafile is not None:
        try:
            context.load_verify_locations(client_cafile)
        except (OSError, ValueError):
            raise ValueError(f"{client_cafile} holds no certificate in PEM form") from None
        context.verify_mode = verify
    return context


def file_states(paths: list[Path]) -> list[tuple[int, int, int]]:
    """What changes when files are replaced or written again."""
    states = []
    for path in paths:
        try:
            found = os.stat(path)
            states.append((found.st_ino, found.st_mtime_ns, found.st_size))
        except OSError:
            states.append((0, 0, 0))
    return states
