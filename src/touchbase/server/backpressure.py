"""Backpressure: after a 503, stop reading from the connection for 0.5 s.

Refusing a request costs about as much as serving one. HTTP clients that ignore `Retry-After` and send again at once
would take the server's time from other clients. Their requests wait in the system's buffers, at no cost.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, BaseTransport
from http import HTTPStatus
from typing import Protocol

PAUSE_SECONDS = 0.5
"""Seconds before the server reads the connection's next request."""


class Flow(Protocol):
    """Flow control of a connection."""

    def pause_reading(self) -> None:
        """Stop reading."""

    def resume_reading(self) -> None:
        """Resume reading."""


class Connection(Protocol):
    """The part of a connection that a pause needs."""

    @property
    def cycle(self) -> object:
        """The last request and its response."""

    @property
    def proxies(self) -> object | None:
        """Not None if the peer is a trusted proxy."""

    @property
    def flow(self) -> Flow:
        """Its flow control."""

    @property
    def loop(self) -> AbstractEventLoop:
        """The event loop that owns it."""

    @property
    def transport(self) -> BaseTransport:
        """Its transport."""


def pause_reading_after_503(connection: Connection) -> None:
    """Stop reading from a connection whose last response was a 503; a trusted proxy's is exempt, as it carries requests of many clients."""
    if getattr(connection.cycle, "status", None) != HTTPStatus.SERVICE_UNAVAILABLE or connection.proxies is not None:
        return
    connection.flow.pause_reading()
    connection.loop.call_later(PAUSE_SECONDS, _resume_reading, connection)


def _resume_reading(connection: Connection) -> None:
    if not connection.transport.is_closing():
        connection.flow.resume_reading()
