"""ASGI for one request and its response on a connection.

Optimised for thousands of requests a second: objects are created when needed, the response's head and body leave in one
write, default headers are joined once a second, and the observer is called when a request ends, without a wrapper around the
application (decision 0037).
"""

from __future__ import annotations

import asyncio
import logging
from time import perf_counter
from typing import Any, Protocol

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from touchbase.common.asgi import STREAMED, peer_of
from touchbase.errors import Overloaded
from touchbase.server.error_responses import (
    BROKEN,
    DEFAULT_HEADERS,
    NO_ROOM,
    SHUTTING_DOWN,
    TOO_MUCH_UNREAD,
    ErrorResponse,
    Headers,
    request_id_in,
    send_error_response,
)
from touchbase.server.limits import ServerLimits

LOG = logging.getLogger("uvicorn.error")
CLIENT_WENT_AWAY = 499
"""The status in logs and metrics of a request whose HTTP client disconnected before the response."""

CONTINUE_RESPONSE = b"HTTP/1.1 100 Continue\r\n\r\n"
STATUSES_WITHOUT_BODY = (204, 304)
LONG_PART = 65_536
"""Bytes from which on a part of a response counts until its peer has read it; the system's buffers take a shorter one."""
DEFAULT_LINES = b"".join(b"%b: %b\r\n" % header for header in DEFAULT_HEADERS.items())
EXAMINED_HEADERS = frozenset((b"content-length", b"connection", *DEFAULT_HEADERS))


class ClientConnection(Protocol):
    """The part of a connection that a request needs."""

    transport: asyncio.Transport
    loop: asyncio.AbstractEventLoop

    @property
    def flow(self) -> FlowControl:
        """Flow control of both directions."""
        ...

    def on_response_complete(self) -> None:
        """Handle the end of a response."""

    def may_hold(self, peer: str, size: int) -> bool:
        """Count a part of a response, until the peer has read it; return False if the memory for such parts is used up."""
        ...

    is_writing: bool
    """Whether a part that `may_hold` has counted is still to be written."""

    def release_if_read(self) -> None:
        """Count long parts no longer once all of them were written and read."""

    def linger(self) -> None:
        """Close the sending side, and read and discard data for `LINGER` seconds."""


