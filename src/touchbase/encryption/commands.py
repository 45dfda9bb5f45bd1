"""Commands and queries about encrypted secrets: check, re-encrypt, replace."""

from __future__ import annotations

from dataclasses import dataclass, field

SecretLocation = tuple[object, ...]
"""Table, column and row key of a secret; the row key begins with the client's number."""


@dataclass(frozen=True, slots=True)
class LostSecret:
    """A secret, or the canary of an encryption key, that no available key decrypts."""

    location: SecretLocation
    why: str
    """The reason as a predicate: `is encrypted with the key ..., which is missing`."""


@dataclass(slots=True)
class EncryptionState:
    """The state of every secret in the store."""

    by_key: dict[str, int] = field(default_factory=dict)
    """Number of encrypted secrets, by the id of their encryption key."""
    clear: int = 0
    """Number of secrets in plain text."""
    lost: list[LostSecret] = field(default_factory=list)
    """The first hundred."""
