"""Look-ups of host names: a name whose server is silent holds up no other name, and the end of the process neither.

The event loop's own look-ups share few threads, and a look-up cannot be ended: a hundred names without an answer stopped all others.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass

from touchbase.enrichment.http_connection import ConnectionLost

SECONDS = 5.0
"""How long a request waits for the addresses of a name."""
SLOW_SECONDS = 60.0
"""A name whose look-up took longer is not looked up again for so long; its late result is used meanwhile."""
MAX_LOOKUPS = 256
"""Look-ups at once, each on its own thread."""


@dataclass(slots=True)
class _Lookup:
    until: float
    """Time of the event loop until which requests wait for it."""
    result: asyncio.Future[list[str] | OSError]


class NameLookup:
    """Looks names up, each once at a time."""

    def __init__(self) -> None:
        self._lookups: dict[tuple[str, int], _Lookup] = {}
        self._running = 0

    async def addresses(self, host: str, port: int) -> list[str]:
        """Return the addresses of a name; raises `OSError` if it has none, and `ConnectionLost` if that is not known in time."""
        lookup = self._lookups.get((host, port)) or self._start(host, port)
        try:
            async with asyncio.timeout_at(lookup.until):
                addresses = await asyncio.shield(lookup.result)
        except TimeoutError:
            raise ConnectionLost(f"no name server has answered within {SECONDS:g} seconds") from None
        if isinstance(addresses, OSError):
            raise addresses
        return addresses

    def _start(self, host: str, port: int) -> _Lookup:
        if self._running >= MAX_LOOKUPS:
            raise ConnectionLost(f"{MAX_LOOKUPS} names are being looked up")
        loop = asyncio.get_running_loop()
        lookup = _Lookup(loop.time() + SECONDS, loop.create_future())

        def look_up() -> None:
            addresses = _addresses(host, port)
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(end, addresses)

        def end(result: list[str] | OSError) -> None:
            self._running -= 1
            if not lookup.result.done():
                lookup.result.set_result(result)
            loop.call_later(SLOW_SECONDS if loop.time() > lookup.until else 0, self._lookups.pop, (host, port))

        threading.Thread(target=look_up, name="touchbase-name", daemon=True).start()
        self._running += 1
        self._lookups[host, port] = lookup
        return lookup


def _addresses(host: str, port: int) -> list[str] | OSError:
    try:
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        return error
    except UnicodeError:  # a label that is too long
        return OSError("it is no host name")
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))
