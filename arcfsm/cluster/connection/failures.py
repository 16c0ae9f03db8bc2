"""What went wrong between us and the server, in one line without credentials."""

from __future__ import annotations

import socket
import ssl
from typing import Final

from urllib3 import exceptions

from arcfsm.cluster.redaction import redact_text

LINE_MAX: Final = 300


def one_line(error: BaseException | str) -> str:
    """Return the first line of what an error says, redacted and of bounded length."""
    text = str(error).strip()
    line = text.splitlines()[0] if text else type(error).__name__
    return redact_text(line)[:LINE_MAX]


def reason(error: BaseException) -> str:
    """Say why there is no answer. The client wraps what happened several times; the innermost says most."""
    inner = _innermost(error)
    if isinstance(error, exceptions.ProxyError):
        return f"the proxy does not connect: {_system(inner)}"
    if isinstance(error, exceptions.NameResolutionError) or isinstance(inner, socket.gaierror):
        return f"the server's name is unknown: {_system(inner)}"
    if isinstance(error, exceptions.NewConnectionError):
        return f"no connection: {_system(inner)}"
    if isinstance(error, exceptions.ConnectTimeoutError):
        return "no connection in time"
    if isinstance(error, (exceptions.ReadTimeoutError, TimeoutError)):
        return "no answer in time"
    if isinstance(inner, ssl.SSLCertVerificationError):
        return f"the server's certificate is not trusted: {one_line(getattr(inner, 'verify_message', inner))}"
    if isinstance(inner, ssl.SSLError) or isinstance(error, exceptions.SSLError):
        return f"TLS: {_system(inner)}"
    if isinstance(error, (exceptions.ProtocolError, OSError)):
        return f"the connection broke: {_system(inner)}"
    return one_line(inner)


def _innermost(error: BaseException) -> BaseException:
    seen = {id(error)}
    while True:
        inside = error.__cause__ or error.__context__
        if inside is None and error.args and isinstance(error.args[-1], BaseException):
            inside = error.args[-1]
        if inside is None or id(inside) in seen:
            return error
        seen.add(id(inside))
        error = inside


def _system(error: BaseException) -> str:
    # One that Python raised itself has no reason of the library's.
    told = getattr(error, "reason", None) if isinstance(error, ssl.SSLError) else None
    if isinstance(told, str):
        return told.replace("_", " ").lower()
    if isinstance(error, OSError) and error.strerror:
        return redact_text(error.strerror)[:LINE_MAX]
    return one_line(error)
