"""Commands and queries on API keys."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.auth.api_key import ApiKey
from touchbase.common.timestamps import Micros
from touchbase.sql.operation import Command


@dataclass(slots=True)
class StoreKey(Command[None]):
    """Store an API key: its id, the SHA-256 of its text, its scopes and its client (None: any).

    `NotFound` when the client does not exist, or is being deleted.
    """

    key_id: str
    digest: bytes
    scopes: list[str]
    client: int | None
    name: str
    at: Micros
    env: str = "live"
    expires_us: Micros | None = None


@dataclass(slots=True)
class RotateKey(Command[ApiKey]):
    """Store a successor with the key's scopes; the key itself ends at `keep_until_us`, or at its own earlier end.

    At most two are active at once: if the key is itself a successor, its predecessor ends now. `NotFound`, and
    `WrongState` when the key is not active or has a successor already.
    """

    key_id: str
    successor_id: str
    digest: bytes
    at: Micros
    keep_until_us: Micros
    expires_us: Micros | None
    """When the successor ends."""


@dataclass(slots=True)
class StoreKeyUses(Command[None]):
    """Store when keys were used last; a time before the stored one changes nothing."""

    uses: dict[str, Micros]
