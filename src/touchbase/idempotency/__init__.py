"""`Idempotency-Key`: stored responses of POST requests."""

from __future__ import annotations

from touchbase.idempotency.commands import DeleteResponses, ExpiredResponses, FindResponse, Idempotent
from touchbase.idempotency.models import LIFETIME_HOURS, MAX_KEY_LENGTH, RequestKey, StoredResponse
from touchbase.idempotency.service import IdempotentWrites, InFlightKeys, ReplayedResponse, ResponseCleanup, find_response, store_response

__all__ = [
    "LIFETIME_HOURS",
    "MAX_KEY_LENGTH",
    "DeleteResponses",
    "ExpiredResponses",
    "FindResponse",
    "Idempotent",
    "IdempotentWrites",
    "InFlightKeys",
    "ReplayedResponse",
    "RequestKey",
    "ResponseCleanup",
    "StoredResponse",
    "find_response",
    "store_response",
]
