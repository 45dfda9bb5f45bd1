"""One request and its answer on a connection.

uvicorn's cycle with three differences: the answer's head and body leave in one write, headers that are
on every answer are joined once a second instead of once an answer, and whoever observes requests is told
when one ends, which costs no wrapper around the application.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from touchbase.server.refusals import BROKEN, SHUTTING_DOWN, UNLESS_SAID, Headers, Refusal, request_id_in

CLIENT_WENT_AWAY = 499
"""What logs and metrics say of a request whose caller left before the answer."""

WITHOUT_BODY = (204, 304)
USUAL = b"".join(b"%b: %b\r\n" % header for header in UNLESS_SAID.items())
NOTED = frozenset((b"content-length", b"connection", *UNLESS_SAID))


class Cycle(RequestResponseCycle):
    """Runs the application for one request and writes its answer."""

    def __init__(self, defaults: bytes, observe: Callable[[Cycle], None], linger: Callable[[], None], **parts: Any) -> None:
        super().__init__(access_log=False, default_headers=[], **parts)
        self.defaults = defaults
        self.observe = observe
        self.linger = linger
        self.started = perf_counter()
        self.status = 0
        self.sent_bytes = 0
        self.head = b""

    async def run_asgi(self, app: Any) -> None:
        """Run the application; a fault of it or of the shutdown still gives the caller a problem body."""
        try:
            await app(self.scope, self.receive, self.send)
        except asyncio.CancelledError:
            await self._answer_instead(SHUTTING_DOWN)
        except Exception:
            self.logger.exception("the application failed at request %s", request_id_in(self.scope))
            await self._answer_instead(BROKEN)
        else:
            if not self.response_complete and not self.disconnected:
                self.logger.error("the application left request %s without a whole answer", request_id_in(self.scope))
                await self._answer_instead(BROKEN)
        finally:
            if not self.response_complete:
                self.status = CLIENT_WENT_AWAY if self.disconnected else self.status
                self.observe(self)
            self.on_response = lambda: None

    async def _answer_instead(self, refusal: Refusal) -> None:
        if self.response_complete:
            return
        if self.response_started and not self.head:
            # Part of an answer is out: cutting the connection is the only way left to say that it is broken.
            self.transport.close()
            return
        self.response_started, self.head, self.keep_alive = False, b"", False
        self.chunked_encoding, self.expected_content_length = None, 0
        scope: Any = self.scope
        await send_refusal(scope, self.send, refusal, scope.get("touchbase.granted", ()))

    async def send(self, message: Any) -> None:
        """ASGI's send."""
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        kind = message["type"]
        if kind == "http.response.start" and not self.response_started:
            self._start(message["status"], message.get("headers", ()))
        elif kind == "http.response.body" and self.response_started and not self.response_complete:
            self._continue(message.get("body", b""), message.get("more_body", False))
        else:
            raise RuntimeError(f"the application sent {kind!r} out of turn")

    def _start(self, status: int, headers: Any) -> None:
        """Make the answer's head; it leaves with the first part of the body."""
        if self.waiting_for_100_continue and self.more_body:
            # The caller may or may not send its body now: nobody could tell where the next request begins.
            self.keep_alive = False
        lines: list[bytes] = []
        usual = USUAL
        for name, value in headers:
            lines += (name, b": ", value, b"\r\n")
            lowered = name.lower()
            if lowered not in NOTED:
                continue
            if lowered == b"content-length":
                self.chunked_encoding, self.expected_content_length = False, int(value)
            elif lowered in UNLESS_SAID:
                usual = usual.replace(b"%b: %b\r\n" % (lowered, UNLESS_SAID[lowered]), b"")
            elif b"close" in value.lower():
                self.keep_alive = False
        block = b"".join(lines)
        # A line break inside a name or value would let a caller write headers of ours.
        if not block.count(b"\n") == block.count(b"\r") == len(lines) // 4 or b"\0" in block:
            raise RuntimeError("a header of the answer holds a line break")
        if self.chunked_encoding is None and status not in WITHOUT_BODY and self.scope["method"] != "HEAD":
            self.chunked_encoding = True
            block += b"transfer-encoding: chunked\r\n"
        if not self.keep_alive and b"connection:" not in block.lower():
            block += b"connection: close\r\n"
        self.head = b"%b%b%b%b\r\n" % (STATUS_LINE[status], self.defaults, usual, block)
        self.response_started, self.waiting_for_100_continue, self.status = True, False, status

    def _continue(self, body: bytes, more_body: bool) -> None:
        """Write a part of the body, with the head before the first; the last part ends the request."""
        if self.scope["method"] == "HEAD":
            self.expected_content_length, part = 0, b""
        elif self.chunked_encoding:
            part = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            if not more_body:
                part += b"0\r\n\r\n"
        else:
            part = body
            self.expected_content_length -= len(body)
            if self.expected_content_length < 0 or (self.expected_content_length and not more_body):
                raise RuntimeError("the body of the answer is not as long as its Content-Length")
        self.sent_bytes += len(part)
        self.transport.write(self.head + part)
        self.head = b""
        if not more_body:
            self._finish()

    def _finish(self) -> None:
        self.response_complete = True
        self.message_event.set()
        self.observe(self)
        if not self.keep_alive and self.more_body:
            self.linger()
        elif not self.keep_alive:
            self.transport.close()
        self.on_response()


async def send_refusal(scope: Any, send: Any, refusal: Refusal, more: Headers = ()) -> None:
    """Send a refusal as an application would; `more` are headers beside its own."""
    request_id = request_id_in(scope)
    body = refusal.body(request_id)
    await send({"type": "http.response.start", "status": refusal.status, "headers": [*refusal.headers(len(body), request_id), *more]})
    await send({"type": "http.response.body", "body": body})


def refusing(refusal: Refusal) -> Any:
    """An application that answers every request with this refusal."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send_refusal(scope, send, refusal)

    return app
