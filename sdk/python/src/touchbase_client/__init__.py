"""Touchbase from Python: `Touchbase` and `AsyncTouchbase`, their errors, and `verify_webhook`.

    from touchbase_client import Touchbase

    with Touchbase("https://touchbase.example.com", key) as tb:
        for contact in tb.contacts.iterate(contact_status="replied"):
            print(contact["id"], contact.get("email"))

The package needs no server and imports none of its code. `touchbase_client.models` has the types, for annotations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from touchbase_client._sync.client import Touchbase, Transport
from touchbase_client._sync.events import Follower
from touchbase_client._version import VERSION
from touchbase_client.errors import (
    BadRequest,
    BatchFailed,
    BodyTooSlow,
    ClientMoving,
    ClientSuspended,
    Conflict,
    ConnectionFailed,
    CursorExpired,
    Duplicate,
    FieldError,
    Forbidden,
    IncompleteDownload,
    InsufficientScope,
    InternalError,
    Invalid,
    JobFailed,
    JobTimeout,
    KeyReused,
    MalformedBody,
    MethodNotAllowed,
    NotFound,
    NotModified,
    OutcomeUnknown,
    Overloaded,
    PayloadDeleted,
    PersonErased,
    PreconditionFailed,
    Problem,
    RateLimited,
    RequestInProgress,
    ServerFault,
    ShuttingDown,
    StorageFull,
    StoreUnavailable,
    TooLarge,
    TooManyAffected,
    TooManyConnections,
    TouchbaseError,
    Unauthorized,
    UnexpectedAnswer,
    UnsupportedMediaType,
    WebhookError,
)
from touchbase_client.request import Response
from touchbase_client.retries import NO_RETRIES, Retries
from touchbase_client.webhooks import verify_webhook

if TYPE_CHECKING:
    from touchbase_client._async.client import AsyncTouchbase, AsyncTransport
    from touchbase_client._async.events import AsyncFollower

__all__ = [
    "NO_RETRIES",
    "AsyncFollower",
    "AsyncTouchbase",
    "AsyncTransport",
    "BadRequest",
    "BatchFailed",
    "BodyTooSlow",
    "ClientMoving",
    "ClientSuspended",
    "Conflict",
    "ConnectionFailed",
    "CursorExpired",
    "Duplicate",
    "FieldError",
    "Follower",
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
    "Transport",
    "Unauthorized",
    "UnexpectedAnswer",
    "UnsupportedMediaType",
    "WebhookError",
    "verify_webhook",
]


__version__ = VERSION


def __getattr__(name: str) -> Any:
    """Return a class of the asynchronous client: asyncio is loaded only for programs that use it."""
    if name in ("AsyncTouchbase", "AsyncTransport"):
        from touchbase_client._async import client

        return getattr(client, name)
    if name == "AsyncFollower":
        from touchbase_client._async.events import AsyncFollower

        return AsyncFollower
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
