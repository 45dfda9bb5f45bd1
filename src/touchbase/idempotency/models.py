"""Requests with an idempotency key, and their stored responses."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.common.timestamps import SECOND, Micros
from touchbase.errors import KeyReused

MAX_KEY_LENGTH = 255
LIFETIME_HOURS = 24
"""How long a response is stored; afterwards its key is free again."""
LIFETIME: Micros = LIFETIME_HOURS * 3600 * SECOND


@dataclass(frozen=True, slots=True)
class RequestKey:
    """One request with its key; each client has its own keys."""

    client: int
    """The client's number; 0 for an administrator's request that is not limited to a client."""
    key: str
    fingerprint: bytes
    """A hash of the whole request: equal for the same request, different for any other."""
    at: Micros


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """A response to an idempotent request."""

    encoded: bytes
    """Status, headers and body, in an encoding that only the HTTP code knows."""
    record_kind: int | None = None
    record_id: int | None = None
    """The record whose values are in the response, so that an erasure finds it."""


@dataclass(frozen=True, slots=True)
class KnownResponse:
    """A stored response, and the fingerprint of its request."""

    fingerprint: bytes
    response: StoredResponse

    def to(self, request: RequestKey) -> StoredResponse | KeyReused:
        """Return the response if it belongs to this request, else `KeyReused`."""
        if self.fingerprint == request.fingerprint:
            return self.response
        return KeyReused("this Idempotency-Key was used for another request; send this one with a new key")
