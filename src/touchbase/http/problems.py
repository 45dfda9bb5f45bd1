"""Errors as HTTP: problem bodies and headers (RFC 9457), and the errors of HTTP alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from touchbase.errors import (
    Conflict,
    InsufficientScope,
    Invalid,
    InvalidKey,
    NotFound,
    Overloaded,
    RateLimited,
    RequestInProgress,
    TouchbaseError,
    Unauthorized,
    response_errors,
)
from touchbase.http.headers import refusal_headers

# As RFC 9110 names them; Python's own names differ between its versions.
TITLES = {413: "Content Too Large", 422: "Unprocessable Content"}
_ROOTS = {"": "the body", "?": "the query"}
"""The names of pointers to a whole body or query."""
PROBLEM_JSON = b"application/problem+json"


class MethodNotAllowed(TouchbaseError):
    """The route exists, and not with this method; `Allow` lists the methods."""

    code = "method_not_allowed"
    status = 405
    remedy = "Use one of the methods."

    def __init__(self, method: str, allowed: Sequence[str]) -> None:
        super().__init__(f"{method} is not allowed here; use {' or '.join(allowed)}")
        self.allowed = tuple(allowed)


class UnsupportedMediaType(TouchbaseError):
    """The body is not JSON, or its Content-Encoding is not supported."""

    code = "unsupported_media_type"
    status = 415
    remedy = "Send JSON, plain or compressed with gzip."


class TooLarge(TouchbaseError):
    """The body is longer than the limit."""

    code = "too_large"
    status = 413
    remedy = "Send less, or raise the limit."


class BodyTooSlow(TouchbaseError):
    """The body did not arrive in time."""

    code = "body_too_slow"
    status = 408
    remedy = "Send it faster, or raise `TOUCHBASE_BODY_TIMEOUT`."


class InternalError(TouchbaseError):
    """An unexpected error of the server; the log has the `request_id`."""

    code = "internal_error"
    status = 500
    remedy = "Report it; the request may be repeated."


class FaultOut(msgspec.Struct):
    """One thing wrong with a request: a JSON pointer into the body, `?name` of a query parameter, or a header's name."""

    pointer: str
    code: str
    detail: str


class Problem(msgspec.Struct, omit_defaults=False):
    """A problem response. `code` is stable; `errors` lists the faults of an invalid request, at most 50."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    errors: list[FaultOut] | msgspec.UnsetType = msgspec.UNSET
    existing_id: int | msgspec.UnsetType = msgspec.UNSET
    deleted_at: str | msgspec.UnsetType = msgspec.UNSET
    affected: int | msgspec.UnsetType = msgspec.UNSET
    valid_cursor: str | msgspec.UnsetType = msgspec.UNSET
    changed_by: str | msgspec.UnsetType = msgspec.UNSET
    changed_at: str | msgspec.UnsetType = msgspec.UNSET
    present: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


STATUS = {response_error.code: response_error.status for response_error in response_errors()}
"""Code -> status of every error that a response may have."""
_SECRET = re.compile(rb"(\btb_[a-z0-9]{1,16}_[0-9a-f]{12}_)[0-9a-f]+")
"""An API key in an error that quotes a value: somebody pasted it in a wrong place, and errors are logged by programs."""
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Problem).decode


def problem(error: TouchbaseError, request_id: str) -> tuple[int, bytes, list[tuple[bytes, bytes]]]:
    """Return status, body and additional headers of the response to a failed request."""
    status = error.status
    body = Problem("about:blank", TITLES.get(status) or HTTPStatus(status).phrase, status, error.detail, error.code, request_id)
    if isinstance(error, Invalid):
        body.detail = _summary(error)
        body.errors = [FaultOut(fault.pointer, fault.code, fault.detail) for fault in error.faults]
    existing = error.data.get("existing_id")
    if isinstance(error, Conflict | NotFound) and isinstance(existing, int):
        body.existing_id = existing
    for name in ("deleted_at", "valid_cursor", "changed_by", "changed_at"):
        if isinstance(value := error.data.get(name), str):
            setattr(body, name, value)
    if isinstance(present := error.data.get("present"), dict):
        body.present = present
    affected = error.data.get("affected")
    if isinstance(affected, int):
        body.affected = affected
    return status, _SECRET.sub(rb"\1***", _encode(body)), _headers(error)


def with_request_id(body: bytes, request_id: str) -> bytes:
    """Return the problem body with another request id."""
    problem_body = _decode(body)
    problem_body.request_id = request_id
    return _encode(problem_body)


def _summary(error: Invalid) -> str:
    faults = error.faults
    first = f"{_ROOTS.get(faults[0].pointer, faults[0].pointer)} {faults[0].detail}" if faults else "the request is not valid"
    if error.more:
        return f"{first} ({len(faults) + error.more:,} faults; errors has the first {len(faults)})"
    return first if len(faults) < 2 else f"{first} (and {len(faults) - 1} more, see errors)"


def _headers(error: TouchbaseError) -> list[tuple[bytes, bytes]]:
    if isinstance(error, MethodNotAllowed):
        return [(b"allow", ", ".join(error.allowed).encode())]
    if isinstance(error, (Unauthorized, InsufficientScope)):
        return [(b"www-authenticate", _challenge(error))]
    if isinstance(error, (Overloaded, RequestInProgress)):
        return [(b"retry-after", b"%d" % error.retry_after)]
    if isinstance(error, RateLimited):
        return refusal_headers(error)
    if isinstance(error, (TooLarge, BodyTooSlow)):
        # Part of the body may still arrive, and must not be parsed as the next request.
        return [(b"connection", b"close")]
    return []


def _challenge(error: TouchbaseError) -> bytes:
    """Return the `WWW-Authenticate` challenge of RFC 6750 for this error."""
    if isinstance(error, InvalidKey):
        return b'Bearer error="invalid_token", realm="touchbase"'
    if isinstance(error, InsufficientScope):
        return b'Bearer error="insufficient_scope", scope="%b", realm="touchbase"' % str(error.data.get("scope", "")).encode()
    return b'Bearer realm="touchbase"'
