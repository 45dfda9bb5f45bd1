"""Every error that Touchbase raises on purpose, as one tree.

TouchbaseError
├── MalformedBody         the request body cannot be decoded (broken JSON, broken UTF-8)
├── Invalid               one or more fields are wrong; lists the faults
│   └── BatchFailed       commands of an atomic batch failed; lists each
├── NotFound              no such record for this client
├── Conflict              a record with this identity exists already
├── KeyReused             this idempotency key belongs to another request
├── RequestInProgress     a request with this idempotency key is still running
├── PersonErased          the person of this contact was erased; restoring must be explicit
├── PayloadDeleted        the body of this delivery was deleted, so it cannot be replayed
├── CursorExpired         events after this cursor are not stored any more
├── PreconditionFailed    the record changed since it was read
├── TooManyAffected       a change by filter would change more records than allowed
├── WrongState            the operation is not possible in the present state
├── Unauthorized          no key, or a webhook that fails its secret
│   └── InvalidKey        an unknown, expired or revoked key
├── Forbidden             a valid key without permission
│   ├── InsufficientScope a valid key without the required scope
│   └── ClientSuspended   the client is suspended
├── StorageFull           the client stores more bytes than its limit
├── RateLimited           a limit is exceeded; try again after `retry_after`
├── Overloaded            the queue is full or the store cannot write now; try again
│   ├── StoreUnavailable  the disk is full or has errors, or the database is not reachable
│   └── OutcomeUnknown    the connection to the store was lost during the commit
├── DeliveryRefused       a webhook whose events would take a record over a limit
├── UnusableStore         the store's set-up must be changed before use
│   └── BadAddress        the address of a store is not valid
└── UnrecognisedPayload   a webhook body that no adapter recognises

A class is the only definition of its error: `code` is stable and part of the interface, `status` is the response's, the
first paragraph of the docstring says what it means and `remedy` what to do. Problem responses, the OpenAPI document and the
page `docs/reference/errors.md` are made from them. Errors of HTTP alone are in `http/problems.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

MOST_FAULTS = 50
"""Faults listed in one response; more are only counted."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a request.

    `pointer` is an RFC 6901 JSON pointer into the body (`/contact_custom_fields_input/0/field_name`),
    or the name of a query parameter after `?` (`?limit`). `detail` says what is wrong and what to do.
    """

    pointer: str
    code: str
    detail: str


COUNTED = Fault("", "counted", "")
"""In place of each fault after the first `MOST_FAULTS`, where there can be many: their texts would be made for nothing."""


class TouchbaseError(Exception):
    """An error with a stable code and an explanation for the user."""

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500
    remedy: ClassVar[str] = ""
    """Cure of the problem. Empty for an error that no response has."""

    def __init__(self, detail: str, *, data: dict[str, object] | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.data = data or {}

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the error's attributes instead of its arguments: constructors differ."""
        return _restored, (type(self), self.args, vars(self))


def _restored(kind: type[TouchbaseError], args: tuple[object, ...], values: dict[str, object]) -> TouchbaseError:
    error = kind.__new__(kind, *args)
    vars(error).update(values)
    return error


def response_errors(of: type[TouchbaseError] = TouchbaseError) -> Iterator[type[TouchbaseError]]:
    """Yield the errors that a response may have, one for each code."""
    for kind in of.__subclasses__():
        if "remedy" in vars(kind):
            yield kind
        yield from response_errors(kind)


def meaning(of: type[TouchbaseError]) -> str:
    """Return an error's meaning: the first paragraph of its docstring."""
    return " ".join((of.__doc__ or "").partition("\n\n")[0].split())


class MalformedBody(TouchbaseError):
    """The body cannot be read: broken JSON or UTF-8, nested too deeply, broken compression."""

    code = "malformed_body"
    status = 400
    remedy = "Fix the body; `detail` says where."


class Invalid(TouchbaseError):
    """Fields or parameters are invalid; `errors` lists the faults, of more than 50 the first 50, and `detail` says how many there are."""

    code = "invalid"
    status = 422
    remedy = "Fix them; `errors` has the place of each."

    def __init__(self, faults: Sequence[Fault], more: int = 0) -> None:
        listed = tuple(faults[:MOST_FAULTS])
        super().__init__("; ".join(f"{fault.pointer}: {fault.detail}" for fault in listed))
        self.faults = listed
        self.more = more + len(faults) - len(listed)
        """Faults that are counted and not listed."""


class BatchFailed(Invalid):
    """Commands of an atomic batch failed, so none was carried out; `errors` lists their faults, as for `invalid`."""

    code = "batch_failed"
    status = 422
    remedy = "Fix them and send the batch again, or send it without `atomic`."


class NotFound(TouchbaseError):
    """No such record, route, delivery, key or client; for a record that was merged into another, `existing_id` is the other's."""

    code = "not_found"
    status = 404
    remedy = "Check the id and the client."


class Conflict(TouchbaseError):
    """A record with this identity exists; `existing_id` is its id."""

    code = "duplicate"
    status = 409
    remedy = "Use it, or `on_duplicate`."
    names_several = False
    """Whether the keys of a write are several contacts', or another one's than `match` finds: they may be one person."""


