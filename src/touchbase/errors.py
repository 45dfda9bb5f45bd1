"""Every error that Touchbase raises on purpose, as one tree.

TouchbaseError
├── MalformedBody         the request body cannot be decoded (broken JSON, broken UTF-8)
├── Invalid               one or more fields are wrong; lists every fault
├── NotFound              no such record for this client
├── Conflict              a record with this identity exists already
├── KeyReused             this idempotency key belongs to another request
├── RequestInProgress     a request with this idempotency key is still running
├── PersonErased          the person of this contact was erased; restoring must be explicit
├── PayloadDeleted        the body of this delivery was deleted, so it cannot be replayed
├── PreconditionFailed    the record changed since it was read
├── WrongState            the operation is not possible in the present state
├── Unauthorized          no key, or a webhook that fails its secret
│   └── InvalidKey        an unknown, expired or revoked key
├── Forbidden             a valid key without permission
│   ├── InsufficientScope a valid key without the required scope
│   └── ClientSuspended   the client is suspended
├── RateLimited           a limit is exceeded; try again after `retry_after`
├── Overloaded            the queue is full or the store cannot write now; try again
│   ├── StoreUnavailable  the disk is full or has errors, or the database is not reachable
│   └── OutcomeUnknown    the connection to the store was lost during the commit
├── UnusableStore         the store's set-up must be changed before use
│   └── BadAddress        the address of a store is not valid
└── UnrecognisedPayload   a webhook body that no adapter recognises

`code` is stable and part of the interface; HTTP statuses are in `http/problems.py` only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a request.

    `pointer` is an RFC 6901 JSON pointer into the body (`/contact_custom_fields_input/0/field_name`),
    or the name of a query parameter after `?` (`?limit`). `detail` says what is wrong and what to do.
    """

    pointer: str
    code: str
    detail: str


class TouchbaseError(Exception):
    """An error with a stable code and an explanation for the user."""

    code = "error"

    def __init__(self, detail: str, *, data: dict[str, object] | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.data = data or {}


class MalformedBody(TouchbaseError):
    """The request body cannot be decoded."""

    code = "malformed_body"


class Invalid(TouchbaseError):
    """One or more fields of the request are wrong."""

    code = "invalid"

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("; ".join(f"{fault.pointer}: {fault.detail}" for fault in faults))
        self.faults = tuple(faults)


class NotFound(TouchbaseError):
    """There is no such record for this client."""

    code = "not_found"


class Conflict(TouchbaseError):
    """A record with this identity exists already; `data["existing_id"]` is its id."""

    code = "duplicate"


class KeyReused(TouchbaseError):
    """The idempotency key was used for another request; every new request needs a new one."""

    code = "idempotency_key_reused"


class RequestInProgress(TouchbaseError):
    """A request with this idempotency key is still running; try again after `retry_after` seconds."""

    code = "request_in_progress"
    retry_after = 1


class PersonErased(TouchbaseError):
    """The person was erased; storing them again must be explicit."""

    code = "person_erased"


class PayloadDeleted(TouchbaseError):
    """The delivery's body was deleted, so it cannot be replayed."""

    code = "payload_deleted"


class PreconditionFailed(TouchbaseError):
    """The record changed since it was read; read it again and repeat the change."""

    code = "precondition_failed"


class WrongState(TouchbaseError):
    """The operation is not possible in the present state."""

    code = "conflict"


class Unauthorized(TouchbaseError):
    """The request has no valid credentials."""

    code = "unauthorized"


class InvalidKey(Unauthorized):
    """The request's key is unknown, expired or revoked."""


class Forbidden(TouchbaseError):
    """The key is valid but does not permit this."""

    code = "forbidden"


class InsufficientScope(Forbidden):
    """The key is valid but lacks the required scope; `data["scope"]` names it."""

    code = "insufficient_scope"


class ClientSuspended(Forbidden):
    """The request's client is suspended; its records are not served until it is resumed."""

    code = "client_suspended"


class RateLimited(TouchbaseError):
    """The limit of the policy `policy` is exceeded; nothing was done. Try again after `retry_after` seconds.

    The policy allows `quota` units in `window` seconds.
    """

    code = "rate_limited"

    def __init__(self, detail: str, *, policy: str, quota: int, window: int, retry_after: int) -> None:
        super().__init__(detail)
        self.policy = policy
        self.quota = quota
        self.window = window
        self.retry_after = retry_after


class Overloaded(TouchbaseError):
    """The request cannot be accepted now, and nothing of it was stored; send it again after `retry_after` seconds."""

    code = "overloaded"

    def __init__(self, detail: str, *, retry_after: int = 1) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class StoreUnavailable(Overloaded):
    """The store cannot be used now: its disk is full or has errors, or its database is not reachable. Less load would not help."""

    code = "store_unavailable"


class OutcomeUnknown(Overloaded):
    """The connection to the store was lost during the commit, so the outcome is unknown.

    Repeat the request with an idempotency key, or read the record first.
    """

    code = "outcome_unknown"


class UnusableStore(TouchbaseError):
    """The store cannot be used as it is set up; the message says what to change. Raised only at start."""

    code = "unusable_store"


class BadAddress(UnusableStore):
    """The address of a store is not valid; the message says what to write, and quotes nothing that may contain a password."""


class UnrecognisedPayload(TouchbaseError):
    """No adapter recognises this webhook body; it is stored and can be replayed."""

    code = "unrecognised"
