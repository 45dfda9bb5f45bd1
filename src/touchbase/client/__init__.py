"""Touchbase from Python: `Touchbase` and `AsyncTouchbase`, their errors, and `verify_webhook`.

    from touchbase.client import Touchbase

    with Touchbase("https://touchbase.example.com", key) as tb:
        for contact in tb.contacts.iterate(contact_status="replied"):
            print(contact["id"], contact.get("email"))

The package needs no server and imports none of its code. `touchbase.client.models` has the types, for annotations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from touchbase.client.errors import (
    ConnectionFailed,
    FieldError,
    IncompleteDownload,
    JobFailed,
    JobTimeout,
    NotModified,
    Problem,
    TouchbaseError,
    UnexpectedAnswer,
    WebhookError,
)
from touchbase.client.problems import (
    BadRequest,
    BatchFailed,
    BodyTooSlow,
    ClientSuspended,
    Conflict,
    CursorExpired,
    Duplicate,
    Forbidden,
    InsufficientScope,
    InternalError,
    Invalid,
    KeyReused,
    MalformedBody,
    MethodNotAllowed,
    NotFound,
    OutcomeUnknown,
    Overloaded,
    PayloadDeleted,
    PersonErased,
    PreconditionFailed,
    RateLimited,
    RequestInProgress,
    ServerFault,
    ShuttingDown,
    StorageFull,
    StoreUnavailable,
    TooLarge,
    TooManyAffected,
    TooManyConnections,
    Unauthorized,
    UnsupportedMediaType,
)
from touchbase.client.request import Response
from touchbase.client.retries import NO_RETRIES, Retries
from touchbase.client.sync_client import Touchbase
from touchbase.client.webhooks import verify_webhook

if TYPE_CHECKING:
    from touchbase.client.async_client import AsyncTouchbase

__all__ = [
    "NO_RETRIES",
    "AsyncTouchbase",
    "BadRequest",
    "BatchFailed",
    "BodyTooSlow",
    "ClientSuspended",
    "Conflict",
    "ConnectionFailed",
    "CursorExpired",
    "Duplicate",
    "FieldError",
    "Forbidden",
    "IncompleteDownload",
    "InsufficientScope",
    "InternalError",
    "Invalid",
    "JobFailed",
    "JobTimeout",
    "KeyReused",
    "MalformedBody",
    "MethodNotAllowed",
    "NotFound",
    "NotModified",
    "OutcomeUnknown",
    "Overloaded",
    "PayloadDeleted",
    "PersonErased",
    "PreconditionFailed",
    "Problem",
    "RateLimited",
    "RequestInProgress",
    "Response",
    "Retries",
    "ServerFault",
    "ShuttingDown",
    "StorageFull",
    "StoreUnavailable",
    "TooLarge",
    "TooManyAffected",
    "TooManyConnections",
    "Touchbase",
    "TouchbaseError",
    "Unauthorized",
    "UnexpectedAnswer",
    "UnsupportedMediaType",
    "WebhookError",
    "verify_webhook",
]


def __getattr__(name: str) -> Any:
    """Return `AsyncTouchbase`: asyncio is loaded only for programs that use it."""
    if name == "AsyncTouchbase":
        from touchbase.client.async_client import AsyncTouchbase

        return AsyncTouchbase
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
