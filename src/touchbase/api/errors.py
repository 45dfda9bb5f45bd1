"""Errors as HTTP: the only table from an error's code to a status, and the problem body (RFC 9457)."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus

import msgspec

from touchbase.domain.errors import Conflict, Fault, Invalid, Overloaded, TouchbaseError, Unauthorized

STATUS = {
    "unreadable": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "body_too_slow": 408,
    "duplicate": 409,
    "erased": 409,
    "body_gone": 409,
    "precondition_failed": 412,
    "too_large": 413,
    "unsupported_media_type": 415,
    "invalid": 422,
    "internal_error": 500,
    "overloaded": 503,
}

# As RFC 9110 names them; Python's own names differ between its versions.
TITLES = {413: "Content Too Large", 422: "Unprocessable Content"}
PROBLEM_JSON = b"application/problem+json"


class MethodNotAllowed(TouchbaseError):
    """This address exists, but not for this method."""

    code = "method_not_allowed"

    def __init__(self, method: str, allowed: Sequence[str]) -> None:
        super().__init__(f"{method} is not possible here; {', '.join(allowed)} is")
        self.allowed = tuple(allowed)


class UnsupportedMediaType(TouchbaseError):
    """The body is of a kind, or packed in a way, that we do not read."""

    code = "unsupported_media_type"


class TooLarge(TouchbaseError):
    """The body is longer than the published limit."""

    code = "too_large"


class BodyTooSlow(TouchbaseError):
    """The body did not arrive in time."""

    code = "body_too_slow"


class InternalError(TouchbaseError):
    """A fault of ours."""

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


def problem(error: TouchbaseError, request_id: str) -> tuple[int, bytes, list[tuple[bytes, bytes]]]:
    """Status, body and extra headers of the answer to a request that failed."""
    status = STATUS.get(error.code, 500)
    body = Problem("about:blank", TITLES.get(status) or HTTPStatus(status).phrase, status, error.detail, error.code, request_id)
    if isinstance(error, Invalid):
        body.detail = _summary(error.faults)
        body.errors = [FaultOut(fault.pointer, fault.code, fault.detail) for fault in error.faults]
    existing = error.data.get("existing_id")
    if isinstance(error, Conflict) and isinstance(existing, int):
        body.existing_id = existing
    return status, _encode(body), _headers(error)


def _summary(faults: Sequence[Fault]) -> str:
    first = f"{faults[0].pointer or 'the body'} {faults[0].detail}" if faults else "the request is not valid"
    return first if len(faults) < 2 else f"{first} (and {len(faults) - 1} more, see errors)"


def _headers(error: TouchbaseError) -> list[tuple[bytes, bytes]]:
    if isinstance(error, MethodNotAllowed):
        return [(b"allow", ", ".join(error.allowed).encode())]
    if isinstance(error, Unauthorized):
        return [(b"www-authenticate", b'Bearer realm="touchbase"')]
    if isinstance(error, Overloaded):
        return [(b"retry-after", b"%d" % error.retry_after)]
    if isinstance(error, (TooLarge, BodyTooSlow)):
        # Part of the body may still be on its way, and nobody wants to read it as the next request.
        return [(b"connection", b"close")]
    return []
