"""Errors as HTTP: the only table from an error's code to a status, and the problem body (RFC 9457)."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus

import msgspec

from touchbase.errors import (
    Conflict,
    Fault,
    InsufficientScope,
    Invalid,
    InvalidKey,
    NotFound,
    Overloaded,
    RateLimited,
    RequestInProgress,
    TouchbaseError,
    Unauthorized,
)
from touchbase.http.rate_limit_headers import refusal_headers

STATUS = {
    "malformed_body": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "insufficient_scope": 403,
    "client_suspended": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "body_too_slow": 408,
    "duplicate": 409,
    "request_in_progress": 409,
    "conflict": 409,
    "person_erased": 409,
    "payload_deleted": 409,
    "precondition_failed": 412,
    "too_large": 413,
    "unsupported_media_type": 415,
    "invalid": 422,
    "idempotency_key_reused": 422,
    "rate_limited": 429,
    "internal_error": 500,
    "overloaded": 503,
    "store_unavailable": 503,
    "outcome_unknown": 503,
}

# As RFC 9110 names them; Python's own names differ between its versions.
TITLES = {413: "Content Too Large", 422: "Unprocessable Content"}
_WHOLE = {"": "the body", "?": "the query"}
"""The names of pointers to a whole body or query."""
PROBLEM_JSON = b"application/problem+json"


class MethodNotAllowed(TouchbaseError):
    """This address exists, but not for this method."""

    code = "method_not_allowed"

    def __init__(self, method: str, allowed: Sequence[str]) -> None:
        super().__init__(f"{method} is not allowed here; use {' or '.join(allowed)}")
        self.allowed = tuple(allowed)


class UnsupportedMediaType(TouchbaseError):
    """The body's Content-Type or Content-Encoding is not supported."""

    code = "unsupported_media_type"


class TooLarge(TouchbaseError):
    """The body is longer than the published limit."""

    code = "too_large"


class BodyTooSlow(TouchbaseError):
    """The body did not arrive in time."""

    code = "body_too_slow"


class InternalError(TouchbaseError):
    """An unexpected error of the server."""

    code = "internal_error"


class FaultOut(msgspec.Struct):
    """One thing wrong with a request: a JSON pointer into the body, `?name` of a query parameter, or a header's name."""

    pointer: str
    code: str
    detail: str


class Problem(msgspec.Struct, omit_defaults=False):
    """What went wrong. `code` is stable; `errors` lists every fault of an invalid request."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    errors: list[FaultOut] | msgspec.UnsetType = msgspec.UNSET
    existing_id: int | msgspec.UnsetType = msgspec.UNSET


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Problem).decode


def problem(error: TouchbaseError, request_id: str) -> tuple[int, bytes, list[tuple[bytes, bytes]]]:
    """Return status, body and additional headers of the response to a failed request."""
    status = STATUS.get(error.code, 500)
    body = Problem("about:blank", TITLES.get(status) or HTTPStatus(status).phrase, status, error.detail, error.code, request_id)
    if isinstance(error, Invalid):
        body.detail = _summary(error.faults)
        body.errors = [FaultOut(fault.pointer, fault.code, fault.detail) for fault in error.faults]
    existing = error.data.get("existing_id")
    if isinstance(error, Conflict | NotFound) and isinstance(existing, int):
        body.existing_id = existing
    return status, _encode(body), _headers(error)


def with_request_id(body: bytes, request_id: str) -> bytes:
    """Return the problem body with another request id."""
    found = _decode(body)
    found.request_id = request_id
    return _encode(found)


def _summary(faults: Sequence[Fault]) -> str:
    first = f"{_WHOLE.get(faults[0].pointer, faults[0].pointer)} {faults[0].detail}" if faults else "the request is not valid"
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
