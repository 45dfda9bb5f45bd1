"""What can go wrong, as a tree of exceptions.

TouchbaseError
  ConnectionFailed      no answer
    IncompleteDownload
  UnexpectedAnswer      an answer that is not Touchbase's: another program or a proxy
  NotModified           the record is the one that `if_none_match` names
  JobFailed, JobTimeout
  WebhookError          a webhook that does not prove its sender
  Problem               an answer that says what is wrong; a class for each code
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


class TouchbaseError(Exception):
    """Any error of this library."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Let errors cross processes, as those of `multiprocessing` and task queues do."""
        return _again, (type(self), self.args, dict(self.__dict__))


def _again(kind: type[TouchbaseError], args: tuple[Any, ...], members: Mapping[str, Any]) -> TouchbaseError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(members)
    return error


class ConnectionFailed(TouchbaseError):
    """No answer came, also after the repetitions."""

    def __init__(self, message: str, *, outcome_unknown: bool = False, idempotency_key: str | None = None) -> None:
        super().__init__(message)
        self.outcome_unknown = outcome_unknown
        """Whether the request may have been carried out."""
        self.idempotency_key = idempotency_key
        """The key of the call: a call with the same request and this key is not carried out twice."""


class IncompleteDownload(ConnectionFailed):
    """The connection broke before the end of a file."""


class UnexpectedAnswer(TouchbaseError):
    """The answer is not one of Touchbase's."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class NotModified(TouchbaseError):
    """The record has not changed since the version that `if_none_match` names."""


class JobFailed(TouchbaseError):
    """A job ended without success, or waits for a decision."""

    def __init__(self, message: str, job: Any) -> None:
        super().__init__(message)
        self.job = job
        """The job as `jobs.get` returns it."""


class JobTimeout(TouchbaseError):
    """A job had not ended in the given time; it goes on."""

    def __init__(self, message: str, job: Any) -> None:
        super().__init__(message)
        self.job = job
        """The job as it was last seen."""


class WebhookError(TouchbaseError):
    """A webhook does not prove that Touchbase sent it: answer 401, and do nothing else with it."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing wrong with a request."""

    pointer: str
    """A JSON pointer into the body (`/email`), `?name` of a parameter, or the name of a header."""
    code: str
    detail: str

    @property
    def field(self) -> str:
        """The name of the member or parameter: the last part of the pointer."""
        return self.pointer.lstrip("?").rpartition("/")[2]


class Problem(TouchbaseError):
    """An answer that says what is wrong: a code of its own, or one that this version of the library does not know."""

    code: ClassVar[str] = ""
    next_step: ClassVar[str] = ""
    """What to do about it."""

    def __init__(self, status: int, body: Mapping[str, Any], *, lost: bool = False) -> None:
        self.status = status
        self.problem_code = str(body.get("code", ""))
        """The code that the answer has."""
        self.detail = str(body.get("detail", ""))
        self.request_id = str(body.get("request_id", ""))
        """The request's id in the server's log."""
        self.errors: Sequence[FieldError] = tuple(_field_errors(body.get("errors")))
        """Every fault of an invalid request."""
        self.existing_id: int | None = body.get("existing_id")
        """The id of the record that is there already, or into which this one was merged."""
        self.deleted_at: str | None = body.get("deleted_at")
        """When the record was deleted; it can be restored."""
        self.affected: int | None = body.get("affected")
        """Records that a change by filters would have changed."""
        self.valid_cursor: str | None = body.get("valid_cursor")
        """A cursor that events can be read from."""
        self.lost_attempt = lost
        """Whether an earlier attempt of the same call may have been carried out."""
        super().__init__(self.summary)

    @property
    def fields(self) -> list[str]:
        """The names of the faulty members and parameters."""
        return [fault.field for fault in self.errors]

    @property
    def summary(self) -> str:
        """What is wrong, and the request's id, without the advice for programs."""
        detail = "; ".join(f"{fault.pointer or 'the body'}: {fault.detail}" for fault in self.errors) or self.detail
        lost = " An earlier attempt of this call lost its connection and may have been carried out: read the record first."
        request = f" (request {self.request_id})" if self.request_id else ""
        return f"{self.status} {self.problem_code}: {detail.rstrip('.')}.{lost if self.lost_attempt else ''}{request}"

    def __str__(self) -> str:
        return f"{self.summary} {self.next_step}".rstrip()


def _field_errors(errors: object) -> Iterator[FieldError]:
    for fault in errors if isinstance(errors, list) else ():
        if isinstance(fault, dict):
            yield FieldError(str(fault.get("pointer", "")), str(fault.get("code", "")), str(fault.get("detail", "")))


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


class ClientMoving(StoreUnavailable):
    """The client is being moved to another database; nothing was stored."""

    code = "client_moving"
    next_step = "Call again later: a move takes about a minute for each million rows."


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
    for problem in of.__subclasses__():
        yield problem
        yield from _classes(problem)


BY_CODE: Mapping[str, type[Problem]] = {problem.code: problem for problem in _classes() if "code" in vars(problem)}
_BY_STATUS = {400: BadRequest, 401: Unauthorized, 403: Forbidden, 404: NotFound, 409: Conflict, 429: RateLimited}


def parse_problem(content_type: str, body: bytes) -> Mapping[str, Any] | None:
    """Return a problem body; None if the response has none."""
    if content_type.partition(";")[0].strip().lower() != "application/problem+json":
        return None
    try:
        problem = json.loads(body)
    except ValueError:
        return None
    return problem if isinstance(problem, dict) else None


def problem_of(status: int, body: Mapping[str, Any], *, lost: bool = False) -> Problem:
    """Return the exception for a problem body: by its code, or else by the status."""
    general = ServerFault if status >= 500 else BadRequest if status in (405, 408, 413, 414, 415, 422, 431) else Problem
    kind = BY_CODE.get(str(body.get("code", ""))) or _BY_STATUS.get(status, general)
    return kind(status, body, lost=lost)
