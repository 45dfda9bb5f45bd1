"""Error responses that the server sends itself, before or instead of the application.

They have the same problem bodies as the application's (RFC 9457). The application does not see the request because
the request is malformed or because the server is overloaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from secrets import token_hex
from typing import Any

import msgspec

from touchbase.common.asgi import client_request_id

RETRY_AFTER = 1

Headers = Sequence[tuple[bytes, bytes]]

DEFAULT_HEADERS = {b"cache-control": b"no-store", b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'"}
"""Default headers of every response. Responses contain data; documentation pages replace the policy."""


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """A refusal of a request: the status, a stable code, and the cure."""

    status: int
    code: str
    detail: str
    more_headers: tuple[tuple[str, str], ...] = ()

    def headers(self, length: int, request_id: str) -> list[tuple[bytes, bytes]]:
        """Return the headers of this response, without the default ones."""
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
        """Return the problem body."""
        title = HTTPStatus(self.status).phrase
        problem = {"type": "about:blank", "title": title, "status": self.status, "detail": self.detail, "code": self.code}
        return msgspec.json.encode({**problem, "request_id": request_id})

    def message(self, defaults: bytes, request_id: str, more: Headers) -> bytes:
        """Return a whole HTTP/1.1 response that ends the connection; `defaults` are header lines of every response, `more` of this one."""
        body = self.body(request_id)
        lines = b"".join(b"%b: %b\r\n" % header for header in (*DEFAULT_HEADERS.items(), *self.headers(len(body), request_id), *more))
        line = f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}\r\n".encode()
        return b"%b%b%bconnection: close\r\n\r\n%b" % (line, defaults, lines, body)


class Refused(Exception):
    """Raised inside the parser's callbacks: the server responds with `refusal`."""

    def __init__(self, refusal: ErrorResponse) -> None:
        super().__init__(refusal.detail)
        self.refusal = refusal


def request_id_in(scope: Any) -> str:
    """Return the id of a request; a new id is put into the scope for the access log."""
    request_id: str | None = scope.get("touchbase.request_id")
    if request_id is None:
        request_id = scope["touchbase.request_id"] = request_id_for(scope["headers"])
    return request_id


def request_id_for(headers: Headers) -> str:
    """Return the HTTP client's own request id if it is valid, else a new one."""
    return client_request_id(headers) or token_hex(16)


async def send_error_response(scope: Any, send: Any, refusal: ErrorResponse, more: Iterable[tuple[bytes, bytes]] = ()) -> None:
    """Send an error response over ASGI; `more` are additional headers."""
    request_id = request_id_in(scope)
    body = refusal.body(request_id)
    await send({"type": "http.response.start", "status": refusal.status, "headers": [*refusal.headers(len(body), request_id), *more]})
    await send({"type": "http.response.body", "body": body})


def error_app(refusal: ErrorResponse) -> Any:
    """Return an ASGI application that sends this error response to every request."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send_error_response(scope, send, refusal)

    return app


MALFORMED = ErrorResponse(400, "malformed_request", "This is not a valid HTTP/1.1 request.")
TWO_LENGTHS = ErrorResponse(
    400, "ambiguous_length", "Send either Content-Length or Transfer-Encoding, once; with both, the end of the body is ambiguous."
)
NO_HOST = ErrorResponse(400, "malformed_request", "An HTTP/1.1 request names its host in exactly one Host header.")
OTHER_HOST = ErrorResponse(400, "malformed_request", "The address in the request line names another host than the Host header.")
OTHER_VERSION = ErrorResponse(505, "http_version", "Only HTTP/1.1 and HTTP/1.0 are supported.")
TOO_MUCH_FRAMING = ErrorResponse(400, "malformed_request", "The chunks of this body have too much framing; send larger chunks.")
TOO_MANY_CHUNKS = ErrorResponse(
    400, "malformed_request", "This body has very many short chunks, or blank lines in its chunks; send larger chunks, or a Content-Length."
)
FOREIGN_HOST = ErrorResponse(
    421,
    "foreign_host",
    "Without keys only this machine is served, under its own names; under another name only webhook addresses respond. "
    "For other requests use keys: start the server with --auth api-key.",
)
BY_PUBLIC_NAME = ErrorResponse(
    403,
    "open_mode",
    "This server runs without keys, so under its public name and through trusted proxies only webhook addresses respond. To reach other "
    "addresses from here, start it with --auth api-key and send a key; without a key, use this machine's own address and no proxy.",
)
FOREIGN_ORIGIN = ErrorResponse(
    403,
    "foreign_origin",
    "Without keys no page of another site may send requests. To allow its pages, list its origin in TOUCHBASE_CORS_ORIGINS.",
)
SLOW_HEADERS = ErrorResponse(408, "headers_too_slow", "The request's headers did not arrive in time; send them at once.")
TOO_MANY_HEADERS = ErrorResponse(431, "too_many_headers", "The request has too many header fields; send fewer.")
HEADERS_TOO_LARGE = ErrorResponse(431, "headers_too_large", "The request's line and headers are too long; send less.")
TOO_MANY_REQUESTS = ErrorResponse(
    503, "overloaded", "Too many requests are in progress; nothing of this one was stored. Send it again shortly."
)
TOO_MANY_CONNECTIONS = ErrorResponse(503, "overloaded", "Too many connections are open; close idle ones and connect again in a second.")
TOO_MANY_OF_ADDRESS = ErrorResponse(
    503, "too_many_connections", "Too many connections are open from your address; use the open ones, or connect again in a second."
)
NO_ROOM = ErrorResponse(
    503,
    "overloaded",
    "The bodies of requests in progress use all the memory for them; nothing of this request was stored. Send it again shortly.",
)
TOO_MUCH_UNREAD = ErrorResponse(
    503,
    "overloaded",
    "Responses that were not read yet use all the memory for them, so this one is not sent; what the request asked for may have been done. "
    "Read responses as they come, or ask for fewer at once, and send it again shortly.",
)
SHUTTING_DOWN = ErrorResponse(503, "shutting_down", "The server is stopping and did not finish this request. Send it again in a second.")
BROKEN = ErrorResponse(500, "internal_error", "Internal error, logged with the request id. The request may be sent again.")

_VERSIONS = ("Invalid HTTP version", "Pause on PRI/Upgrade")
"""The parser's messages for another version and for the first line of HTTP/2."""


def parser_error(message: str, *, second: bool) -> ErrorResponse:
    """Return the error response for a parser error; `second`: a length header was read before the error.

    The parser itself refuses a second length and most other versions; only its message distinguishes them from other errors.
    """
    if message in _VERSIONS:
        return OTHER_VERSION
    return TWO_LENGTHS if second and ("Content-Length" in message or "Transfer-Encoding" in message) else MALFORMED
