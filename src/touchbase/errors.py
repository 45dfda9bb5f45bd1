"""Every error that Touchbase gives on purpose, as one tree.

TouchbaseError
├── MalformedBody         the request cannot be read at all (broken JSON, broken UTF-8)
├── Invalid               read, but one or more fields are wrong; lists every fault
├── NotFound              no such record for this client
├── Conflict              a record with this identity exists already
├── KeyReused             this idempotency key belongs to another request
├── RequestInProgress     a request with this idempotency key is not answered yet
├── PersonErased          a contact whose person was erased; must be brought back on purpose
├── PayloadDeleted        a delivery whose body was removed cannot be applied again
├── PreconditionFailed    the record changed since the caller read it
├── WrongState            what is asked does not fit the state that the thing is in
├── Unauthorized          no key, or a webhook that fails its secret
│   └── InvalidKey        a key that is none of ours, or not valid any more
├── Forbidden             a true key that may not do this
│   ├── InsufficientScope a true key without the scope that this needs
│   └── ClientSuspended   the client is suspended
├── RateLimited           more than a limit allows; try again when it says
├── Overloaded            the queue is full or the store cannot write now; try again
│   └── OutcomeUnknown    the store went away during the commit: it may have been carried out
├── UnusableStore         the store's set-up must be changed before we may use it
│   └── BadAddress        what was given as a store's address is none
└── UnrecognisedPayload   a webhook body that no adapter understands

`code` is stable and part of the interface; HTTP statuses live in `http/problems.py` only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with a request.

    `pointer` is an RFC 6901 JSON pointer into the body (`/contact_custom_fields_input/0/field_name`),
    or the name of a query parameter behind `?` (`?limit`). `detail` says what is wrong and what to do.
    """

    pointer: str
    code: str
    detail: str


class TouchbaseError(Exception):
    """Something went wrong that we can explain."""

    code = "error"

    def __init__(self, detail: str, *, data: dict[str, object] | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.data = data or {}


class MalformedBody(TouchbaseError):
    """The request cannot be read at all."""

    code = "malformed_body"


class Invalid(TouchbaseError):
    """The request was read, and these of its fields are wrong."""

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
    """A request with this idempotency key is being carried out; ask again after `retry_after` seconds."""

    code = "request_in_progress"
    retry_after = 1


class PersonErased(TouchbaseError):
    """The person was erased; whoever means to keep them again says so."""

    code = "person_erased"


class PayloadDeleted(TouchbaseError):
    """The delivery's body was removed, so it cannot be applied again."""

    code = "payload_deleted"


class PreconditionFailed(TouchbaseError):
    """The record changed since it was read; read it again and repeat the change."""

    code = "precondition_failed"


class WrongState(TouchbaseError):
    """What is asked for does not fit the state that the thing is in."""

    code = "conflict"


class Unauthorized(TouchbaseError):
    """The call carries no valid proof of who sends it."""

    code = "unauthorized"


class InvalidKey(Unauthorized):
    """The key that came with the call is none of ours, or is not valid any more."""


class Forbidden(TouchbaseError):
    """The key is true but may not do this."""

    code = "forbidden"


class InsufficientScope(Forbidden):
    """The key is true but lacks the scope that this call needs; `data["scope"]` names it."""

    code = "insufficient_scope"


class ClientSuspended(Forbidden):
    """The client that the call is for is suspended; nothing of its records is served until it is resumed."""

    code = "client_suspended"


class RateLimited(TouchbaseError):
    """The caller has had what the policy `policy` allows; nothing was done. It may come again after `retry_after` seconds.

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
    """We cannot take this now and have kept nothing of it; send it again after `retry_after` seconds."""

    code = "overloaded"

    def __init__(self, detail: str, *, retry_after: int = 1) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class StoreUnavailable(Overloaded):
    """The store itself cannot be used now: its disk is full or gives errors, or its database is away. Less load would not help."""

    code = "store_unavailable"


class OutcomeUnknown(Overloaded):
    """The store went away while it committed: nobody can say whether it was carried out, and it was not answered as done.

    Whoever sends it again does so with an idempotency key, or looks first.
    """

    code = "outcome_unknown"


class UnusableStore(TouchbaseError):
    """The store cannot be used as it is set up; the message says what to change. Given at start only."""

    code = "unusable_store"


class BadAddress(UnusableStore):
    """What was given as the address of a store names none; the message says what to write, and quotes nothing that may hold a password."""


class UnrecognisedPayload(TouchbaseError):
    """No adapter understands this webhook body; it is kept and can be replayed."""

    code = "unrecognised"
