"""Whom the client believes to be the service: the system's certificate authorities, and those a scale set adds."""

from __future__ import annotations

import ssl
from functools import lru_cache

import certifi

from arcfsm.domain.exchange import FailureKind, ServiceFailure


@lru_cache(maxsize=16)
def trusting(root_ca: str) -> ssl.SSLContext:
    """Return a context that trusts the system's authorities and those in a PEM text, "" for none.

    It is shared by all clients with the same text: reading the system's authorities takes 20 ms and a megabyte each.
    Raises ServiceFailure (INVALID) for a text that holds no certificates.
    """
    context = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    if not (paths.cafile or paths.capath):
        # An image without ca-certificates.
        context.load_verify_locations(cafile=certifi.where())
    if root_ca:
        try:
            context.load_verify_locations(cadata=root_ca)
        except (ssl.SSLError, ValueError):
            raise ServiceFailure(
                FailureKind.INVALID, "githubServerTLS: the CA bundle holds no certificates in PEM form"
            ) from None
    return context