class Cycle:
    """Runs the application for one request and writes its response."""

    __slots__ = (
        "body", "body_refused", "body_size", "bytes_left", "chunked", "connection", "disconnected", "flow",
        "has_message", "head", "keep_alive", "limits", "more_body", "response_complete", "response_started", "scope", "sent_bytes",
        "started", "status", "transport", "waiter", "waiting_for_100_continue",
    )  # fmt: skip

    def __init__(
        self, connection: ClientConnection, limits: ServerLimits, scope: dict[str, Any], *, keep_alive: bool, expect_100_continue: bool
    ) -> None:
        self.connection = connection
        self.limits = limits
        self.scope = scope
        self.transport = connection.transport
        self.flow = connection.flow
        self.keep_alive = keep_alive
        self.waiting_for_100_continue = expect_100_continue
        self.disconnected = self.response_started = self.response_complete = False
        self.body: bytes | bytearray = b""
        """Bytes of the request's body that the application has not received yet."""
        self.body_size = 0
        """Bytes of the body that count in `limits.bodies` until the request ends."""
        self.body_refused = False
        """Whether the body is discarded: it exceeded the memory for bodies, or the request is over."""
        self.more_body = True
        self.has_message = False
        """Whether `receive` has a message to return."""
        self.waiter: asyncio.Future[None] | None = None
        self.chunked = False
        self.bytes_left: int | None = None
        """Bytes of the response's body that are not written yet; None without a Content-Length."""
        self.status = 0
        self.sent_bytes = 0
        self.head = b""
        self.started = perf_counter()

    async def run(self, app: Any) -> None:
        """Run the application; send a problem response if it fails or the server shuts down."""
        try:
            await app(self.scope, self.receive, self.send)
        except asyncio.CancelledError:
            await self._send_error_instead(SHUTTING_DOWN)
        except Overloaded:
            await self._send_error_instead(NO_ROOM)
        except Exception:
            LOG.exception("the application failed on request %s", request_id_in(self.scope))
            await self._send_error_instead(BROKEN)
        else:
            if not self.response_complete and not self.disconnected:
                LOG.error("the application did not finish the response to request %s", request_id_in(self.scope))
                await self._send_error_instead(BROKEN)
        finally:
            if not self.response_complete:
                self.status = CLIENT_WENT_AWAY if self.disconnected else self.status
                self.limits.observe(self)
            self.release_body()

    async def _hold(self, part: bytes) -> None:
        """Count a long part until it is read; if the memory for such parts is used up, end the response."""
        if not self.disconnected and not self.connection.may_hold(peer_of(self.scope), len(part)):
            await self._send_error_instead(TOO_MUCH_UNREAD)
            self.disconnected = True  # the application may send further parts

    async def _send_error_instead(self, refusal: ErrorResponse) -> None:
        if self.response_complete:
            return
        if self.response_started and not self.head:
            # Part of a response is sent: only closing the connection shows that it is incomplete.
            self.transport.close()
            return
        self.response_started, self.head, self.keep_alive, self.chunked, self.bytes_left = False, b"", False, False, None
        await send_error_response(self.scope, self.send, refusal, self.scope.get("touchbase.granted", ()))

    def append_body(self, body: bytes) -> None:
        """Buffer a part of the request's body; if the memory is used up, discard the body and notify the application."""
        if self.body_refused:
            return
        if not self.limits.bodies.acquire(peer_of(self.scope), len(body)):
            self.release_body()
            self.notify()
            return
        self.body_size += len(body)
        if not self.body:
            self.body = body
        elif isinstance(self.body, bytearray):
            self.body += body
        else:
            self.body = bytearray(self.body + body)
        self.notify()

    def release_body(self) -> None:
        """Discard the body, also its parts to come, and release its memory."""
        self.body_refused, self.body = True, b""
        if self.body_size:
            self.limits.bodies.release(peer_of(self.scope), self.body_size)
            self.body_size = 0

    def notify(self) -> None:
        """Wake `receive`: more of the body, its end, or a disconnect."""
        self.has_message = True
        waiter = self.waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def disconnect(self) -> None:
        """Treat the HTTP client as disconnected."""
        self.disconnected = True
        self.notify()

    async def receive(self) -> dict[str, Any]:
        """Return the next message (ASGI's `receive`); not for concurrent use. Raises `Overloaded` if the body exceeds the memory."""
        if self.waiting_for_100_continue and not self.transport.is_closing():
            self.transport.write(CONTINUE_RESPONSE)
            self.waiting_for_100_continue = False
        if not self.disconnected and not self.response_complete:
            self.flow.resume_reading()
            if not self.has_message:
                self.waiter = self.connection.loop.create_future()
                await self.waiter
            self.has_message = False
        if self.disconnected or self.response_complete:
            return {"type": "http.disconnect"}
        if self.body_refused:
            raise Overloaded(NO_ROOM.detail)
        body, self.body = self.body, b""
        if STREAMED in self.scope:
            self.limits.bodies.release(peer_of(self.scope), self.body_size)
            self.body_size = 0
        return {"type": "http.request", "body": bytes(body), "more_body": self.more_body}

    async def send(self, message: Any) -> None:
        """Send a message (ASGI's `send`). Raises `ConnectionAbortedError` for a part of a stream if the peer is gone, so that it ends."""
        kind, is_long = message["type"], len(message.get("body", b"")) >= LONG_PART
        is_first = bool(self.head)
        if is_long and is_first:  # also while it waits for the peer to read an earlier response
            await self._hold(message["body"])
        if self.flow.write_paused and not self.disconnected and kind != "http.response.start":  # a head is sent with the body
            await self.flow.drain()
        if is_long and not is_first:
            await self._hold(message["body"])
        if self.disconnected:
            if message.get("more_body", False):
                raise ConnectionAbortedError("the peer of a streamed response is gone")
            return
        if kind == "http.response.start" and not self.response_started:
            self._start(message["status"], message.get("headers", ()))
        elif kind == "http.response.body" and self.response_started and not self.response_complete:
            self._continue(message.get("body", b""), message.get("more_body", False))
            if is_long:
                self.connection.is_writing = False
                self.connection.release_if_read()
        else:
            raise RuntimeError(f"the application sent {kind!r} out of order")

    def _start(self, status: int, headers: Headers) -> None:
        """Build the response's head; it is written with the first part of the body."""
        lines = self._lines(headers)
        if self.bytes_left is None and status not in STATUSES_WITHOUT_BODY and self.scope["method"] != "HEAD":
            self.chunked = True
            lines += b"transfer-encoding: chunked\r\n"
        if self.waiting_for_100_continue and self.more_body:
            # The HTTP client may or may not send its body now, so the start of the next request is unknown.
            self.keep_alive = False
        if not self.keep_alive and b"\nconnection:" not in b"\n" + lines:
            lines += b"connection: close\r\n"
        self.head = b"%b%b%b\r\n" % (STATUS_LINE[status], self.limits.defaults, lines)
        self.response_started, self.waiting_for_100_continue, self.status = True, False, status

    def _lines(self, headers: Headers) -> bytes:
        """Join the response's header lines with the default ones; read Content-Length and Connection from them."""
        block = b"".join([b"%b: %b\r\n" % header for header in headers])
        # A line break inside a name or value would allow header injection.
        if not block.count(b"\n") == block.count(b"\r") == len(headers) or b"\0" in block:
            raise RuntimeError("a header of the response contains a line break")
        defaults = DEFAULT_LINES
        for raw_name, value in headers:
            name = raw_name.lower()
            if name not in EXAMINED_HEADERS:
                continue
            if name == b"content-length":
                self.bytes_left = int(value)
            elif name in DEFAULT_HEADERS:
                defaults = defaults.replace(b"%b: %b\r\n" % (name, DEFAULT_HEADERS[name]), b"")
            elif b"close" in value.lower():
                self.keep_alive = False
        return defaults + block

    def _continue(self, body: bytes, more_body: bool) -> None:
        """Write a part of the body, the first one after the head; the last part ends the request."""
        before, part, behind = self.head, body, b""
        if self.scope["method"] == "HEAD":
            part = b""
        elif self.chunked:
            if body:
                before += b"%x\r\n" % len(body)
                behind = b"\r\n"
            if not more_body:
                behind += b"0\r\n\r\n"
        else:
            self.bytes_left = (self.bytes_left or 0) - len(body)
            if self.bytes_left < 0 or (self.bytes_left and not more_body):
                raise RuntimeError("the length of the response's body differs from its Content-Length")
        self.sent_bytes += len(before) - len(self.head) + len(part) + len(behind)
        if len(part) < LONG_PART:
            self.transport.write(before + part + behind)
        else:  # not joined: that would be a copy
            self.transport.write(before)
            self.transport.write(part)
            self.transport.write(behind)
        self.head = b""
        if not more_body:
            self._finish()

    def _finish(self) -> None:
        self.response_complete = True
        if self.waiter is not None:
            self.notify()
        self.limits.observe(self)
        if not self.keep_alive and self.more_body:
            self.connection.linger()
        elif not self.keep_alive:
            self.transport.close()
        self.connection.on_response_complete()
