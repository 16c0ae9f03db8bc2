"""Credentials of the simulated Actions service, all derived from the seed.

Admin and queue tokens are real JWTs with an `exp` claim, signed with a key that follows from the seed: two runs of
one seed hand out the same bytes. Expiry is judged by the clock of the simulation, never by the host's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jwt

from arcfsm.domain.instant import SECOND, Instant, Span
from arcfsm.sim.clock import Clock
from arcfsm.sim.service.errors import UnauthorizedError

_ALGORITHM = "HS256"
_CLOCK_SKEW: Span = 60 * SECOND


@dataclass(frozen=True)
class IssuedToken:
    """A token and when it stops being good."""

    text: str
    expires_at: Instant


class TokenMint:
    """Issues and checks tokens."""

    def __init__(self, seed: int, clock: Clock) -> None:
        self._key = hashlib.sha256(f"actions-service/{seed}".encode()).digest()
        self._clock = clock
        self._serial = 0
        self._checked: dict[tuple[str, str], Mapping[str, Any]] = {}
        """Signatures that were verified, by token and purpose: they stay good, only time does not."""

    def issue(self, purpose: str, subject: str, lifetime: Span) -> IssuedToken:
        """Make a token for a purpose (`admin`, `queue`, `registration`, `installation`)."""
        self._serial += 1
        now = self._clock.now()
        expires_at = (now + lifetime) // SECOND * SECOND
        claims = {
            "aud": purpose,
            "sub": subject,
            "iat": now // SECOND,
            "exp": expires_at // SECOND,
            "jti": str(self._serial),
        }
        return IssuedToken(jwt.encode(claims, self._key, algorithm=_ALGORITHM), expires_at)

    def check(self, token: str, purpose: str) -> Mapping[str, Any]:
        """Return the claims of a good token. Raises UnauthorizedError for any other."""
        claims = self._checked.get((token, purpose))
        if claims is None:
            claims = self._checked[token, purpose] = self._verify(token, purpose)
        if claims["exp"] * SECOND <= self._clock.now():
            raise UnauthorizedError(f"the {purpose} token expired")
        return claims

    def _verify(self, token: str, purpose: str) -> Mapping[str, Any]:
        try:
            claims: Mapping[str, Any] = jwt.decode(
                token,
                self._key,
                algorithms=[_ALGORITHM],
                audience=purpose,
                options={"verify_exp": False, "verify_iat": False},
            )
        except jwt.InvalidTokenError as error:
            raise UnauthorizedError(f"the {purpose} token is not valid: {error}") from error
        return claims

    def check_app(self, token: str, app_keys: Mapping[str, str]) -> str:
        """Return the app that signed this JWT (X2).

        Raises UnauthorizedError when none of the known ones did, or it is stale.
        """
        try:
            issuer = str(jwt.decode(token, options={"verify_signature": False}).get("iss"))
            key = app_keys.get(issuer)
            if key is None:
                raise UnauthorizedError(f"there is no app {issuer}")
            claims = jwt.decode(
                token,
                key,
                algorithms=["RS256"],
                options={"verify_exp": False, "verify_iat": False, "verify_iss": False},
            )
        except jwt.InvalidTokenError as error:
            raise UnauthorizedError(f"the app's JWT is not valid: {error}") from error
        now = self._clock.now()
        issued_at, expires_at = int(claims.get("iat", 0)) * SECOND, int(claims.get("exp", 0)) * SECOND
        if issued_at > now + _CLOCK_SKEW or expires_at <= now:
            raise UnauthorizedError("the app's JWT is not valid at this time")
        return issuer
