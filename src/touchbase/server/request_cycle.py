"""One request and its answer on a connection.

ASGI for one request, made for what is asked thousands of times a second: nothing is made before it is needed, the answer's head and body
leave in one write, headers that are on every answer are joined once a second instead of once an answer, and whoever observes requests is
told when one ends, which costs no wrapper around the application. Whoever has all of an answer may send it in one message (`whole_answer`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any, Protocol

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from touchbase.common.asgi import EXTENSION, peer_of
from touchbase.errors import Overloaded
from touchbase.server.bodies import Bodies
from touchbase.server.error_responses import BROKEN, NO_ROOM, SHUTTING_DOWN, UNLESS_SAID, ErrorResponse, Headers, request_id_in

LOG = logging.getLogger("uvicorn.error")
CLIENT_WENT_AWAY = 499
"""What logs and metrics say of a request whose caller left before the answer."""

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
WITHOUT_BODY = (204, 304)
USUAL = b"".join(b"%b: %b\r\n" % header for header in UNLESS_SAID.items())
NOTED = frozenset((b"content-length", b"connection", *UNLESS_SAID))


class Told(Protocol):
    """What all requests of a server share."""

    @property
    def defaults(self) -> bytes:
        """Header lines of every answer."""
        ...

    @property
    def bodies(self) -> Bodies:
        """The memory for bodies."""
        ...

    @property
    def observe(self) -> Callable[[Any], None]:
        """Called with every cycle that ends."""
        ...


class Line(Protocol):
    """The connection, as its request sees it."""

    transport: asyncio.Transport
    loop: asyncio.AbstractEventLoop

    @property
    def flow(self) -> FlowControl:
        """Whether the caller is read from, and takes what it is sent."""
        ...

    def on_response_complete(self) -> None:
        """The answer is on its way."""

    def linger(self) -> None:
        """Say no more, but read on for a moment."""


class Cycle:
    """Runs the application for one request and writes its answer."""

    __slots__ = (
        "body", "body_size", "chunked", "disconnected", "flow", "head", "heard", "keep_alive", "left", "line", "more_body", "no_room",
        "response_complete", "response_started", "scope", "sent_bytes", "shared", "started", "status", "transport", "waiter",
        "waiting_for_100_continue",
    )  # fmt: skip

    def __init__(self, line: Line, shared: Told, scope: dict[str, Any], *, keep_alive: bool, expect_100_continue: bool) -> None:
        self.line = line
        self.shared = shared
        self.scope = scope
        self.transport = line.transport
        self.flow = line.flow
        self.keep_alive = keep_alive
        self.waiting_for_100_continue = expect_100_continue
        self.disconnected = self.response_started = self.response_complete = False
        self.body: bytes | bytearray = b""
        """What has come of the request's body and was not taken yet."""
        self.body_size = 0
        """Bytes of the body that are counted for as long as the request lasts."""
        self.no_room = False
        """Whether nothing of the body is taken any more: there was no room for it, or the request is over."""
        self.more_body = True
        self.heard = False
        """Whether there is something for `receive` to tell."""
        self.waiter: asyncio.Future[None] | None = None
        self.chunked = False
        self.left: int | None = None
        """Bytes of the answer's body that are still to come; None where nobody said how many."""
        self.status = 0
        self.sent_bytes = 0
        self.head = b""
        self.started = perf_counter()

    async def run(self, app: Any) -> None:
        """Run the application; a fault of it or of the shutdown still gives the caller a problem body."""
        try:
            await app(self.scope, self.receive, self.send)
        except asyncio.CancelledError:
            await self._answer_instead(SHUTTING_DOWN)
        except Overloaded:
            await self._answer_instead(NO_ROOM)
        except Exception:
            LOG.exception("the application failed at request %s", request_id_in(self.scope))
            await self._answer_instead(BROKEN)
        else:
            if not self.response_complete and not self.disconnected:
                LOG.error("the application left request %s without a whole answer", request_id_in(self.scope))
                await self._answer_instead(BROKEN)
        finally:
            if not self.response_complete:
                self.status = CLIENT_WENT_AWAY if self.disconnected else self.status
                self.shared.observe(self)
            self.let_go_of_body()

    async def _answer_instead(self, refusal: ErrorResponse) -> None:
        if self.response_complete:
            return
        if self.response_started and not self.head:
            # Part of an answer is out: cutting the connection is the only way left to say that it is broken.
            self.transport.close()
            return
        self.response_started, self.head, self.keep_alive, self.chunked, self.left = False, b"", False, False, None
        await send_refusal(self.scope, self.send, refusal, self.scope.get("touchbase.granted", ()))

    def take(self, body: bytes) -> None:
        """A part of the request's body; where there is no room for it, the application is told, and nothing of the body is held."""
        if self.no_room:
            return
        if not self.shared.bodies.take(peer_of(self.scope), len(body)):
            self.let_go_of_body()
            self.tell()
            return
        self.body_size += len(body)
        if not self.body:
            self.body = body
        elif isinstance(self.body, bytearray):
            self.body += body
        else:
            self.body = bytearray(self.body + body)
        self.tell()

    def let_go_of_body(self) -> None:
        """Hold nothing of the body any more, and take no more of it."""
        self.no_room, self.body = True, b""
        if self.body_size:
            self.shared.bodies.give(peer_of(self.scope), self.body_size)
            self.body_size = 0

    def tell(self) -> None:
        """There is something for `receive` to tell: more of the body, its end, or that the caller is gone."""
        self.heard = True
        waiter = self.waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def leave(self) -> None:
        """The caller is gone, or as good as gone."""
        self.disconnected = True
        self.tell()

    async def receive(self) -> dict[str, Any]:
        """ASGI's receive; the application asks once at a time. Raises `Overloaded` where there is no room for the body."""
        if self.waiting_for_100_continue and not self.transport.is_closing():
            self.transport.write(CONTINUE)
            self.waiting_for_100_continue = False
        if not self.disconnected and not self.response_complete:
            self.flow.resume_reading()
            if not self.heard:
                self.waiter = self.line.loop.create_future()
                await self.waiter
            self.heard = False
        if self.disconnected or self.response_complete:
            return {"type": "http.disconnect"}
        if self.no_room:
            raise Overloaded(NO_ROOM.detail)
        body, self.body = self.body, b""
        return {"type": "http.request", "body": bytes(body), "more_body": self.more_body}

    async def send(self, message: Any) -> None:
        """ASGI's send."""
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        kind = message["type"]
        if kind == EXTENSION and not self.response_started:
            self._send_whole(message["status"], message["headers"], message["body"])
        elif kind == "http.response.start" and not self.response_started:
            self._start(message["status"], [(name.lower(), value) for name, value in message.get("headers", ())])
        elif kind == "http.response.body" and self.response_started and not self.response_complete:
            self._continue(message.get("body", b""), message.get("more_body", False))
        else:
            raise RuntimeError(f"the application sent {kind!r} out of turn")

    def _send_whole(self, status: int, headers: Headers, body: bytes) -> None:
        """Write an answer and end the request."""
        lines = self._lines(headers)
        if self.left is not None:
            raise RuntimeError("the length of an answer in one message is not the application's to say")
        if status not in WITHOUT_BODY:
            lines = b"%bcontent-length: %d\r\n" % (lines, len(body))
        self._begin(status, lines)
        if status in WITHOUT_BODY or self.scope["method"] == "HEAD":
            body = b""
        self.sent_bytes = len(body)
        self.transport.write(self.head + body)
        self._finish()

    def _start(self, status: int, headers: Headers) -> None:
        """Make the answer's head; it leaves with the first part of the body."""
        lines = self._lines(headers)
        if self.left is None and status not in WITHOUT_BODY and self.scope["method"] != "HEAD":
            self.chunked = True
            lines += b"transfer-encoding: chunked\r\n"
        self._begin(status, lines)

    def _lines(self, headers: Headers) -> bytes:
        """The answer's own header lines, and those that it did not replace; notes what they say of the answer itself."""
        block = b"".join([b"%b: %b\r\n" % header for header in headers])
        # A line break inside a name or value would let a caller write headers of ours.
        if not block.count(b"\n") == block.count(b"\r") == len(headers) or b"\0" in block:
            raise RuntimeError("a header of the answer holds a line break")
        usual = USUAL
        for name, value in headers:
            if name not in NOTED:
                continue
            if name == b"content-length":
                self.left = int(value)
            elif name in UNLESS_SAID:
                usual = usual.replace(b"%b: %b\r\n" % (name, UNLESS_SAID[name]), b"")
            elif b"close" in value.lower():
                self.keep_alive = False
        return usual + block

    def _begin(self, status: int, lines: bytes) -> None:
        if self.waiting_for_100_continue and self.more_body:
            # The caller may or may not send its body now: nobody could tell where the next request begins.
            self.keep_alive = False
        if not self.keep_alive and b"\nconnection:" not in b"\n" + lines:
            lines += b"connection: close\r\n"
        self.head = b"%b%b%b\r\n" % (STATUS_LINE[status], self.shared.defaults, lines)
        self.response_started, self.waiting_for_100_continue, self.status = True, False, status

    def _continue(self, body: bytes, more_body: bool) -> None:
        """Write a part of the body, with the head before the first; the last part ends the request."""
        if self.scope["method"] == "HEAD":
            part = b""
        elif self.chunked:
            part = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            if not more_body:
                part += b"0\r\n\r\n"
        else:
            part = body
            self.left = (self.left or 0) - len(body)
            if self.left < 0 or (self.left and not more_body):
                raise RuntimeError("the body of the answer is not as long as its Content-Length")
        self.sent_bytes += len(part)
        self.transport.write(self.head + part)
        self.head = b""
        if not more_body:
            self._finish()

    def _finish(self) -> None:
        self.response_complete = True
        if self.waiter is not None:
            self.tell()
        self.shared.observe(self)
        if not self.keep_alive and self.more_body:
            self.line.linger()
        elif not self.keep_alive:
            self.transport.close()
        self.line.on_response_complete()


async def send_refusal(scope: Any, send: Any, refusal: ErrorResponse, more: Iterable[tuple[bytes, bytes]] = ()) -> None:
    """Send a refusal as an application would; `more` are headers beside its own."""
    request_id = request_id_in(scope)
    body = refusal.body(request_id)
    await send({"type": "http.response.start", "status": refusal.status, "headers": [*refusal.headers(len(body), request_id), *more]})
    await send({"type": "http.response.body", "body": body})


def refusing(refusal: ErrorResponse) -> Any:
    """An application that answers every request with this refusal."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send_refusal(scope, send, refusal)

    return app
