"""OAuth refresh tokens, for tools whose access tokens expire within the hour.

Stored in the access token column as `refresh:CLIENT_ID:CLIENT_SECRET:REFRESH_TOKEN`, so that it is encrypted, hidden and removed like
an access token.
"""

from __future__ import annotations

from dataclasses import dataclass, field

PREFIX = "refresh:"
FORMAT = f"{PREFIX}CLIENT_ID:CLIENT_SECRET:REFRESH_TOKEN"


@dataclass(frozen=True, slots=True)
class Grant:
    """A refresh token, and the OAuth client that it was issued to."""

    client_id: str = field(repr=False)
    client_secret: str = field(repr=False)
    refresh_token: str = field(repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """All parts, to be redacted from fetched records."""
        return (self.client_id, self.client_secret, self.refresh_token)


def grant_of(access_token: str) -> Grant | None:
    """Parse the access token column; return None when it is not a complete refresh token."""
    parts = access_token.removeprefix(PREFIX).split(":")
    if not access_token.startswith(PREFIX) or len(parts) != len(Grant.__slots__) or not all(parts):
        return None
    return Grant(*parts)
