"""The exception of each code that an answer of Touchbase may have."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from touchbase.client.errors import Problem


class BadRequest(Problem):
    """The request itself is not in order: its body, its fields or its parameters."""


class MalformedBody(BadRequest):
    """The body cannot be read."""

    code = "malformed_body"
    next_step = "Fix the body."


class Invalid(BadRequest):
    """Fields or parameters are invalid; `errors` has each of them."""

    code = "invalid"
    next_step = "Correct these values; `error.errors` has the place of each."


class BatchFailed(Invalid):
    """Commands of an atomic batch failed, so none was carried out."""

    code = "batch_failed"
    next_step = "Correct them and send the batch again, or send it without `atomic`."


class KeyReused(BadRequest):
    """The idempotency key was used for another request."""

    code = "idempotency_key_reused"
    next_step = "Give a new `idempotency_key` for each new request, or none: the library makes one."


class UnsupportedMediaType(BadRequest):
    """The body is in a format that the server does not read."""

    code = "unsupported_media_type"
    next_step = "Send JSON, or a file of a format that imports read."


class TooLarge(BadRequest):
    """The body is longer than the limit."""

    code = "too_large"
    next_step = "Send less at once, or import a file."


class BodyTooSlow(BadRequest):
    """The body did not arrive in time."""

    code = "body_too_slow"
    next_step = "Send it over a faster connection, or raise `TOUCHBASE_BODY_TIMEOUT` of the server."


class MethodNotAllowed(BadRequest):
    """The server does not know this operation: it is of another version."""

    code = "method_not_allowed"
    next_step = "Use the version of this library that the server has."


class NotFound(Problem):
    """There is no such record, key or client; `existing_id` names the record that a merged one went into."""

    code = "not_found"
    next_step = "Check the id, and the client that the key or `client_id` names."


class Conflict(Problem):
    """The present state does not allow it."""

    code = "conflict"
    next_step = "Read `detail`, then get the object again to see its state."


class Duplicate(Conflict):
    """A record with this identity exists; `existing_id` is its id."""

    code = "duplicate"
    next_step = "Use `error.existing_id`, give `on_duplicate`, or call `upsert`."


class PersonErased(Conflict):
    """The contact's person was erased."""

    code = "person_erased"
    next_step = "Give `restore_erased=True` if the person shall be stored again."


class PayloadDeleted(Conflict):
    """The delivery's body was removed, so it cannot be replayed."""

    code = "payload_deleted"
    next_step = "Nothing can be done; its events stay."


class RequestInProgress(Conflict):
    """A request with this idempotency key is still running."""

    code = "request_in_progress"
    next_step = "Call again later with the same `idempotency_key`."


class TooManyAffected(Conflict):
    """A change by filters would change more records than allowed; `affected` is their number."""

    code = "too_many_affected"
    next_step = 'Narrow the filters, or give a higher `prefer="max-affected=..."`.'


class PreconditionFailed(Problem):
    """The record changed since it was read."""

    code = "precondition_failed"
    next_step = "Get the record again, and repeat the change with its new `etag`."


class CursorExpired(Problem):
    """Events after this cursor are not stored any more; `valid_cursor` can be read from."""

    code = "cursor_expired"
    next_step = "List the records again, then follow the events from `error.valid_cursor`."


class Unauthorized(Problem):
    """There is no valid key."""

    code = "unauthorized"
    next_step = "Check the key that you gave to `Touchbase`: it may be expired or revoked."


class Forbidden(Problem):
    """The key does not allow this."""

    code = "forbidden"
    next_step = "Use a key of this client, or one of an administrator."


class InsufficientScope(Forbidden):
    """The key lacks a scope."""

    code = "insufficient_scope"
    next_step = "Use a key with this scope."


class ClientSuspended(Forbidden):
    """The client is suspended."""

    code = "client_suspended"
    next_step = "Resume the client."


class RateLimited(Problem):
    """A limit is reached; nothing was done."""

    code = "rate_limited"
    next_step = "Wait, then call again; give `Touchbase` more `retries` to have it wait by itself."


class StorageFull(Problem):
    """The client stores more bytes than its limit: records, messages and imports are refused."""

    code = "storage_full"
    next_step = "Delete records, messages or imports, shorten `keep_bodies_days`, or ask an administrator to raise `max_stored_bytes`."


class ServerFault(Problem):
    """The server could not do it."""


class Overloaded(ServerFault):
    """The server has too much to do at once; nothing was stored."""

    code = "overloaded"
    next_step = "Call again later."


class StoreUnavailable(Overloaded):
    """The server's store cannot be used now; nothing was stored."""

    code = "store_unavailable"
    next_step = "An operator must look after the store; then call again."


class OutcomeUnknown(Overloaded):
    """The server lost its store during the commit, so the request may have been carried out."""

    code = "outcome_unknown"
    next_step = "Read the record before you call again, or give the same `idempotency_key`."


class TooManyConnections(Overloaded):
    """Too many connections are open from this address."""

    code = "too_many_connections"
    next_step = "Use one `Touchbase` for the whole program: it shares its connections."


class ShuttingDown(Overloaded):
    """The server is stopping and did not finish the request."""

    code = "shutting_down"
    next_step = "Call again in a second."


class InternalError(ServerFault):
    """An unexpected error of the server."""

    code = "internal_error"
    next_step = "Report it with the request's id, which the server's log has too."


def _classes(of: type[Problem] = Problem) -> Iterator[type[Problem]]:
    for each in of.__subclasses__():
        yield each
        yield from _classes(each)


BY_CODE: Mapping[str, type[Problem]] = {each.code: each for each in _classes() if "code" in vars(each)}
_BY_STATUS = {400: BadRequest, 401: Unauthorized, 403: Forbidden, 404: NotFound, 409: Conflict, 429: RateLimited}


def parse_problem(content_type: str, body: bytes) -> Mapping[str, Any] | None:
    """Return a problem body; None if the response has none."""
    if content_type.partition(";")[0].strip().lower() != "application/problem+json":
        return None
    try:
        found = json.loads(body)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def problem_of(status: int, body: Mapping[str, Any], *, lost: bool = False) -> Problem:
    """Return the exception for a problem body: by its code, or else by the status."""
    general = ServerFault if status >= 500 else BadRequest if status in (405, 408, 413, 414, 415, 422, 431) else Problem
    kind = BY_CODE.get(str(body.get("code", ""))) or _BY_STATUS.get(status, general)
    return kind(status, body, lost=lost)
