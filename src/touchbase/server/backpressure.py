"""A breather: from a caller who was told to come later, nothing is read for a moment.

Refusing a request costs about as much as serving one. Callers who send again at once, without heeding `Retry-After`,
would take the server's time from those that it can serve. What they send waits in the system's buffers, and costs nothing there.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from touchbase.server.protocol import Connection

BREATHER = 0.5
"""Seconds until the next request of such a connection is read."""


def breathe(connection: Connection) -> None:
    """Read nothing for a moment from a connection whose last answer was a 503; a proxy's brings requests of others too."""
    if getattr(connection.cycle, "status", None) != HTTPStatus.SERVICE_UNAVAILABLE or connection.proxies is not None:
        return
    connection.flow.pause_reading()
    connection.loop.call_later(BREATHER, _read_on, connection)


def _read_on(connection: Connection) -> None:
    if not connection.transport.is_closing():
        connection.flow.resume_reading()
