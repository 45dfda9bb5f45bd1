"""Backpressure: after a 503, stop reading from the connection for 0.5 s.

Refusing a request costs about as much as serving one. HTTP clients that send again at once, without heeding `Retry-After`,
would take the server's time from those that it can serve. What they send waits in the system's buffers, and costs nothing there.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, BaseTransport
from http import HTTPStatus
from typing import Protocol

PAUSE_SECONDS = 0.5
"""Until the next request of such a connection is read."""


class Flow(Protocol):
    """Reading from a connection, stopped and resumed."""

    def pause_reading(self) -> None:
        """Stop reading."""

    def resume_reading(self) -> None:
        """Read again."""


class Connection(Protocol):
    """A connection, as far as a pause needs it."""

    @property
    def cycle(self) -> object:
        """The last request and its response."""

    @property
    def proxies(self) -> object | None:
        """Set where the connection is a trusted proxy's."""

    @property
    def flow(self) -> Flow:
        """Its reading."""

    @property
    def loop(self) -> AbstractEventLoop:
        """The event loop that owns it."""

    @property
    def transport(self) -> BaseTransport:
        """Its transport."""


def pause_reading_after_503(connection: Connection) -> None:
    """Stop reading from a connection whose last response was a 503; not from a proxy's, which carries requests of others too."""
    if getattr(connection.cycle, "status", None) != HTTPStatus.SERVICE_UNAVAILABLE or connection.proxies is not None:
        return
    connection.flow.pause_reading()
    connection.loop.call_later(PAUSE_SECONDS, _read_on, connection)


def _read_on(connection: Connection) -> None:
    if not connection.transport.is_closing():
        connection.flow.resume_reading()
