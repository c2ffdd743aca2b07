"""TLS for clients: the authorities that a client trusts, and its own certificate."""

from __future__ import annotations

import ssl
from pathlib import Path


def client_context(
    cafile: Path | None, certfile: Path | None, keyfile: Path | None, password: str | None
) -> ssl.SSLContext:
    """A TLS context that checks the broker's certificate and the host name in it.

    Without `cafile` it trusts the authorities that this machine trusts. Raises ValueError, with the
    name of the setting, if a file cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if cafile is None:
        context.load_default_certs()
    else:
        check_readable("ssl_cafile", cafile)
        try:
            context.load_verify_locations(cafile)
        except ssl.SSLError:
            raise ValueError(f"ssl_cafile = {cafile} holds no certificate in PEM form") from None
    if certfile is not None:
        check_readable("ssl_certfile", certfile)
        if keyfile is not None:
            check_readable("ssl_keyfile", keyfile)
        try:
            # A function, because OpenSSL would otherwise ask for a password at the terminal.
            context.load_cert_chain(certfile, keyfile, lambda: password or "")
        except ssl.SSLError as error:
            raise ValueError(unusable(certfile, keyfile, error, password is not None)) from None
    return context


def check_readable(setting: str, path: Path) -> None:
    """Raise an error that names a file that cannot be read; the error of OpenSSL does not."""
    try:
        path.open("rb").close()
    except (OSError, ValueError) as error:  # the latter: a null byte in the path
        reason = error.strerror if isinstance(error, OSError) else error
        raise ValueError(f"{setting} = {path} cannot be read: {reason}") from None


def unusable(certfile: Path, keyfile: Path | None, error: ssl.SSLError, password: bool) -> str:
    """The message about a client certificate or key that cannot be used."""
    if error.reason == "KEY_VALUES_MISMATCH":
        return f"ssl_keyfile = {keyfile} does not belong to ssl_certfile = {certfile}"
    hint = "ssl_password may be wrong" if password else "an encrypted key needs ssl_password"
    where = certfile if keyfile is None else f"{certfile} and {keyfile}"
    return f"{where}: no certificate with its key in PEM form can be read from there; {hint}"
