"""One HTTP connection: uvicorn's httptools protocol, with deadlines and limits.

Every connection has a `deadline`; the server checks all of them a few times a second (`sweep`), which is cheaper
than a timer for every request. The application sets the deadlines and sizes of bodies (`http/request_body.py`),
which depend on the route.
"""

from __future__ import annotations

import asyncio
from collections import deque
from http import HTTPStatus
from typing import Any

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT

from touchbase.common.asgi import LOCAL_PEER, peer_at
from touchbase.server import error_responses
from touchbase.server.error_responses import ErrorResponse, Refused, error_app, request_id_for, request_id_in
from touchbase.server.limits import CHUNK_BYTES, CHUNK_OVERHEAD, LINGER, NEVER, PART_COST, Flow, ServerLimits
from touchbase.server.request_cycle import Cycle
from touchbase.server.request_head import HeadReader, check_version, head_without_upgrade

ABORT_FACTOR = 2
"""An address with this many times its limit of connections gets no error response any more; its connections are aborted."""


class ServerConnection(HeadReader):
    """Parses requests, starts the application for each, and closes stalled connections."""

    cycle: Cycle  # type: ignore[assignment]
    """The last request that was read; None before the first, as in uvicorn."""
    pipeline: deque[tuple[Cycle, Any]]  # type: ignore[assignment]
    """Requests that wait behind the one in progress, each with its application."""

    def __init__(self, limits: ServerLimits, *, config: Any, server_state: Any, app_state: Any, _loop: Any = None) -> None:
        super().__init__(limits, config=config, server_state=server_state, app_state=app_state, _loop=_loop)
        self.deadline = NEVER
        """The event loop's time by which the peer must act."""
        self.lingering = False
        self.running: Cycle | None = None
        self.refused = False
        self.at_eof = False
        self.replayed_head = b""
        self.peer = LOCAL_PEER
        self._held: dict[str, int] = {}
        """The bytes of long parts of responses that are not read yet, by peer: a proxy's connection has responses of several."""
        self.is_writing = False
        """Whether one of them waits to be written."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection, unless there are too many in all or from this address."""
        super().connection_made(transport)
        self.flow: Flow = Flow(transport)
        self.deadline = self.loop.time() + self.limits.header_timeout
        proxies = self.limits.proxies
        if proxies is not None and self.client and proxies.trust(self.client[0]):
            self.proxies = proxies
        # A trusted proxy carries connections of many HTTP clients, so it has no limit per address.
        self.peer = LOCAL_PEER if self.proxies is not None else peer_at(self.client)
        of_peer = self.limits.addresses.get(self.peer, 0) + 1
        self.limits.addresses[self.peer] = of_peer
        most = self.limits.max_connections_per_address
        if len(self.connections) > self.limits.max_connections and not self._close_an_idle_connection():
            self.refuse(error_responses.TOO_MANY_CONNECTIONS)
        elif most and of_peer > most and self.peer != LOCAL_PEER:
            if of_peer > ABORT_FACTOR * most:
                transport.abort()
            else:
                self.refuse(error_responses.TOO_MANY_OF_ADDRESS)

    def _close_an_idle_connection(self) -> bool:
        """Close the longest idle connection; return False if none is idle."""
        for idle in self.limits.idle:
            idle.close_idle()
            return True
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection and notify its requests in progress."""
        self.connections.discard(self)
        self.limits.idle.pop(self, None)
        for cycle in (self.running, *(queued for queued, _ in self.pipeline)):
            if cycle is not None and not cycle.response_complete:
                cycle.disconnect()
        for queued, _ in self.pipeline:
            queued.release_body()
        self.pipeline.clear()
        self.flow.take_buffered()
        self.flow.resume_writing()
        self.is_writing = False
        self.release_if_read()
        # Break reference cycles: the garbage collector blocks the event loop, and there may be a connection per request.
        self.parser = self.cycle = self.running = None  # type: ignore[assignment]
        if exc is None:
            self.transport.close()
        remaining = self.limits.addresses.pop(self.peer, 0) - 1
        if remaining > 0:
            self.limits.addresses[self.peer] = remaining

    def data_received(self, data: bytes) -> None:
        """Feed the parser until a request waits behind the one in progress."""
        if self.line.body_left >= len(data) and not self.pipeline:
            self._feed(data)  # no request can begin in it
        else:
            self.flow.feed(data, self._feed, self.pipeline)

    def _feed(self, data: bytes) -> None:
        """Feed the parser, one request at a time."""
        for part in self.line.parts(data):
            if self.refused:
                return
            self._feed_part(part)

    def _feed_part(self, data: bytes) -> None:
        """Feed the parser; refuse malformed data."""
        self.chunk_bytes = len(data)
        if self.in_headers:
            self.header_bytes += len(data)
        elif self.chunked:
            self.framing += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            # No other protocol is supported: the request is served as HTTP and the connection ends.
            if self.replayed_head:
                self._parse_again(data[upgrade.args[0] :])
            else:
                self.cycle.keep_alive = False
        except httptools.HttpParserError as error:
            cause = error.__context__
            self.refuse(
                cause.refusal
                if isinstance(cause, Refused)
                else error_responses.parser_error(str(error), second=bool(self.in_headers and self.lengths))
            )
        else:
            if self.in_headers:
                if not self.has_deadline:  # it counts from the data that the head began in
                    self.has_deadline = True
                    self.wait(self.limits.header_timeout)
                if self.header_bytes > self.limits.max_header_bytes:
                    self.refuse(error_responses.HEADERS_TOO_LARGE)
            elif self.chunked:
                self._add_chunks()
                self._check_chunks()

    def _parse_again(self, data: bytes) -> None:
        """Parse a request again without its `Upgrade` header: the parser did not read its body."""
        head, self.replayed_head = self.replayed_head, b""
        self.line.next()
        self.parser = httptools.HttpRequestParser(self)
        self._feed(head + data)

    def eof_received(self) -> bool:  # type: ignore[override]
        """Handle the end of the peer's data; return True while responses are due, which keeps the connection open for them."""
        self.refused = self.at_eof = True
        if self.pipeline and self.pipeline[0][0].more_body:
            self.pipeline.popleft()[0].release_body()  # the end of its body never arrives; earlier requests still get their responses
        running = self.running
        return running is not None and not running.response_complete and not running.more_body

    def on_headers_complete(self) -> None:
        """Start the application for this request, or queue the request behind the one in progress."""
        version = self.parser.get_http_version()
        check_version(version, chunked=self.chunked, hosts=self.hosts)
        if not self.line.is_as_understood(self.parser.get_method(), self.url, version):
            raise Refused(error_responses.MALFORMED)
        self._check_size()
        if self.lengths and self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT":
            self.replayed_head = head_without_upgrade(self.parser.get_method(), self.url, self.headers)
            return
        scope = self._make_scope(version)
        self.in_headers = False
        self.line.body_left = self.length
        if not self.flow.write_paused:
            self.deadline = NEVER
        before = self.cycle
        self.cycle = cycle = Cycle(
            self,
            self.limits,
            scope,
            keep_alive=version != "1.0" and self.parser.should_keep_alive(),
            expect_100_continue=self.expect_100_continue,
        )
        app = self._app_for(cycle.scope)
        if before is None or before.response_complete:
            self._start(cycle, app)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((cycle, app))

    def _start(self, cycle: Cycle, app: Any) -> None:
        self.running = cycle
        task = self.loop.create_task(cycle.run(app))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def _app_for(self, scope: Any) -> Any:
        """Return the application, or one that sends an error response in its place."""
        if len(self.tasks) >= self.limits.max_requests:
            return self.limits.wrap_app(error_app(error_responses.TOO_MANY_REQUESTS))
        guard = self.limits.origin_guard
        if guard is not None and (refusal := guard.refusal(scope["path"], scope["method"], self)) is not None:
            self.limits.on_foreign_origin(scope)
            return self.limits.wrap_app(error_app(refusal))
        return self.app

    def on_body(self, body: bytes) -> None:
        """Buffer a part of a body."""
        if self.chunked:
            self.chunks.append(body)
        else:
            self.line.body_left -= len(body)
            self._add_body(body)

    def _add_chunks(self) -> None:
        """Buffer the chunks that the parser has read, together: a body may have millions of them."""
        body, count = b"".join(self.chunks), len(self.chunks)
        self.chunks.clear()
        self.framing = max(0, self.framing - len(body) - CHUNK_OVERHEAD * count)
        self.chunks_left += len(body) // CHUNK_BYTES - count - PART_COST
        if body:
            self._add_body(body)

    def _check_chunks(self) -> None:
        if self.framing > self.limits.max_header_bytes:
            self.refuse(error_responses.TOO_MUCH_FRAMING)
        elif self.chunks_left < 0:
            self.refuse(error_responses.TOO_MANY_CHUNKS)

    def _add_body(self, body: bytes) -> None:
        """Buffer a part of a body; data after the response is discarded."""
        cycle = self.cycle
        if cycle.response_complete:
            return
        cycle.append_body(body)
        if len(cycle.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()

    def on_message_complete(self) -> None:
        """Handle the end of a request."""
        if self.replayed_head:
            return
        if self.chunked:
            self._add_chunks()
        self.line.next()
        cycle = self.cycle
        cycle.more_body = False
        if cycle.response_complete:
            self.wait_for_more()
        else:
            cycle.notify()

    def on_response_complete(self) -> None:
        """Start the next pipelined request, or wait for one."""
        self.server_state.total_requests += 1
        if self.lingering:
            return
        if self.transport.is_closing():
            self.wait(self.limits.send_timeout)
            return
        if self.pipeline:
            cycle, app = self.pipeline.pop()
            self._start(cycle, app)
        if self.flow.buffered and not self.pipeline:
            self.data_received(self.flow.take_buffered())
        self.flow.resume_reading()
        if self.lingering or (self.running is not None and not self.running.response_complete):
            return
        if self.at_eof:
            self.transport.close()
        elif self.refused:
            self.linger()
        else:
            self.wait_for_more()
            if self.cycle.status == HTTPStatus.SERVICE_UNAVAILABLE and self.proxies is None:
                # A trusted proxy is exempt, as its connection carries requests of many clients.
                self.flow.pause_after_503(self.loop)

    def refuse(self, refusal: ErrorResponse) -> None:
        """Send the error response, unless the peer would take it for another request's, and end the connection."""
        self.refused = True
        if self.busy and not (self.cycle.more_body and not self.pipeline and not self.cycle.response_started):
            # An earlier response is due: the peer would take this one for it.
            self.deadline = NEVER
            return
        if self.busy:
            # This request's body is malformed: the application sees a disconnect.
            self.cycle.disconnect()
        # The headers read so far; there may be no request yet.
        headers, origin = (self.headers, self.origin) if self.in_headers or self.busy else ([], b"")
        request_id = request_id_in(self.cycle.scope) if self.busy else request_id_for(headers)
        self.transport.write(refusal.message(self.limits.defaults, request_id, self.limits.cors_headers(origin)))
        self.linger()

    def linger(self) -> None:
        """Close the sending side, and read and discard data for `LINGER` seconds.

        Closing with unread data would reset the connection and lose the response.
        """
        self.refused = self.lingering = True
        self.deadline = self.loop.time() + LINGER
        self.flow.take_buffered()
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        else:
            self.transport.close()

    @property
    def busy(self) -> bool:
        """Whether a request of this connection is in progress."""
        return self.cycle is not None and not self.cycle.response_complete

    def wait(self, seconds: float) -> None:
        """Set the deadline to this many seconds from now; while writing is paused, the deadline of `pause_writing` stays."""
        if not self.flow.write_paused:
            self.deadline = self.loop.time() + seconds

    def wait_for_more(self) -> None:
        """Set the deadline for the remaining part of a request, or for the next one."""
        if self.in_headers:
            self.wait(self.limits.header_timeout)
        elif self.cycle is not None and self.cycle.more_body:
            self.wait(LINGER)  # the response was sent before the end of the body, which may still arrive within this time
        else:
            self.wait(self.limits.keep_alive)
            # A trusted proxy's connection stays open: it may already carry another client's next request.
            if self.proxies is None and not self.flow.write_paused:
                self.limits.idle[self] = None

    def close_idle(self) -> None:
        """Close the connection between two requests."""
        self.limits.idle.pop(self, None)
        self.deadline = self.loop.time() + LINGER
        self.transport.close()

    def pause_writing(self) -> None:
        """Handle a peer that reads the response too slowly."""
        self.flow.pause_writing()
        self.deadline = self.loop.time() + self.limits.send_timeout

    def resume_writing(self) -> None:
        """Handle a peer that reads the response again."""
        self.flow.resume_writing()
        self.release_if_read()
        if self.lingering or self.transport.is_closing():
            self.wait(LINGER if self.lingering else self.limits.send_timeout)
        elif self.busy:
            self.wait(NEVER)
        else:
            self.wait_for_more()

    def may_hold(self, peer: str, size: int) -> bool:
        """Count a part of a response, until the peer has read it; return False if the memory for such parts is used up."""
        if not self.limits.unread.acquire(peer, size):
            return False
        self._held[peer] = self._held.get(peer, 0) + size
        self.is_writing = True
        return True

    def release_if_read(self) -> None:
        """Count long parts no longer once all of them were written and read."""
        if self._held and not self.is_writing and not self.flow.write_paused:
            for peer, size in self._held.items():
                self.limits.unread.release(peer, size)
            self._held.clear()

    def sweep(self, now: float) -> None:
        """Close or refuse the connection if its deadline has passed."""
        if now < self.deadline:
            return
        if self.transport.is_closing() or self.lingering or self.flow.write_paused:
            self.transport.abort()
        elif self.in_headers and not self.busy:
            self.refuse(error_responses.SLOW_HEADERS)
        elif self.busy:
            self.deadline = NEVER
        else:
            self.close_idle()
