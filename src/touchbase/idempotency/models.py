"""Requests that carry an idempotency key: what tells one from another, and the answer that is kept for it."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.common.timestamps import SECOND, Micros
from touchbase.errors import KeyReused

LONGEST_KEY = 255
LIFETIME_HOURS = 24
"""How long an answer is kept; afterwards its key is as new."""
LIFETIME: Micros = LIFETIME_HOURS * 3600 * SECOND


@dataclass(frozen=True, slots=True)
class RequestKey:
    """One request with its key. The same key of another client is another key."""

    client: int
    """The client's number; 0 for an administrator's call that is limited to no client."""
    key: str
    fingerprint: bytes
    """Of everything that makes the request: equal for the same request, different for any other."""
    at: Micros


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """An answer as the edge that gave it has written it down: only that edge can read it."""

    answer: bytes
    record_kind: int | None = None
    record_id: int | None = None
    """The record whose values are in it, so that whoever erases a person finds it."""


@dataclass(frozen=True, slots=True)
class KnownResponse:
    """A kept answer, and the fingerprint of the request that it belongs to."""

    fingerprint: bytes
    kept: StoredResponse

    def to(self, request: RequestKey) -> StoredResponse | KeyReused:
        """The answer to this request, or what is wrong with asking for it."""
        if self.fingerprint == request.fingerprint:
            return self.kept
        return KeyReused("this Idempotency-Key was used for another request; send this one with a new key")
