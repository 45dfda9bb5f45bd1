"""How long a caller is waited for: the deadline that every connection carries, and what moves it."""

from __future__ import annotations

from collections import deque
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from touchbase.server.limits import LINGER, NEVER, ServerLimits
from touchbase.server.proxy_headers import Proxies
from touchbase.server.request_cycle import Cycle


class Deadlines(HttpToolsProtocol):
    """A connection with the moment by which its caller must have moved on (`deadline`)."""

    cycle: Cycle  # type: ignore[assignment]
    """The request that was read last; None before the first, as in uvicorn."""
    pipeline: deque[tuple[Cycle, Any]]  # type: ignore[assignment]
    """Requests that wait behind the one in progress, and who answers them."""

    def __init__(self, bounds: ServerLimits, *, config: Any, server_state: Any, app_state: Any, _loop: Any = None) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.bounds = bounds
        self.deadline = NEVER
        self.in_headers = False
        self.lingering = False
        self.proxies: Proxies | None = None
        """The proxies whose word is taken, on a connection of one of them."""

    @property
    def busy(self) -> bool:
        """Whether a request of this connection is in progress."""
        return self.cycle is not None and not self.cycle.response_complete

    def wait(self, seconds: float) -> None:
        """Give the caller so long; one that does not take what it was sent has no more than `pause_writing` gave it."""
        if not self.flow.write_paused:
            self.deadline = self.loop.time() + seconds

    def wait_for_more(self) -> None:
        """Wait for the rest of a request, or for the next one."""
        if self.in_headers:
            self.wait(self.bounds.header_timeout)
        elif self.cycle is not None and self.cycle.more_body:
            self.wait(LINGER)  # a caller who was answered before the end of its body may finish it, but not take all day
        else:
            self.wait(self.bounds.keep_alive)
            # A proxy's connection does not give way: the next request of somebody may be on its way in it.
            if self.proxies is None and not self.flow.write_paused:
                self.bounds.idle[self] = None

    def give_way(self) -> None:
        """Close the connection between two requests."""
        self.bounds.idle.pop(self, None)
        self.deadline = self.loop.time() + LINGER
        self.transport.close()

    def pause_writing(self) -> None:
        """The caller does not take our answer fast enough."""
        self.flow.pause_writing()
        self.deadline = self.loop.time() + self.bounds.send_timeout

    def resume_writing(self) -> None:
        """The caller takes our answer again."""
        self.flow.resume_writing()
        if self.lingering or self.transport.is_closing():
            self.wait(LINGER if self.lingering else self.bounds.send_timeout)
        elif self.busy:
            self.wait(NEVER)
        else:
            self.wait_for_more()
