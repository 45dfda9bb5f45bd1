"""Answers that the server gives itself, before or instead of the application.

The same problem bodies as the application's (RFC 9457); the application is not asked because the request
cannot be read, or because asking costs what we do not have just now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from secrets import token_hex
from typing import Any

import msgspec

from touchbase.common.asgi import client_request_id

RETRY_AFTER = 1

Headers = Sequence[tuple[bytes, bytes]]

UNLESS_SAID = {b"cache-control": b"no-store", b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'"}
"""Headers of every answer that does not say otherwise: answers hold data, and pages bring a policy of their own."""


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """Why a request is not passed on: the status, a stable code, and what the caller can do."""

    status: int
    code: str
    detail: str
    more_headers: tuple[tuple[str, str], ...] = ()

    def headers(self, length: int, request_id: str) -> list[tuple[bytes, bytes]]:
        """The answer's own headers."""
        headers = [
            (b"content-type", b"application/problem+json"),
            (b"content-length", b"%d" % length),
            (b"x-request-id", request_id.encode()),
            *((name.encode(), value.encode()) for name, value in self.more_headers),
        ]
        if self.status == HTTPStatus.SERVICE_UNAVAILABLE:
            headers.append((b"retry-after", b"%d" % RETRY_AFTER))
        return headers

    def body(self, request_id: str) -> bytes:
        """The problem body."""
        title = HTTPStatus(self.status).phrase
        problem = {"type": "about:blank", "title": title, "status": self.status, "detail": self.detail, "code": self.code}
        return msgspec.json.encode({**problem, "request_id": request_id})

    def message(self, defaults: bytes, request_id: str, more: Headers) -> bytes:
        """A whole HTTP/1.1 answer that ends the connection; `defaults` are the header lines of every answer, `more` are this one's."""
        body = self.body(request_id)
        lines = b"".join(b"%b: %b\r\n" % header for header in (*UNLESS_SAID.items(), *self.headers(len(body), request_id), *more))
        line = f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}\r\n".encode()
        return b"%b%b%bconnection: close\r\n\r\n%b" % (line, defaults, lines, body)


class Refused(Exception):
    """Raised inside the parser's callbacks: this request is answered with `refusal`."""

    def __init__(self, refusal: ErrorResponse) -> None:
        super().__init__(refusal.detail)
        self.refusal = refusal


def request_id_in(scope: Any) -> str:
    """The id of a request that we answer ourselves, noted for its line in the log."""
    known: str | None = scope.get("touchbase.request_id")
    if known is None:
        known = scope["touchbase.request_id"] = request_id_for(scope["headers"])
    return known


def request_id_for(headers: Headers) -> str:
    """The id of a request with these headers: the caller's own if there is a sane one."""
    return client_request_id(headers) or token_hex(16)


MALFORMED = ErrorResponse(400, "malformed_request", "This is not a valid HTTP/1.1 request.")
TWO_LENGTHS = ErrorResponse(
    400, "ambiguous_length", "Send either Content-Length or Transfer-Encoding, once; with both, where a body ends is a matter of opinion."
)
NO_HOST = ErrorResponse(400, "malformed_request", "An HTTP/1.1 request names its host in exactly one Host header.")
OTHER_HOST = ErrorResponse(400, "malformed_request", "The address in the request line names another host than the Host header.")
OTHER_VERSION = ErrorResponse(505, "http_version", "Only HTTP/1.1 and HTTP/1.0 are spoken here.")
TOO_MUCH_FRAMING = ErrorResponse(
    400, "malformed_request", "The chunks of this body have more around them than in them; send larger chunks."
)
FOREIGN_HOST = ErrorResponse(
    421,
    "foreign_host",
    "Without keys only this machine is served, under its own names; under another name only webhook addresses answer. "
    "For other calls use keys: start the server with --auth api-key.",
)
BY_PUBLIC_NAME = ErrorResponse(
    403,
    "open_mode",
    "This server asks for no key, so by its public name and through proxies only webhook addresses answer. To reach the rest from "
    "here, start it with --auth api-key and send a key; without one, call this machine's own address from one that is no listed proxy's.",
)
FOREIGN_ORIGIN = ErrorResponse(
    403,
    "foreign_origin",
    "Without keys no page of another site may call. To let its pages call, list its origin in TOUCHBASE_CORS_ORIGINS.",
)
SLOW_HEADERS = ErrorResponse(408, "headers_too_slow", "The request's headers did not arrive in time; send them at once.")
TOO_MANY_HEADERS = ErrorResponse(431, "too_many_headers", "The request has more header fields than we read; send fewer.")
HEADERS_TOO_LARGE = ErrorResponse(431, "headers_too_large", "The request's line and headers are longer than we read; send less.")
TOO_MANY_REQUESTS = ErrorResponse(
    503, "overloaded", "Too many requests are in progress; nothing of this one was kept. Send it again shortly."
)
TOO_MANY_CONNECTIONS = ErrorResponse(503, "overloaded", "Too many connections are open; close idle ones and connect again in a second.")
TOO_MANY_OF_ADDRESS = ErrorResponse(
    503, "too_many_connections", "Too many connections are open from your address; use those that you have, or connect again in a second."
)
NO_ROOM = ErrorResponse(
    503,
    "overloaded",
    "The bodies of requests in progress take all the memory there is for them; nothing of this one was kept. Send it again shortly.",
)
SHUTTING_DOWN = ErrorResponse(
    503, "shutting_down", "The server is being stopped and did not finish this request. Send it again in a second."
)
BROKEN = ErrorResponse(500, "internal_error", "This is a fault of ours, noted with the request id. The request may be sent again.")

_VERSIONS = ("Invalid HTTP version", "Pause on PRI/Upgrade")
"""What the parser says to another version, and to the first line of HTTP/2."""


def of_parser(says: str, *, second: bool) -> ErrorResponse:
    """What is wrong with a request that the parser refuses; `second`: it stumbled behind a length in the headers.

    The parser refuses a second length and most other versions by itself, and only its text tells these apart from other nonsense.
    """
    if says in _VERSIONS:
        return OTHER_VERSION
    return TWO_LENGTHS if second and ("Content-Length" in says or "Transfer-Encoding" in says) else MALFORMED
