"""Refresh tokens: what a tool gives new access tokens for, where those end within the hour.

One stands in the place of a connection's access token, as one text, and is sealed, shown and taken away like one:
`refresh:CLIENT_ID:CLIENT_SECRET:REFRESH_TOKEN`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

BEGINS = "refresh:"
FORM = f"{BEGINS}CLIENT_ID:CLIENT_SECRET:REFRESH_TOKEN"


@dataclass(frozen=True, slots=True)
class Grant:
    """A refresh token, and the client at the tool that it was given to."""

    client_id: str = field(repr=False)
    client_secret: str = field(repr=False)
    refresh_token: str = field(repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What of it nobody may see."""
        return (self.client_id, self.client_secret, self.refresh_token)


def grant_of(access_token: str) -> Grant | None:
    """The refresh token in the place of an access token; None when that is none."""
    parts = access_token.removeprefix(BEGINS).split(":")
    if not access_token.startswith(BEGINS) or len(parts) != len(Grant.__slots__) or not all(parts):
        return None
    return Grant(*parts)
