"""One HTTP connection: uvicorn's httptools protocol, with deadlines and bounds.

Every connection carries the moment by which it must have moved on (`deadline`); the server looks at all
of them a few times a second (`sweep`), which is cheaper than a timer for every request. The deadlines
and sizes of bodies are the application's (`http/request_body.py`): only it knows what a body is for.
"""

from __future__ import annotations

import asyncio
from typing import Any

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT

from touchbase.common.asgi import LOCAL_PEER, peer_at
from touchbase.server import backpressure, error_responses
from touchbase.server.asgi_scope import check_version, head_without_upgrade
from touchbase.server.error_responses import ErrorResponse, Refused, request_id_for, request_id_in
from touchbase.server.limits import LINGER, NEVER, PER_CHUNK, ServerLimits
from touchbase.server.pipelining import Flow
from touchbase.server.request_cycle import Cycle, refusing
from touchbase.server.request_head import HeadReader

POLITE = 2
"""A caller with so many times the connections it may have is not told any more, just cut."""


class Connection(HeadReader):
    """Parses requests, starts the application for each, and lets go of callers that stall."""

    def __init__(self, bounds: ServerLimits, *, config: Any, server_state: Any, app_state: Any, _loop: Any = None) -> None:
        super().__init__(bounds, config=config, server_state=server_state, app_state=app_state, _loop=_loop)
        self.running: Cycle | None = None
        self.refused = False
        self.said_all = False
        self.begun_anew = b""
        self.peer = LOCAL_PEER

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, unless there are too many, of all callers or of this one."""
        super().connection_made(transport)
        self.flow: Flow = Flow(transport)
        self.deadline = self.loop.time() + self.bounds.header_timeout
        proxies = self.bounds.proxies
        if proxies is not None and self.client and proxies.trust(self.client[0]):
            self.proxies = proxies
        # A trusted proxy holds connections for many callers: what it may have is its own business.
        self.peer = LOCAL_PEER if self.proxies is not None else peer_at(self.client)
        of_peer = self.bounds.addresses.get(self.peer, 0) + 1
        self.bounds.addresses[self.peer] = of_peer
        most = self.bounds.max_connections_per_address
        if len(self.connections) > self.bounds.max_connections and not self._find_room():
            self.refuse(error_responses.TOO_MANY_CONNECTIONS)
        elif most and of_peer > most and self.peer != LOCAL_PEER:
            if of_peer > POLITE * most:
                transport.abort()
            else:
                self.refuse(error_responses.TOO_MANY_OF_ADDRESS)

    def _find_room(self) -> bool:
        """Whether an idle connection gave way to this one."""
        for idle in self.bounds.idle:
            idle.give_way()
            return True
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection; all who are at work for it are told."""
        self.connections.discard(self)
        self.bounds.idle.pop(self, None)
        for cycle in (self.running, *(queued for queued, _ in self.pipeline)):
            if cycle is not None and not cycle.response_complete:
                cycle.leave()
        for queued, _ in self.pipeline:
            queued.let_go_of_body()
        self.pipeline.clear()
        self.flow.release()
        self.flow.resume_writing()
        # They know us: a connection for every call would be a heap of rings for the collector, which stops everybody.
        self.parser = self.cycle = self.running = None  # type: ignore[assignment]
        if exc is None:
            self.transport.close()
        left = self.bounds.addresses.pop(self.peer, 0) - 1
        if left > 0:
            self.bounds.addresses[self.peer] = left

    def data_received(self, data: bytes) -> None:
        """Feed the parser, as far as no request has to wait."""
        self.flow.take(data, self._feed, self.pipeline)

    def _feed(self, data: bytes) -> None:
        """Feed the parser, one request at a time."""
        for part in self.line.parts(data):
            if self.refused:
                return
            self._feed_part(part)

    def _feed_part(self, data: bytes) -> None:
        """Feed the parser; what it cannot read is refused."""
        self.chunk_bytes = len(data)
        if self.in_headers:
            self.header_bytes += len(data)
        elif self.chunked:
            self.framing += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            # No other protocol is spoken here: the request is answered as HTTP and the connection ends.
            if self.begun_anew:
                self._begin_anew(data[upgrade.args[0] :])
            else:
                self.cycle.keep_alive = False
        except httptools.HttpParserError as error:
            cause = error.__context__
            self.refuse(
                cause.refusal
                if isinstance(cause, Refused)
                else error_responses.of_parser(str(error), second=bool(self.in_headers and self.lengths))
            )
        else:
            if self.in_headers:
                self.wait_for_head()
                if self.header_bytes > self.bounds.max_header_bytes:
                    self.refuse(error_responses.HEADERS_TOO_LARGE)
            elif self.chunked and self.framing > self.bounds.max_header_bytes:
                self.refuse(error_responses.TOO_MUCH_FRAMING)

    def _begin_anew(self, rest: bytes) -> None:
        """Read a request once more, without its wish for another protocol: the parser left its body unread."""
        head, self.begun_anew = self.begun_anew, b""
        self.line.next()
        self.parser = httptools.HttpRequestParser(self)
        self._feed(head + rest)

    def eof_received(self) -> bool:  # type: ignore[override]
        """The caller has said everything; it may still listen for answers, and then the connection stays open for them."""
        self.refused = self.said_all = True
        if self.pipeline and self.pipeline[0][0].more_body:
            self.pipeline.popleft()[0].let_go_of_body()  # the rest of this one never comes; those before it are owed their answers
        running = self.running
        return running is not None and not running.response_complete and not running.more_body

    def on_headers_complete(self) -> None:
        """Start the application on this request, or queue it behind the one before."""
        version = self.parser.get_http_version()
        check_version(version, chunked=self.chunked, hosts=self.hosts)
        if not self.line.is_as_understood(self.parser.get_method(), self.url, version):
            raise Refused(error_responses.MALFORMED)
        self._check_size()
        if self.lengths and self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT":
            self.begun_anew = head_without_upgrade(self.parser.get_method(), self.url, self.headers)
            return
        scope = self._make_scope(version)
        self.in_headers = False
        self.line.body_left = self.length
        if not self.flow.write_paused:
            self.deadline = NEVER
        before = self.cycle
        self.cycle = cycle = Cycle(
            self,
            self.bounds,
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
        """The application, or what answers in its place."""
        if len(self.tasks) >= self.bounds.max_requests:
            return self.bounds.dress(refusing(error_responses.TOO_MANY_REQUESTS))
        sites = self.bounds.own_sites
        if sites is not None and (refusal := sites.refusal(scope["path"], scope["method"], self)) is not None:
            self.bounds.on_foreign(scope)
            return self.bounds.dress(refusing(refusal))
        return self.app

    def on_body(self, body: bytes) -> None:
        """A part of a body; what is sent after the answer is thrown away."""
        cycle = self.cycle
        if self.chunked:
            self.framing = max(0, self.framing - len(body) - PER_CHUNK)
        else:
            self.line.body_left -= len(body)
        if cycle.response_complete:
            return
        cycle.take(body)
        if len(cycle.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()

    def on_message_complete(self) -> None:
        """The end of a request."""
        if self.begun_anew:
            return
        self.line.next()
        cycle = self.cycle
        cycle.more_body = False
        if cycle.response_complete:
            self.wait_for_more()
        else:
            cycle.tell()

    def on_response_complete(self) -> None:
        """Go on with the next pipelined request, or wait for one."""
        self.server_state.total_requests += 1
        if self.lingering:
            return
        if self.transport.is_closing():
            self.wait(self.bounds.send_timeout)
            return
        if self.pipeline:
            cycle, app = self.pipeline.pop()
            self._start(cycle, app)
        if self.flow.held and not self.pipeline:
            self.data_received(self.flow.release())
        self.flow.resume_reading()
        if self.lingering or (self.running is not None and not self.running.response_complete):
            return
        if self.said_all:
            self.transport.close()
        elif self.refused:
            self.linger()
        else:
            self.wait_for_more()
            backpressure.pause_reading_after_503(self)

    def refuse(self, refusal: ErrorResponse) -> None:
        """Answer with `refusal` where the caller can tell what it answers, and end the connection."""
        self.refused = True
        if self.busy and not (self.cycle.more_body and not self.pipeline and not self.cycle.response_started):
            # An earlier answer is still to come: the caller would take this one for it.
            self.deadline = NEVER
            return
        if self.busy:
            # The body of this very request is broken: the application sees its caller gone.
            self.cycle.leave()
        # What is known of the request, as far as it was read; there may be none yet.
        headers, origin = (self.headers, self.origin) if self.in_headers or self.busy else ([], b"")
        request_id = request_id_in(self.cycle.scope) if self.busy else request_id_for(headers)
        self.transport.write(refusal.message(self.bounds.defaults, request_id, self.bounds.grants(origin)))
        self.linger()

    def linger(self) -> None:
        """Say no more, but read on for a moment.

        Closing with bytes unread would reset the connection and take the answer with it.
        """
        self.refused = self.lingering = True
        self.deadline = self.loop.time() + LINGER
        self.flow.release()
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        else:
            self.transport.close()

    def sweep(self, now: float) -> None:
        """Let go of a caller whose deadline has passed."""
        if now < self.deadline:
            return
        if self.transport.is_closing() or self.lingering or self.flow.write_paused:
            self.transport.abort()
        elif self.in_headers and not self.busy:
            self.refuse(error_responses.SLOW_HEADERS)
        elif self.busy:
            self.deadline = NEVER
        else:
            self.give_way()
