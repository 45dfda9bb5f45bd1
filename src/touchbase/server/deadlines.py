"""Deadlines: the time by which a connection's peer must act, and the events that move it."""

from __future__ import annotations

from collections import deque
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from touchbase.server.limits import LINGER, NEVER, ServerLimits
from touchbase.server.proxy_headers import TrustedProxies
from touchbase.server.request_cycle import Cycle


class Deadlines(HttpToolsProtocol):
    """A connection with a `deadline`, the event loop's time by which its peer must act."""

    cycle: Cycle  # type: ignore[assignment]
    """The last request that was read; None before the first, as in uvicorn."""
    pipeline: deque[tuple[Cycle, Any]]  # type: ignore[assignment]
    """Requests that wait behind the one in progress, each with its application."""

    def __init__(self, limits: ServerLimits, *, config: Any, server_state: Any, app_state: Any, _loop: Any = None) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.limits = limits
        self.deadline = NEVER
        self.in_headers = False
        self.lingering = False
        self.proxies: TrustedProxies | None = None
        """The trusted proxies, if the peer is one of them."""

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
        if self.lingering or self.transport.is_closing():
            self.wait(LINGER if self.lingering else self.limits.send_timeout)
        elif self.busy:
            self.wait(NEVER)
        else:
            self.wait_for_more()