class KeyReused(TouchbaseError):
    """The idempotency key was used for another request."""

    code = "idempotency_key_reused"
    status = 422
    remedy = "Make a new key for each request."


class RequestInProgress(TouchbaseError):
    """A request with this idempotency key is still running."""

    code = "request_in_progress"
    status = 409
    remedy = "Repeat after `Retry-After`."
    retry_after = 1


class PersonErased(TouchbaseError):
    """The contact's person was erased; storing them again must be explicit."""

    code = "person_erased"
    status = 409
    remedy = "`restore_erased=true`, if the person shall be stored again."


class PayloadDeleted(TouchbaseError):
    """The delivery's body was removed, so it cannot be replayed."""

    code = "payload_deleted"
    status = 409
    remedy = "Nothing; its events stay."


class CursorExpired(TouchbaseError):
    """Events after this cursor are not stored any more, or it is later than all events. `valid_cursor` can be read from."""

    code = "cursor_expired"
    status = 410
    remedy = "List the records again, then read on from the cursor that the problem names."


class PreconditionFailed(TouchbaseError):
    """The record changed since it was read."""

    code = "precondition_failed"
    status = 412
    remedy = "Read it again, and repeat the change."


class TooManyAffected(TouchbaseError):
    """A change by filter would change more records than `max-affected` allows; `affected` is their number. Nothing was changed."""

    code = "too_many_affected"
    status = 409
    remedy = "Narrow the filters, or raise `max-affected`."


class WrongState(TouchbaseError):
    """The operation is not possible in the present state of its object."""

    code = "conflict"
    status = 409
    remedy = "Read `detail`."


class Unauthorized(TouchbaseError):
    """No valid key; or a webhook without a valid proof of its sender."""

    code = "unauthorized"
    status = 401
    remedy = "Check the key, or the secret of the connection."


class InvalidKey(Unauthorized):
    """The request's key is unknown, expired or revoked."""


class Forbidden(TouchbaseError):
    """The key is valid and does not allow this: another client's data, or something that only an administrator of all clients may do."""

    code = "forbidden"
    status = 403
    remedy = "Use another key."


class InsufficientScope(Forbidden):
    """The key is valid and lacks the required scope, which `WWW-Authenticate` names.

    `data["scope"]` is the scope.
    """

    code = "insufficient_scope"
    status = 403
    remedy = "Use a key with the scope."


class ClientSuspended(Forbidden):
    """The client is suspended; its records are not served until it is resumed."""

    code = "client_suspended"
    status = 403
    remedy = "Resume it."


class StorageFull(TouchbaseError):
    """The client stores more bytes than its limit: creating or enlarging records, messages and imports is refused.

    Deletions, merges, erasures, settings and entries of do-not-contact lists are carried out, and webhooks have some more room.
    """

    code = "storage_full"
    status = 507
    remedy = "Delete records, messages or imports, shorten `keep_bodies_days`, or raise `max_stored_bytes`."


class RateLimited(TouchbaseError):
    """A limit on requests, rows, bytes or failed keys is reached; nothing was done. Never for webhooks.

    The limit is that of `policy`, which allows `quota` units in `window` seconds; try again after `retry_after` seconds.
    """

    code = "rate_limited"
    status = 429
    remedy = "Wait for `Retry-After`."

    def __init__(self, detail: str, *, policy: str, quota: int, window: int, retry_after: int) -> None:
        super().__init__(detail)
        self.policy = policy
        self.quota = quota
        self.window = window
        self.retry_after = retry_after


class Overloaded(TouchbaseError):
    """Too much at once: requests, commands, memory for bodies, connections, webhooks. Nothing was stored."""

    code = "overloaded"
    status = 503
    remedy = "Repeat after `Retry-After`."

    def __init__(self, detail: str, *, retry_after: int = 1) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class StoreBusy(Overloaded):
    """The store has more to do than it can. Webhooks wait in the spool; what one client or address may do is not of this kind."""


class StoreUnavailable(Overloaded):
    """The store cannot be used now: its disk is full or has errors, or its database is not reachable. Nothing was stored."""

    code = "store_unavailable"
    status = 503
    remedy = "An operator must look after the store; then repeat."


class ClientMoving(StoreUnavailable):
    """The client is being moved to another database: nothing of it can be written meanwhile. Webhooks wait in the spool."""

    code = "client_moving"
    status = 503
    remedy = "Repeat after `Retry-After`; a move takes about a minute for each million rows."

    def __init__(self) -> None:
        super().__init__("this client is being moved to another database; send this again in a moment", retry_after=5)


class OutcomeUnknown(Overloaded):
    """The connection to the store was lost during the commit, so the request may have been executed."""

    code = "outcome_unknown"
    status = 503
    remedy = "Repeat with the same idempotency key; webhooks may always be repeated."


class DeliveryRefused(TouchbaseError):
    """The events of a webhook would take a record over a limit; retrying is useless before a person changes something."""


class UnusableStore(TouchbaseError):
    """The store cannot be used as it is set up; the message has the cure. Raised only at start."""

    code = "unusable_store"


class BadAddress(UnusableStore):
    """The address of a store is not valid; the message has the cure, and quotes nothing that may contain a password."""


class UnrecognisedPayload(TouchbaseError):
    """No adapter recognises this webhook body; it is stored and can be replayed."""

    code = "unrecognised"
