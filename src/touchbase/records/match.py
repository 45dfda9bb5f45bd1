"""Which of these people and companies are known: lookups of many keys at once."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.common.timestamps import Micros

Key = tuple[str, str]
"""Key column and key."""
MAX_LOOKUPS = 200_000
"""Keys times clients of one lookup in all clients."""


@dataclass(frozen=True, slots=True)
class Match:
    """A record that has a key."""

    id: int
    status: str | None
    last_sent_us: Micros | None = None
    last_reply_us: Micros | None = None
    client_id: str = ""
    """Whose it is, in a lookup in all clients."""
    email_key: str | None = None
    linkedin_key: str | None = None
    company_domain: str | None = None
