"""How a GitHub App proves who it is: a JWT signed with its private key (X2.1)."""

from __future__ import annotations

from typing import Final

import jwt

from arcfsm.domain.exchange import FailureKind, ServiceFailure
from arcfsm.domain.instant import MINUTE, SECOND, Instant, Span
from arcfsm.domain.manifests.credentials import AppCredentials

_BACKDATED: Final[Span] = 60 * SECOND
"""A clock of ours that is ahead must not make a token that is not valid yet."""
_LIFETIME: Final[Span] = 9 * MINUTE
"""GitHub refuses more than ten minutes."""


def app_jwt(credentials: AppCredentials, now: Instant) -> str:
    """Return the JWT of an app. Raises ServiceFailure (UNAUTHORIZED) for a key that can't sign."""
    issued_at = now - _BACKDATED
    claims = {"iss": credentials.app_id, "iat": issued_at // SECOND, "exp": (issued_at + _LIFETIME) // SECOND}
    try:
        return jwt.encode(claims, credentials.private_key, algorithm="RS256")
    except (jwt.PyJWTError, ValueError, TypeError):
        # What the library says may quote the key.
        raise ServiceFailure(
            FailureKind.UNAUTHORIZED, "github_app_private_key is no RSA private key in PEM form"
        ) from None


def expiry_of(token: str) -> Instant | None:
    """Return when a JWT of the service expires. It isn't verified: only the service could. None where it is no JWT."""
    try:
        expires = jwt.decode(token, options={"verify_signature": False}).get("exp")
    except jwt.PyJWTError:
        return None
    return int(expires) * SECOND if isinstance(expires, int | float) else None
